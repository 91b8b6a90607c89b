/**
 * Bundles the tests into build/tests/ for as long as they run: each runs in a process of its own, and reading the same hundreds of files as
 * TypeScript again in each would take a third of all the time.
 */
import { existsSync, readdirSync, rmSync } from "node:fs";
import { join, relative, resolve } from "node:path";
import { fileURLToPath, pathToFileURL } from "node:url";
import { bundle } from "./bundle.mjs";

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
  "esbuild",
];

/** Programs and the set-up are tested as they are. */
const beginningsInPlace = {
  name: "beginnings-in-place",
  setup(build) {
    build.onResolve({ filter: /^\..*\.mjs$/ }, ({ path, resolveDir }) => ({
      path: pathToFileURL(resolve(resolveDir, path)).href,
      external: true,
    }));
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

/** @returns {Promise<Map<string, string>>} from the file of each bundled test to the file it was written in */
export async function bundleTests(files) {
  for (const name of existsSync(FOLDER) ? readdirSync(FOLDER) : []) if (!isAlive(Number(name))) forget(name);
  process.once("exit", () => forget(String(process.pid)));
  // Those of other folders are none of the project's: what the set-up itself is tested with.
  const names = new Map(files.map((file) => [relative(ROOT, file).replaceAll("..", "_").replace(/\.ts$/, ""), file]));
  await bundle({
    entryPoints: [...names].map(([name, file]) => ({ in: file, out: name })),
    outdir: OUT,
    sourcemap: "linked",
    external: LEFT_ALONE,
    plugins: [beginningsInPlace],
  });
  return new Map([...names].map(([name, file]) => [join(OUT, `${name}.mjs`), file]));
}
