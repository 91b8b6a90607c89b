/** Finds what setup/bundle.mjs made, if it is still what the sources say. */
import { readFileSync, statSync } from "node:fs";

const ROOT = new URL("..", import.meta.url);
const BUNDLE = new URL("build/bundle/", ROOT);

/** The module of that name as a URL; null when there is none, none is asked for, or a source has changed since. */
export function findBundle(name) {
  if (name === null) return null;
  try {
    const inputs = JSON.parse(readFileSync(new URL("inputs.json", BUNDLE), "utf8"));
    const isFresh = inputs.every(([path, size, mtimeMs]) => {
      const found = statSync(new URL(path, ROOT));
      return found.mtimeMs === mtimeMs && (found.isDirectory() || found.size === size);
    });
    return isFresh ? new URL(`${name}.mjs`, BUNDLE) : null;
  } catch {
    return null;
  }
}
