/**
 * Bundles the tests into build/tests/ for the duration of a run, and puts tests that only compute into shared processes:
 * loading the same hundreds of TypeScript files in a process for each test would take a third of the whole time.
 */
import { existsSync, readdirSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { basename, join, relative, resolve, sep } from "node:path";
import { fileURLToPath, pathToFileURL } from "node:url";
import { bundle } from "./bundle.mjs";
import { findChildren, shareProcesses, sharesServices } from "./find-tests.mjs";

const ROOT = fileURLToPath(new URL("..", import.meta.url));
/** One subfolder for each run: tests of the set-up run tests, too. */
const FOLDER = join(ROOT, "build/tests");
const OUT = join(FOLDER, String(process.pid));
/** Native packages, and packages that read files of their own. */
const NOT_BUNDLED = [
  "onnxruntime-node",
  "playwright-core",
  "autocannon",
  "@seriousme/openapi-schema-validator",
  "tsx",
  "typescript",
  "recheck",
  "esbuild",
];

const MAX_GROUP_SIZE = 40;
/** Modules with which a test reaches outside its process or changes the whole process. */
const REACHING = /^(node:)?(child_process|worker_threads|cluster|net|tls|https?|http2|dgram|module|vm|v8)$|\.mjs$/;
/** Code that would affect the other tests of the process. */
const SHARED = /\b(before|beforeEach|afterEach)\(|\b(mock|globalThis|process)\.(?!pid\b|platform\b)/;

/** Entry points (`*.mjs`) and the set-up are tested in place. */
const entryPointsInPlace = {
  name: "entry-points-in-place",
  setup(build) {
    build.onResolve({ filter: /^\..*\.mjs$/ }, ({ path, resolveDir }) => {
      // Libraries are bundled: some consist of hundreds of such files.
      if (resolveDir.includes("node_modules")) return undefined;
      return { path: pathToFileURL(resolve(resolveDir, path)).href, external: true };
    });
  },
};

const removeRun = (name) => rmSync(join(FOLDER, name), { recursive: true, force: true });

function isAlive(pid) {
  try {
    return process.kill(pid, 0);
  } catch {
    return false;
  }
}

/**
 * @returns {Promise<{ runs: Map<string, string[]>, writeAlone: (file: string) => string, children: string }>} `runs` maps
 * each module to run to its test files; `writeAlone` writes a module that runs a single test file; `children` is the
 * folder of the bundled programs that tests start
 */
export async function bundleTests(files) {
  for (const name of existsSync(FOLDER) ? readdirSync(FOLDER) : []) if (!isAlive(Number(name))) removeRun(name);
  process.once("exit", () => removeRun(String(process.pid)));
  // Files outside the project come from tests of the set-up.
  const outOf = (file) => join("files", relative(ROOT, file).replaceAll("..", "_").replace(/\.ts$/, ""));
  const children = files.some((file) => file.startsWith(ROOT)) ? findChildren(ROOT) : [];
  const { metafile } = await bundle({
    entryPoints: [
      ...files.map((file) => ({ in: file, out: outOf(file) })),
      ...children.map((file) => ({
        in: file,
        out: join("children", relative(ROOT, file).replace(/\.ts$/, "")),
      })),
    ],
    outdir: OUT,
    // Read for what is reported (setup/test-report.mjs).
    sourcemap: "external",
    sourcesContent: false,
    metafile: true,
    external: NOT_BUNDLED,
    plugins: [entryPointsInPlace],
  });
  const writeRun = (name, group) => {
    const path = join(OUT, `${name}-${basename(group[0], ".ts")}.mjs`);
    const bundles = group.map((file) => join(OUT, `${outOf(file)}.mjs`));
    const loader = JSON.stringify(join(ROOT, "setup/test-file.mjs"));
    if (group.length === 1 || sharesServices(group[0], ROOT)) {
      // One module for all of them: Node starts the first tests while later dynamic imports are still loading.
      const whole = join(OUT, "files", `${name}.mjs`);
      writeFileSync(whole, bundles.map((file) => `import ${JSON.stringify(file)};\n`).join(""));
      const load = `import(${JSON.stringify(whole)})`;
      writeFileSync(path, `import { failToLoad } from ${loader};\nawait ${load}.catch(failToLoad);\n`);
    } else {
      const files = bundles.map((file, i) => [relative(ROOT, group[i]), file]);
      writeFileSync(path, `import { runInTurn } from ${loader};\nrunInTurn(${JSON.stringify(files)});\n`);
    }
    return path;
  };
  const { single, groups } = groupTests(files, metafile.inputs);
  const shared = () => [...shareProcesses(single, ROOT), ...groups];
  // Node runs files in the order of their names.
  const ordered = process.env.WINDHOVER_TEST_APART === "1" ? files.map((file) => [file]) : shared();
  const runs = new Map(ordered.map((group, i) => [writeRun(String(i).padStart(4, "0"), group), group]));
  const writeAlone = (file) => writeRun(`alone-${files.indexOf(file)}`, [file]);
  return { runs, writeAlone, children: join(OUT, "children") };
}

/**
 * Separates tests that need a process of their own from tests that can share one.
 *
 * @param {readonly string[]} files
 * @param {Record<string, { imports: { path: string, external?: boolean }[] }>} inputs of esbuild's metafile
 * @returns {{ single: string[], groups: string[][] }}
 */
function groupTests(files, inputs) {
  const nameOf = (file) => relative(ROOT, file).split(sep).join("/");
  const isAlone = (file) =>
    SHARED.test(readFileSync(file, "utf8")) ||
    [...listExternals(nameOf(file), inputs)].some((path) => REACHING.test(path));
  const single = files.filter(isAlone);
  const together = files.filter((file) => !single.includes(file));
  const count = Math.ceil(together.length / MAX_GROUP_SIZE);
  // Dealt out in turn: neighbouring files are of similar cost, so that no group gets all of the slow ones.
  const groups = Array.from({ length: count }, (_, i) => together.filter((_file, at) => at % count === i));
  return { single, groups };
}

/** Modules that a file imports, directly or not, and that are not bundled. */
function listExternals(name, inputs) {
  const externals = new Set();
  const seen = new Set();
  const queue = [name];
  for (let next = queue.pop(); next !== undefined; next = queue.pop()) {
    if (seen.has(next)) continue;
    seen.add(next);
    for (const { path, external } of inputs[next]?.imports ?? []) {
      if (external) externals.add(path);
      else queue.push(path);
    }
  }
  return externals;
}
