/**
 * Builds the client as a package that can be published: one module, its types, its README.
 *
 *   node setup/client.mjs [FOLDER]     default: build/client
 */
import { copyFileSync, mkdirSync, rmSync } from "node:fs";
import { join, resolve } from "node:path";
import { fileURLToPath } from "node:url";
import { loadEsbuild } from "./bundle.mjs";
import { runCommand } from "./command.mjs";

const ROOT = fileURLToPath(new URL("..", import.meta.url));
const SOURCE = join(ROOT, "client");

/** @param {string} folder emptied first */
export async function buildClient(folder) {
  rmSync(folder, { recursive: true, force: true });
  mkdirSync(folder, { recursive: true });

  const types = [
    ...["--noEmit", "false", "--declaration", "--emitDeclarationOnly"],
    ...["--outDir", folder, "--rootDir", SOURCE],
  ];
  await Promise.all([
    loadEsbuild().build({
      absWorkingDir: ROOT,
      entryPoints: ["client/client.ts"],
      outfile: join(folder, "client.js"),
      bundle: true,
      sourcemap: "linked",
      format: "esm",
      target: "es2022",
      logLevel: "silent",
    }),
    runCommand(join(ROOT, "node_modules/.bin/tsc"), ["--project", "client/tsconfig.json", ...types], { cwd: ROOT }),
  ]);
  for (const name of ["package.json", "README.md"]) copyFileSync(join(SOURCE, name), join(folder, name));
}

if (process.argv[1] === fileURLToPath(import.meta.url)) {
  const folder = resolve(process.argv[2] ?? join(ROOT, "build/client"));
  await buildClient(folder);
  console.log(folder);
}
