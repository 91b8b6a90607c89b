import { readdirSync } from "node:fs";
import { basename, dirname } from "node:path";
import { editDistance } from "../schemas/suggest.ts";

/**
 * The file beside `path` that was probably meant. Names of files are whatever people make them, so that only a slip of
 * one letter is taken for one.
 */
export function findNearFile(path: string, fits: (name: string) => boolean = () => true): string | undefined {
  const wanted = basename(path);
  try {
    return readdirSync(dirname(path)).find((name) => fits(name) && editDistance(wanted, name, 1) === 1);
  } catch {
    return undefined;
  }
}
