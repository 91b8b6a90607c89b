/**
 * Bundles what a runner loads into build/runner/: read as TypeScript, file by file, it takes seconds of a processor to
 * load, and as one file of JavaScript a fraction of that. Nobody depends on it: where a file has changed since, runners
 * are loaded from the sources.
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
const OUT = join(ROOT, "build/runner");
const ENTRIES = { runner: "graphs/runtime/runner/main.ts", inference: "elements/detect/worker/worker.ts" };
const LIST = "inputs.json";
const INDEX = "elements/index.ts";
const WORKER = 'new URL("worker/worker.mjs", import.meta.url)';

/** CommonJS modules among the libraries ask for Node's own by `require`. */
const BANNER = [
  'import { createRequire as __createRequire } from "node:module";',
  "const require = __createRequire(import.meta.url);",
  'const __moduleUrl = (path) => new URL(path, new URL("../../", import.meta.url)).href;',
].join("\n");

export const isBundled = () => findBundle("runner") !== null;

/** What is half made is never taken for a bundle: the list of its files goes first and comes last. */
export async function buildBundle() {
  // It comes with tsx, and is the version that tsx reads our sources with.
  const { build } = createRequire(createRequire(import.meta.url).resolve("tsx/package.json"))("esbuild");
  const fresh = `${OUT}.${process.pid}`;
  rmSync(fresh, { recursive: true, force: true });
  mkdirSync(fresh, { recursive: true });
  try {
    const { metafile } = await build({
      absWorkingDir: ROOT,
      entryPoints: ENTRIES,
      outdir: fresh,
      outExtension: { ".js": ".mjs" },
      bundle: true,
      platform: "node",
      format: "esm",
      target: "node20",
      keepNames: true,
      metafile: true,
      logLevel: "silent",
      external: ["onnxruntime-node"],
      banner: { js: BANNER },
      plugins: [asIfInPlace],
    });
    writeFileSync(join(fresh, LIST), JSON.stringify(describeInputs(Object.keys(metafile.inputs))));
    mkdirSync(OUT, { recursive: true });
    rmSync(join(OUT, LIST), { force: true });
    for (const file of [...Object.keys(ENTRIES).map((name) => `${name}.mjs`), LIST])
      renameSync(join(fresh, file), join(OUT, file));
  } finally {
    rmSync(fresh, { recursive: true, force: true });
  }
}

/** Modules find their neighbours on disk as if they were still where they were written. */
const asIfInPlace = {
  name: "as-if-in-place",
  setup(build) {
    build.onLoad({ filter: /\.ts$/ }, async ({ path }) => {
      const name = relative(ROOT, path).split(sep).join("/");
      const text = name === INDEX ? listElements() : await readFile(path, "utf8");
      const contents = text
        .replaceAll(WORKER, 'new URL("inference.mjs", __bundleUrl)')
        .replaceAll("import.meta.url", `__moduleUrl(${JSON.stringify(name)})`)
        .replaceAll("__bundleUrl", "import.meta.url");
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
