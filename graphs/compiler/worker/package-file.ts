/** Graph files in npm packages: `some-package/parts.yaml`. */
import { createRequire } from "node:module";
import { join } from "node:path";

const NAME = /^[@\w][^:\\]{0,500}$/;
const ENDING = /\.ya?ml$/i;

/** The path of a file in a package that is installed for `folder`; null when there is none. */
export function findPackageFile(name: string, folder: string): string | null {
  if (!NAME.test(name) || !ENDING.test(name) || !name.includes("/")) return null;
  try {
    return createRequire(join(folder, "graph.yaml")).resolve(name);
  } catch {
    return null;
  }
}
