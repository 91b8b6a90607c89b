/**
 * Bundles the programs into build/bundle/: loading TypeScript file by file takes seconds of processor time, loading a few
 * files of JavaScript a fraction of that. The bundle is optional: when a source has changed since, programs load from
 * their sources (setup/load.mjs).
 *
 *   node setup/bundle.mjs     bundle if something has changed
 */
import { existsSync, mkdirSync, readdirSync, renameSync, rmSync, statSync, writeFileSync } from "node:fs";
import { readFile } from "node:fs/promises";
import { createRequire } from "node:module";
import { join, relative, resolve, sep } from "node:path";
import { fileURLToPath } from "node:url";
import { linkedElements } from "./linked-elements.mjs";
import { findBundle } from "./load.mjs";

const ROOT = fileURLToPath(new URL("..", import.meta.url));
const OUT = join(ROOT, "build/bundle");
const ENTRIES = {
  cli: "cli/main.ts",
  compiler: "graphs/compiler/worker/worker.ts",
  enhance: "enhance/main.ts",
  hub: "hub/main.ts",
  inference: "elements/detect/worker/worker.ts",
  "model-check": "elements/detect/check/main.ts",
  probe: "graphs/runtime/probe/main.ts",
  registry: "cli/serve/describe-registry.ts",
  runner: "graphs/runtime/runner/main.ts",
  terrain: "terrain/worker/worker.ts",
  thumbnails: "graphs/runtime/thumbnails/main.ts",
};
const LIST = "inputs.json";
const OLD_MS = 600_000;
/** Finds the elements at run time; in a bundle it is replaced by a list of them. */
const FIND = "elements/find.ts";

/** CommonJS modules of libraries load Node's built-in modules with `require`. */
const BANNER = [
  'import { createRequire as __createRequire } from "node:module";',
  "const require = __createRequire(import.meta.url);",
  // Relative to the parent folder of build/, at any depth below it.
  'const __moduleUrl = (path) => new URL(path, import.meta.url.replace(/build\\/(?!.*\\/build\\/).*$/, "")).href;',
].join("\n");

export const isBundled = () => findBundle("cli") !== null;

/**
 * Bundles with the options that all bundles share. `broken` of the result maps names of elements that cannot be bundled
 * to the reason. They are left out; loading them fails with that reason.
 */
export async function bundle(options) {
  const broken = new Map();
  let isSought = false;
  for (;;) {
    try {
      return { ...(await run(options, broken)), broken };
    } catch (error) {
      let found = locateFaults(error).filter(([name]) => !broken.has(name));
      if (found.length === 0 && !isSought) {
        isSought = true;
        found = [...(await findBroken(options))];
      }
      if (found.length === 0) throw error;
      for (const [name, reason] of found) if (!broken.has(name)) broken.set(name, reason);
    }
  }
}

/** The elements in whose folders the faults are; none if a fault is elsewhere, and may be of any element. */
function locateFaults({ errors = [] }) {
  const elements = listElements();
  const located = errors.map((error) => {
    const path = resolve(ROOT, error.location?.file ?? "");
    const found = elements.find(({ name }) => path.startsWith(join(ROOT, "elements", name) + sep));
    return found === undefined ? null : [found.name, describeFault({ errors: [error] }, found.file)];
  });
  return located.includes(null) ? [] : located;
}

/** Bundles each element alone. Slow: for faults outside of their folders. */
async function findBroken({ external = [] }) {
  const tried = listElements().map(async ({ name, file }) => {
    if (!existsSync(join(ROOT, file))) return [];
    try {
      await run({ entryPoints: [file], outdir: OUT, write: false, external }, new Map());
      return [];
    } catch (error) {
      return [[name, describeFault(error, file)]];
    }
  });
  return new Map((await Promise.all(tried)).flat());
}

/** In the format of tsx's syntax errors. */
function describeFault(error, file) {
  const [first] = error.errors ?? [];
  if (first?.location == null) return `${file}:1:0: ERROR: ${error.message}`;
  const { file: path, line, column } = first.location;
  return `${path}:${line}:${column}: ERROR: ${first.text}`;
}

/** How much garbage there may be before it is collected: four times as much as usual takes a fifth less processor time. */
const GARBAGE_PERCENT = "400";

/** Not loaded before npm packages are installed. */
export function loadEsbuild() {
  // Read by Go when esbuild's process starts.
  process.env.GOGC ??= GARBAGE_PERCENT;
  return createRequire(import.meta.url)("esbuild");
}

function run(options, broken) {
  return loadEsbuild().build({
    absWorkingDir: ROOT,
    outExtension: { ".js": ".mjs" },
    bundle: true,
    splitting: true,
    platform: "node",
    format: "esm",
    target: "node20",
    logLevel: "silent",
    banner: { js: BANNER },
    ...options,
    plugins: [asIfInPlace(broken), linkedElements, ...(options.plugins ?? [])],
  });
}

/**
 * The list of inputs is removed first and written last, so that a partial bundle is never used. Resolves with a warning
 * about elements that were left out, if any.
 */
export async function buildBundle() {
  const fresh = `${OUT}.${process.pid}`;
  rmSync(fresh, { recursive: true, force: true });
  mkdirSync(fresh, { recursive: true });
  try {
    const { metafile, broken } = await bundle({
      entryPoints: ENTRIES,
      outdir: fresh,
      metafile: true,
      // Not referenced by the bundle: only read after an error (elements/source-lines.ts).
      sourcemap: "external",
      sourcesContent: false,
      // V8 keeps the text of every loaded file.
      minifyWhitespace: true,
      // A release may omit tools/: the commands that load it then print an error (cli/commands/bench.ts).
      external: ["onnxruntime-node", "esbuild", ...(existsSync(join(ROOT, "tools")) ? [] : ["../../tools/*"])],
    });
    writeFileSync(join(fresh, LIST), JSON.stringify(describeInputs(Object.keys(metafile.inputs))));
    mkdirSync(OUT, { recursive: true });
    rmSync(join(OUT, LIST), { force: true });
    // Chunk names contain a hash; chunks of an earlier bundle stay for processes that are loading it.
    const files = readdirSync(fresh).filter((file) => file !== LIST);
    for (const file of [...files, LIST]) renameSync(join(fresh, file), join(OUT, file));
    removeOldChunks(new Set([...files, LIST]));
    return broken.size === 0
      ? undefined
      : [...broken].map(([name, why]) => `element "${name}" left out: ${why}`).join("\n");
  } finally {
    rmSync(fresh, { recursive: true, force: true });
  }
}

/** Removes chunks of bundles that are too old to be loading. */
function removeOldChunks(kept) {
  for (const file of readdirSync(OUT).filter((name) => !kept.has(name))) {
    const path = join(OUT, file);
    if (Date.now() - statSync(path).mtimeMs > OLD_MS) rmSync(path, { force: true });
  }
}

/** Keeps the value of `import.meta.url`, so that bundled modules find files next to their source. */
const asIfInPlace = (broken) => ({
  name: "as-if-in-place",
  setup(build) {
    build.onLoad({ filter: /\.ts$/ }, async ({ path }) => {
      const name = relative(ROOT, path).split(sep).join("/");
      const text = name === FIND ? writeFindElements(broken) : await readFile(path, "utf8");
      const contents = text.replaceAll("import.meta.url", `__moduleUrl(${JSON.stringify(name)})`);
      return { contents, loader: "ts" };
    });
  },
});

/** The same elements as elements/find.ts. Includes dangling links, which are reported as missing files. */
function listElements() {
  const folder = join(ROOT, "elements");
  return readdirSync(folder, { withFileTypes: true })
    .filter((entry) => !entry.name.startsWith(".") && (entry.isDirectory() || entry.isSymbolicLink()))
    .filter(({ name }) => statSync(join(folder, name), { throwIfNoEntry: false })?.isDirectory() ?? true)
    .map(({ name }) => ({ name, file: `elements/${name}/${name}.ts` }))
    .sort((a, b) => (a.name < b.name ? -1 : 1));
}

/** Imports elements separately: one that throws while loading must not affect the others. */
function writeFindElements(broken) {
  const found = listElements().map(({ name, file }) => {
    const missing = existsSync(join(ROOT, file)) ? undefined : `Cannot find module '${file}' imported from ${FIND}`;
    const load =
      missing !== undefined
        ? `() => Promise.reject(Object.assign(new Error(${JSON.stringify(missing)}), { code: "ERR_MODULE_NOT_FOUND" }))`
        : broken.has(name)
          ? `() => Promise.reject(new Error(${JSON.stringify(broken.get(name))}))`
          : `() => import(${JSON.stringify(`./${name}/${name}.ts`)})`;
    return `{ name: ${JSON.stringify(name)}, file: ${JSON.stringify(file)}, load: ${load} }`;
  });
  return `export const findElements = async () => [${found.join(", ")}];`;
}

/** Folders and files of elements that are not in the bundle: when one changes, the bundle is out of date. */
function listUnbundled(inputs) {
  return listElements()
    .filter(({ file }) => !inputs.includes(file))
    .flatMap(({ name }) => {
      const folder = join("elements", name);
      if (!existsSync(join(ROOT, folder))) return [];
      return [folder, ...readdirSync(join(ROOT, folder), { recursive: true }).map((path) => join(folder, path))].filter(
        (path) => !path.includes("node_modules"),
      );
    });
}

/** Size and modification time: checking hundreds of files must not slow down a start. */
const describeInputs = (paths) =>
  [
    ...paths.filter((path) => !path.startsWith("node_modules/")),
    ...listUnbundled(paths),
    ...["package-lock.json", "elements"],
  ].map((path) => {
    const found = statSync(join(ROOT, path));
    return [path, found.isDirectory() ? 0 : found.size, found.mtimeMs];
  });

if (process.argv[1] === fileURLToPath(import.meta.url) && !isBundled()) {
  const note = await buildBundle();
  if (note !== undefined) console.warn(note);
}
