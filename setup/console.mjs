/**
 * Bundles the console into build/console/: an entry point, and a chunk for every page that is loaded when it is opened.
 * File names contain a content hash, so browsers may cache them without a limit.
 *
 *   node setup/console.mjs     bundle if something has changed
 */
import { mkdirSync, readdirSync, readFileSync, renameSync, rmSync, statSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { loadEsbuild } from "./bundle.mjs";

const ROOT = fileURLToPath(new URL("..", import.meta.url));
const OUT = join(ROOT, "build/console");
const FOLDERS = ["console", "client"];
const STAMP = join(OUT, "stamp.json");

/** Size and modification time of all inputs. */
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
    const { metafile } = await loadEsbuild().build({
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
      // Images of Leaflet's style, of which the console shows none.
      loader: { ".png": "empty" },
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
