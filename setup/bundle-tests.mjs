/**
 * Bundles the tests into build/tests/ for as long as they run: each runs in a process of its own, and reading the same hundreds of files as
 * TypeScript again in each would take a third of all the time.
 */
import { existsSync, readdirSync, rmSync, writeFileSync } from "node:fs";
import { basename, join, relative, resolve } from "node:path";
import { fileURLToPath, pathToFileURL } from "node:url";
import { bundle } from "./bundle.mjs";
import { findChildren } from "./find-tests.mjs";
import { groupTests } from "./group-tests.mjs";
import { orderTests } from "./order-tests.mjs";

const ROOT = fileURLToPath(new URL("..", import.meta.url));
/** Of each run its own: a test of the set-up runs tests, too. */
const FOLDER = join(ROOT, "build/tests");
const OUT = join(FOLDER, String(process.pid));
/** Natively compiled, or looking for files of their own. */
const LEFT_ALONE = [
  "onnxruntime-node",
  "playwright-core",
  "autocannon",
  "@seriousme/openapi-schema-validator",
  "tsx",
  "typescript",
  "recheck",
  "esbuild",
];

/** Programs and the set-up are tested as they are. */
const beginningsInPlace = {
  name: "beginnings-in-place",
  setup(build) {
    build.onResolve({ filter: /^\..*\.mjs$/ }, ({ path, resolveDir }) => {
      // Libraries of hundreds of such files are what bundling is for.
      if (resolveDir.includes("node_modules")) return undefined;
      return { path: pathToFileURL(resolve(resolveDir, path)).href, external: true };
    });
  },
};

const forget = (name) => rmSync(join(FOLDER, name), { recursive: true, force: true });

function isAlive(pid) {
  try {
    return process.kill(pid, 0);
  } catch {
    return false;
  }
}

/**
 * @returns {Promise<{ runs: Map<string, string[]>, writeAlone: (file: string) => string, children: string }>} `runs` goes
 * from each file to run to those that it was written in; `writeAlone` makes one that runs nothing else than a file;
 * `children` is the folder of the programs that tests start
 */
export async function bundleTests(files) {
  for (const name of existsSync(FOLDER) ? readdirSync(FOLDER) : []) if (!isAlive(Number(name))) forget(name);
  process.once("exit", () => forget(String(process.pid)));
  // Those of other folders are none of the project's: what the set-up itself is tested with.
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
    sourcemap: "linked",
    // The sources are at hand.
    sourcesContent: false,
    metafile: true,
    external: LEFT_ALONE,
    plugins: [beginningsInPlace],
  });
  const writeRun = (name, group) => {
    const path = join(OUT, `${name}-${basename(group[0], ".ts")}.mjs`);
    const bundles = group.map((file) => join(OUT, `${outOf(file)}.mjs`));
    // One module, however many files: tests that are defined while others run would begin before their file is loaded.
    const whole = join(OUT, "files", `${name}.mjs`);
    writeFileSync(whole, bundles.map((file) => `import ${JSON.stringify(file)};\n`).join(""));
    const [loader, tests] = [join(ROOT, "setup/test-file.mjs"), whole].map((file) => JSON.stringify(file));
    const load = `import(${tests})`;
    writeFileSync(path, `import { failToLoad } from ${loader};\nawait ${load}.catch(failToLoad);\n`);
    return path;
  };
  const { single, groups } = groupTests(files, metafile.inputs, ROOT);
  // Node runs files in the order of their names.
  const ordered = [...orderTests(single, ROOT).map((file) => [file]), ...groups];
  const runs = new Map(ordered.map((group, i) => [writeRun(String(i).padStart(4, "0"), group), group]));
  const writeAlone = (file) => writeRun(`alone-${files.indexOf(file)}`, [file]);
  return { runs, writeAlone, children: join(OUT, "children") };
}
