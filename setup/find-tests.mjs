import { existsSync, readdirSync, statSync } from "node:fs";
import { basename, join, resolve } from "node:path";

const NOT_OURS = new Set(["node_modules", "build", "data"]);
const SOAK_ENDING = ".soak.ts";

/** Soaks are tests too: without `--soak` they run with small counts. */
const TEST_ENDINGS = [".test.ts", SOAK_ENDING];

/** All files below `folder` whose names end so, sorted. */
function findFiles(folder, ...endings) {
  return readdirSync(folder, { withFileTypes: true })
    .flatMap((entry) => {
      if (NOT_OURS.has(entry.name) || entry.name.startsWith(".")) return [];
      const path = join(folder, entry.name);
      if (entry.isDirectory()) return findFiles(path, ...endings);
      return entry.isFile() && endings.some((ending) => entry.name.endsWith(ending)) ? [path] : [];
    })
    .sort();
}

/** @param {readonly string[]} paths files or folders; none means the whole project */
export function findTests(root, paths) {
  if (paths.length === 0) return findFiles(root, ...TEST_ENDINGS);
  return paths.flatMap((path) => {
    const full = resolve(path);
    if (!existsSync(full)) throw new Error(`there is no file or folder ${path}`);
    return statSync(full).isDirectory() ? findFiles(full, ...TEST_ENDINGS) : [full];
  });
}

/** Programs that tests start. */
export const findChildren = (root) => findFiles(root, ".child.ts");

/** @param {readonly string[]} names such as `stops`; none means all of them */
export function findSoaks(root, names) {
  const folder = join(root, "test/soak");
  const files = existsSync(folder) ? findFiles(folder, SOAK_ENDING) : [];
  const known = new Map(files.map((file) => [basename(file, SOAK_ENDING), file]));
  const unknown = names.filter((name) => !known.has(name));
  if (unknown.length > 0) {
    throw new Error(`there is no soak test ${unknown.join(", ")}; there are ${[...known.keys()].join(", ") || "none"}`);
  }
  return names.length === 0 ? files : names.map((name) => known.get(name));
}
