/**
 * Bundles our programs into build/bundle/: read as TypeScript, file by file, they take seconds of a processor to load,
 * and as a few files of JavaScript a fraction of that. Nobody depends on it: where a file has changed since, programs are
 * loaded from their sources (setup/load.mjs).
 *
 *   node setup/bundle.mjs     bundle if something has changed
 */
import { mkdirSync, readdirSync, renameSync, rmSync, statSync, writeFileSync } from "node:fs";
import { readFile } from "node:fs/promises";
import { createRequire } from "node:module";
import { join, relative, sep } from "node:path";
import { fileURLToPath } from "node:url";
import { findBundle } from "./find-bundle.mjs";

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
const INDEX = "elements/index.ts";

/** CommonJS modules among the libraries ask for Node's own by `require`. */
const BANNER = [
  'import { createRequire as __createRequire } from "node:module";',
  "const require = __createRequire(import.meta.url);",
  // Of the folder that holds build/, however deep in it this is.
  'const __moduleUrl = (path) => new URL(path, import.meta.url.replace(/build\\/(?!.*\\/build\\/).*$/, "")).href;',
].join("\n");

export const isBundled = () => findBundle("cli") !== null;

/** Everything that is bundled is bundled so. */
export function bundle(options) {
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
    keepNames: true,
    logLevel: "silent",
    banner: { js: BANNER },
    ...options,
    plugins: [asIfInPlace, ...(options.plugins ?? [])],
  });
}

/** What is half made is never taken for a bundle: the list of its files goes first and comes last. */
export async function buildBundle() {
  const fresh = `${OUT}.${process.pid}`;
  rmSync(fresh, { recursive: true, force: true });
  mkdirSync(fresh, { recursive: true });
  try {
    const { metafile } = await bundle({
      entryPoints: ENTRIES,
      outdir: fresh,
      metafile: true,
      external: ["onnxruntime-node"],
    });
    writeFileSync(join(fresh, LIST), JSON.stringify(describeInputs(Object.keys(metafile.inputs))));
    mkdirSync(OUT, { recursive: true });
    rmSync(join(OUT, LIST), { force: true });
    // Parts have their contents in their names: those of an earlier bundle stay for who is loading it just now.
    const files = readdirSync(fresh).filter((file) => file !== LIST);
    for (const file of [...files, LIST]) renameSync(join(fresh, file), join(OUT, file));
    forgetParts(new Set([...files, LIST]));
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
const asIfInPlace = {
  name: "as-if-in-place",
  setup(build) {
    build.onLoad({ filter: /\.ts$/ }, async ({ path }) => {
      const name = relative(ROOT, path).split(sep).join("/");
      const text = name === INDEX ? listElements() : await readFile(path, "utf8");
      const contents = text.replaceAll("import.meta.url", `__moduleUrl(${JSON.stringify(name)})`);
      return { contents, loader: "ts" };
    });
  },
};

/** What elements/index.ts finds by looking into its folder. */
function listElements() {
  const folder = join(ROOT, "elements");
  const names = readdirSync(folder, { withFileTypes: true })
    .filter((entry) => entry.isDirectory())
    .map(({ name }) => name)
    .sort();
  return [
    ...names.map((name, index) => `import element${index} from "./${name}/${name}.ts";`),
    `const elements = [${names.map((_, index) => `element${index}`).join(", ")}];`,
    "export const loadElements = async () => new Map(elements.map((element) => [element.name, element]));",
  ].join("\n");
}

/** By size and time: looking at hundreds of files must cost a start nothing. */
const describeInputs = (paths) =>
  [...paths.filter((path) => !path.startsWith("node_modules/")), "package-lock.json", "elements"].map((path) => {
    const { size, mtimeMs } = statSync(join(ROOT, path));
    return [path, path === "elements" ? 0 : size, mtimeMs];
  });

if (process.argv[1] === fileURLToPath(import.meta.url) && !isBundled()) await buildBundle();
