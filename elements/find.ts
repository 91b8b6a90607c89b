/**
 * Finds the elements: each folder `x` beside this file, or link to a folder, holds `x/x.ts`. In a bundle,
 * setup/bundle.mjs replaces this module by a fixed list.
 */
import { readdir, stat } from "node:fs/promises";

export interface FoundElement {
  readonly name: string;
  /** For messages, relative to the checkout: `elements/x/x.ts`. */
  readonly file: string;
  /** Resolves with the module, or rejects with the error of loading it. */
  load(): Promise<unknown>;
}

const HERE = new URL(".", import.meta.url);

/** `folder` ends in a slash. */
export async function findElements(folder: URL = HERE): Promise<readonly FoundElement[]> {
  const entries = await readdir(folder, { withFileTypes: true });
  const isFolder = async (name: string) =>
    // A dangling link counts as a folder, so that its file is reported as missing.
    (await stat(new URL(name, folder)).catch(() => null))?.isDirectory() ?? true;
  const found = await Promise.all(
    entries
      .filter((entry) => !entry.name.startsWith(".") && (entry.isDirectory() || entry.isSymbolicLink()))
      .map(async ({ name }) => ((await isFolder(name)) ? [name] : [])),
  );
  return found
    .flat()
    .sort()
    .map((name) => ({
      name,
      file: `elements/${name}/${name}.ts`,
      load: () => import(new URL(`${name}/${name}.ts`, folder).href),
    }));
}
