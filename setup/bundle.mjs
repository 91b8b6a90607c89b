/**
 * Bundles our programs into build/bundle/: read as TypeScript, file by file, they take seconds of a processor to load,
 * and as a few files of JavaScript a fraction of that. Nobody depends on it: where a file has changed since, programs are
 * loaded from their sources (setup/load.mjs).
 *
 *   node setup/bundle.mjs     bundle if something has changed
 */
import { existsSync, mkdirSync, readdirSync, renameSync, rmSync, statSync, writeFileSync } from "node:fs";
import { readFile } from "node:fs/promises";
import { createRequire } from "node:module";
import { join, relative, sep } from "node:path";
import { fileURLToPath } from "node:url";
import { findBundle } from "./find-bundle.mjs";
import { linkedElements } from "./linked-elements.mjs";

const ROOT = fileURLToPath(new URL("..", import.meta.url));
const OUT = join(ROOT, "build/bundle");
const ENTRIES = {
  cli: "cli/main.ts",
  clip: "clips/main.ts",
  compiler: "graphs/compiler/worker/worker.ts",
  enhance: "enhance/main.ts",
  hub: "hub/main.ts",
  inference: "elements/detect/worker/worker.ts",
  probe: "graphs/runtime/probe/main.ts",
  registry: "cli/serve/describe-registry.ts",
  runner: "graphs/runtime/runner/main.ts",
};
const LIST = "inputs.json";
const OLD_MS = 600_000;
/** What finds the elements: in a bundle the list of those that there were. */
const FIND = "elements/find.ts";

/** CommonJS modules among the libraries ask for Node's own by `require`. */
const BANNER = [
  'import { createRequire as __createRequire } from "node:module";',
  "const require = __createRequire(import.meta.url);",
  // Of the folder that holds build/, however deep in it this is.
  'const __moduleUrl = (path) => new URL(path, import.meta.url.replace(/build\\/(?!.*\\/build\\/).*$/, "")).href;',
].join("\n");

export const isBundled = () => findBundle("cli") !== null;

/**
 * Everything that is bundled is bundled so. `broken` of the result: elements that cannot be bundled, by name, with why.
 * They are left out, and whoever loads elements is told.
 */
export async function bundle(options) {
  try {
    return { ...(await run(options, new Map())), broken: new Map() };
  } catch (error) {
    const broken = await findBroken(options);
    if (broken.size === 0) throw error;
    return { ...(await run(options, broken)), broken };
  }
}

/** Each by itself: it takes a moment, and is only asked when all of it together has failed. */
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

/** As tsx says it of a file that it cannot read. */
function describeFault(error, file) {
  const [first] = error.errors ?? [];
  if (first?.location == null) return `${file}:1:0: ERROR: ${error.message}`;
  const { file: path, line, column } = first.location;
  return `${path}:${line}:${column}: ERROR: ${first.text}`;
}

function run(options, broken) {
  // It comes with tsx, and is the version that tsx reads our sources with.
  const { build } = createRequire(createRequire(import.meta.url).resolve("tsx/package.json"))("esbuild");
  return build({
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
 * What is half made is never taken for a bundle: the list of its files goes first and comes last. Resolves with what a
 * person should know, if anything.
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
      // Without a reference to them: they are only read when something has failed (elements/source-lines.ts).
      sourcemap: "external",
      sourcesContent: false,
      // A release may leave tools/ out: then the commands that load it say so (cli/commands/bench.ts).
      external: ["onnxruntime-node", ...(existsSync(join(ROOT, "tools")) ? [] : ["../../tools/*"])],
    });
    writeFileSync(join(fresh, LIST), JSON.stringify(describeInputs(Object.keys(metafile.inputs))));
    mkdirSync(OUT, { recursive: true });
    rmSync(join(OUT, LIST), { force: true });
    // Parts have their contents in their names: those of an earlier bundle stay for who is loading it just now.
    const files = readdirSync(fresh).filter((file) => file !== LIST);
    for (const file of [...files, LIST]) renameSync(join(fresh, file), join(OUT, file));
    forgetParts(new Set([...files, LIST]));
    return broken.size === 0
      ? undefined
      : [...broken].map(([name, why]) => `element "${name}" left out: ${why}`).join("\n");
  } finally {
    rmSync(fresh, { recursive: true, force: true });
  }
}

/** Of bundles that nobody can be loading any more. */
function forgetParts(kept) {
  for (const file of readdirSync(OUT).filter((name) => !kept.has(name))) {
    const path = join(OUT, file);
    if (Date.now() - statSync(path).mtimeMs > OLD_MS) rmSync(path, { force: true });
  }
}

/** Modules find their neighbours on disk as if they were still where they were written. */
const asIfInPlace = (broken) => ({
  name: "as-if-in-place",
  setup(build) {
    build.onLoad({ filter: /\.ts$/ }, async ({ path }) => {
      const name = relative(ROOT, path).split(sep).join("/");
      const text = name === FIND ? writeFound(broken) : await readFile(path, "utf8");
      const contents = text.replaceAll("import.meta.url", `__moduleUrl(${JSON.stringify(name)})`);
      return { contents, loader: "ts" };
    });
  },
});

/** As elements/find.ts finds them. A link to nothing counts: it is reported as a file that is missing. */
function listElements() {
  const folder = join(ROOT, "elements");
  return readdirSync(folder, { withFileTypes: true })
    .filter((entry) => !entry.name.startsWith(".") && (entry.isDirectory() || entry.isSymbolicLink()))
    .filter(({ name }) => statSync(join(folder, name), { throwIfNoEntry: false })?.isDirectory() ?? true)
    .map(({ name }) => ({ name, file: `elements/${name}/${name}.ts` }))
    .sort((a, b) => (a.name < b.name ? -1 : 1));
}

/** Imported one by one: one that throws as it is loaded must not take the others with it. */
function writeFound(broken) {
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

/** Folders whose element is not in the bundle, and their files: whatever changes there, the bundle is made again. */
function listSuspects(inputs) {
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

/** By size and time: looking at hundreds of files must cost a start nothing. */
const describeInputs = (paths) =>
  [
    ...paths.filter((path) => !path.startsWith("node_modules/")),
    ...listSuspects(paths),
    ...["package-lock.json", "elements"],
  ].map((path) => {
    const found = statSync(join(ROOT, path));
    return [path, found.isDirectory() ? 0 : found.size, found.mtimeMs];
  });

if (process.argv[1] === fileURLToPath(import.meta.url) && !isBundled()) {
  const note = await buildBundle();
  if (note !== undefined) console.warn(note);
}
