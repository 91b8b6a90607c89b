/**
 * Bundles the console into build/console/: a first view, and a part for every page that comes when it is looked at. What
 * has its contents in its name may be kept by browsers for ever.
 *
 *   node setup/console.mjs     bundle if something has changed
 */
import { mkdirSync, readdirSync, readFileSync, renameSync, rmSync, statSync, writeFileSync } from "node:fs";
import { createRequire } from "node:module";
import { join } from "node:path";
import { fileURLToPath } from "node:url";

const ROOT = fileURLToPath(new URL("..", import.meta.url));
const OUT = join(ROOT, "build/console");
const FOLDERS = ["console", "client"];
const STAMP = join(OUT, "stamp.json");

/** Size and time of all that goes in. */
function describeInputs() {
  const files = FOLDERS.flatMap((folder) =>
    readdirSync(join(ROOT, folder), { recursive: true, withFileTypes: true })
      .filter((entry) => entry.isFile())
      .map((entry) => join(entry.parentPath ?? entry.path, entry.name)),
  );
  return JSON.stringify(
    [...files.sort(), join(ROOT, "package-lock.json")].map((file) => {
      const { size, mtimeMs } = statSync(file);
      return [file.slice(ROOT.length), size, mtimeMs];
    }),
  );
}

export function isConsoleBuilt() {
  try {
    return readFileSync(STAMP, "utf8") === describeInputs();
  } catch {
    return false;
  }
}

export async function buildConsole() {
  const inputs = describeInputs();
  const fresh = `${OUT}.${process.pid}`;
  mkdirSync(fresh, { recursive: true });
  try {
    // It comes with tsx, and is the version that tsx reads our sources with.
    const { build } = createRequire(createRequire(import.meta.url).resolve("tsx/package.json"))("esbuild");
    const { metafile } = await build({
      absWorkingDir: ROOT,
      entryPoints: { main: "console/main.ts", style: "console/style/style.css" },
      outdir: fresh,
      entryNames: "[name]-[hash]",
      chunkNames: "part-[hash]",
      bundle: true,
      splitting: true,
      minify: true,
      sourcemap: "linked",
      format: "esm",
      target: ["chrome110", "firefox115", "safari16.4"],
      metafile: true,
      logLevel: "silent",
    });
    const names = Object.entries(metafile.outputs).flatMap(([path, { entryPoint }]) =>
      entryPoint === undefined ? [] : [[entryPoint, path.slice(path.lastIndexOf("/") + 1)]],
    );
    writeFileSync(join(fresh, "entries.json"), JSON.stringify(Object.fromEntries(names)));
    writeFileSync(join(fresh, "stamp.json"), inputs);
    rmSync(OUT, { recursive: true, force: true });
    renameSync(fresh, OUT);
  } finally {
    rmSync(fresh, { recursive: true, force: true });
  }
}

if (process.argv[1] === fileURLToPath(import.meta.url) && !isConsoleBuilt()) await buildConsole();
