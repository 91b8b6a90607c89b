/** Finds the elements beside this file. In a bundle, setup/bundle.mjs replaces this module by a fixed list. */
import { listFolder } from "./list-folder.ts";

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
  return (await listFolder(folder)).map((name) => ({
    name,
    file: `elements/${name}/${name}.ts`,
    load: () => import(new URL(`${name}/${name}.ts`, folder).href),
  }));
}
