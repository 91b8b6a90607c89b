import { readdir } from "node:fs/promises";
import type { AnyElement } from "./element.ts";

/** Every element of this folder by name: each folder `x` holds `x/x.ts`, whose default export is the definition. */
export async function loadElements(): Promise<ReadonlyMap<string, AnyElement>> {
  const here = new URL(".", import.meta.url);
  const entries = await readdir(here, { withFileTypes: true });
  const names = entries.filter((entry) => entry.isDirectory()).map((entry) => entry.name);
  const elements = await Promise.all(names.sort().map((name) => loadElement(name, here)));
  return new Map(elements.map((element) => [element.name, element]));
}

async function loadElement(name: string, here: URL): Promise<AnyElement> {
  const module: { default?: AnyElement } = await import(new URL(`${name}/${name}.ts`, here).href);
  if (module.default?.name !== name)
    throw new Error(
      `elements/${name}/${name}.ts must default-export an element named "${name}", but exports ${module.default === undefined ? "none" : `"${module.default.name}"`}`,
    );
  return module.default;
}
