/**
 * Makes the client a package that can be published: one module, its types, its description.
 *
 *   node setup/client.mjs [FOLDER]     build/client unless another is named
 */
import { copyFileSync, mkdirSync, rmSync } from "node:fs";
import { createRequire } from "node:module";
import { join, resolve } from "node:path";
import { fileURLToPath } from "node:url";
import { runCommand } from "./command.mjs";

const ROOT = fileURLToPath(new URL("..", import.meta.url));
const SOURCE = join(ROOT, "client");

/** @param {string} folder is emptied first */
export async function buildClient(folder) {
  rmSync(folder, { recursive: true, force: true });
  mkdirSync(folder, { recursive: true });
  // It comes with tsx, and is the version that tsx reads our sources with.
  const { build } = createRequire(createRequire(import.meta.url).resolve("tsx/package.json"))("esbuild");
  const types = [
    ...["--noEmit", "false", "--declaration", "--emitDeclarationOnly"],
    ...["--outDir", folder, "--rootDir", SOURCE],
  ];
  await Promise.all([
    build({
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
