/** Loads a program: its bundle from the set-up, or its TypeScript sources when they changed after bundling. */
import { readFileSync, statSync } from "node:fs";
import module from "node:module";
import { fileURLToPath } from "node:url";
import { setFlagsFromString } from "node:v8";

const ROOT = new URL("..", import.meta.url);
const BUNDLE = new URL("build/bundle/", ROOT);

/**
 * How much of a function must have run before V8 optimises it: much more than usual while a program starts, when most code
 * runs once. Optimising it takes a fifth of the processor time of a start. Only the V8 of Node 20 has this flag; later ones
 * print an error for it, and compile with less effort first.
 *
 * A function keeps the budget that it got with its first calls until it has used it up. Postponing is therefore not for a
 * program that lasts: the hub with four streams took one and a half times the processor time, for more than a minute.
 */
const BUDGET = { start: 1_081_344, usual: 67_584, lasting: 16_896 };
const START_MS = 10_000;
const setBudget = process.versions.v8.startsWith("11.")
  ? (budget) => setFlagsFromString(`--interrupt-budget=${budget}`)
  : () => {};

/** For programs that mostly start, or run most of their code a few times. */
export const postponeOptimising = () => setBudget(BUDGET.start);

/**
 * For a program that runs for days and does the same all the time: its heap may grow to several times what is in use before
 * it is collected. The hub uses 9 MB, to which every picture adds buffers: by V8's own measure it would collect them once a
 * second, which took a quarter of its processor time with eight streams.
 */
const HEAP_GROWTH_PERCENT = 400;

/**
 * @param {string} name that of the bundle
 * @param {URL} source its main file
 * @param {readonly string[]} libraries large libraries that the source imports: importing them before tsx registers its
 * hooks takes half the time
 * @param {{ isLasting?: boolean }} options
 */
export async function load(name, source, libraries = [], { isLasting = false } = {}) {
  if (isLasting) {
    setBudget(BUDGET.lasting);
    setFlagsFromString(`--heap-growing-percent=${HEAP_GROWTH_PERCENT}`);
    // Otherwise the code of a protocol that nobody has used for some collections is compiled and optimised anew: its
    // bytecode, and the shapes of objects that none has at the moment, are forgotten.
    setFlagsFromString("--no-flush-bytecode");
    setFlagsFromString("--retain-maps-for-n-gc=1000000");
  } else {
    postponeOptimising();
    setTimeout(() => setBudget(BUDGET.usual), START_MS).unref();
  }
  // Node 22 and later: caches compiled code for the next start.
  module.enableCompileCache?.();
  const bundle = findBundle(name);
  if (bundle !== null) return import(bundle.href);
  if (process.env.WINDHOVER_CONFINED === "1")
    throw new Error("a source has changed since the service was started: restart it, or run `node setup/setup.mjs`");
  // tsx starts esbuild; child processes of this one may do the same.
  process.env.WINDHOVER_FROM_SOURCE = "1";
  const [{ register }] = await Promise.all([import("tsx/esm/api"), ...libraries.map((library) => import(library))]);
  register();
  const { listLinks } = await import("./linked-elements.mjs");
  if (listLinks().length > 0) module.register("./linked-elements.mjs", import.meta.url);
  return import(source.href);
}

/** URL of a module that setup/bundle.mjs wrote; null for a null name, without a bundle, or when a source has changed since. */
export function findBundle(name) {
  if (name === null) return null;
  try {
    const inputs = JSON.parse(readFileSync(new URL("inputs.json", BUNDLE), "utf8"));
    const root = fileURLToPath(ROOT);
    const isFresh = inputs.every(([path, size, mtimeMs]) => {
      // Not a URL for each of hundreds of files: every program does this when it starts.
      const found = statSync(root + path);
      return found.mtimeMs === mtimeMs && (found.isDirectory() || found.size === size);
    });
    return isFresh ? new URL(`${name}.mjs`, BUNDLE) : null;
  } catch {
    return null;
  }
}
