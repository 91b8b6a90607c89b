/**
 * Builds the package `@windhover/element`, which elements outside of this repository import: one module, its types, and
 * the archive that `windhover init` puts into a workspace.
 *
 *   node setup/element-package.mjs [FOLDER]     default: build/element
 */
import { mkdirSync, readdirSync, readFileSync, renameSync, rmSync, statSync, writeFileSync } from "node:fs";
import { join, resolve } from "node:path";
import { fileURLToPath } from "node:url";
import { loadEsbuild } from "./bundle.mjs";
import { runCommand } from "./command.mjs";

const ROOT = fileURLToPath(new URL("..", import.meta.url));
const OUT = join(ROOT, "build/element");
const ENTRY = "elements/public.ts";
const STAMP = "stamp.json";

/** Size and modification time of all files that its types may come from. */
function describeInputs() {
  const files = ["schemas", "elements"].flatMap((folder) =>
    readdirSync(join(ROOT, folder))
      .filter((name) => name.endsWith(".ts"))
      .map((name) => join(folder, name)),
  );
  return JSON.stringify(
    [...files.sort(), "package.json", "setup/element-package.mjs"].map((file) => {
      const { size, mtimeMs } = statSync(join(ROOT, file));
      return [file, size, mtimeMs];
    }),
  );
}

export function isElementPackageBuilt() {
  try {
    return readFileSync(join(OUT, STAMP), "utf8") === describeInputs();
  } catch {
    return false;
  }
}

const readManifest = () => JSON.parse(readFileSync(join(ROOT, "package.json"), "utf8"));

/** @param {string} folder emptied first */
export async function buildElementPackage(folder = OUT) {
  const inputs = describeInputs();
  const fresh = `${folder}.${process.pid}`;
  rmSync(fresh, { recursive: true, force: true });
  mkdirSync(fresh, { recursive: true });
  try {
    await Promise.all([buildModule(fresh), buildTypes(fresh)]);
    const { version, license, engines, dependencies } = readManifest();
    const manifest = {
      name: "@windhover/element",
      ...{ version, license, type: "module", engines },
      description: "The contract of elements of Windhover: types, and defineElement.",
      exports: { ".": { types: `./${ENTRY.replace(/\.ts$/, ".d.ts")}`, default: "./element.js" } },
      files: ["element.js", "**/*.d.ts", "README.md"],
      sideEffects: false,
      dependencies: { typebox: dependencies.typebox },
    };
    writeFileSync(join(fresh, "package.json"), `${JSON.stringify(manifest, null, 2)}\n`);
    writeFileSync(join(fresh, "README.md"), README);
    await runCommand("npm", ["pack", "--silent", "--pack-destination", fresh], { cwd: fresh });
    writeFileSync(join(fresh, STAMP), inputs);
    rmSync(folder, { recursive: true, force: true });
    renameSync(fresh, folder);
  } finally {
    rmSync(fresh, { recursive: true, force: true });
  }
}

const README = `# @windhover/element

What an element of Windhover imports: \`import { defineElement, Type } from "@windhover/element"\`. In Windhover, elements
get its own module in place of this one, so that this package is only needed for types and tests.
`;

const buildModule = (folder) =>
  loadEsbuild().build({
    absWorkingDir: ROOT,
    entryPoints: [ENTRY],
    outfile: join(folder, "element.js"),
    bundle: true,
    external: ["typebox"],
    format: "esm",
    target: "es2022",
    logLevel: "silent",
  });

/** TypeScript keeps the names of imported sources; in a package they are those of modules. */
async function buildTypes(folder) {
  const project = join(folder, "tsconfig.json");
  const compilerOptions = {
    noEmit: false,
    declaration: true,
    emitDeclarationOnly: true,
    rootDir: ROOT,
    outDir: folder,
  };
  const extended = { extends: join(ROOT, "tsconfig.json"), compilerOptions, include: [], files: [join(ROOT, ENTRY)] };
  writeFileSync(project, JSON.stringify(extended));
  await runCommand(join(ROOT, "node_modules/.bin/tsc"), ["--project", project], { cwd: ROOT });
  rmSync(project);
  for (const name of readdirSync(folder, { recursive: true }).filter((file) => file.endsWith(".d.ts"))) {
    const file = join(folder, name);
    writeFileSync(file, readFileSync(file, "utf8").replace(/(from |import\()"(\.[^"]*)\.ts"/g, '$1"$2.js"'));
  }
}

if (process.argv[1] === fileURLToPath(import.meta.url)) {
  const folder = resolve(process.argv[2] ?? OUT);
  await buildElementPackage(folder);
  console.log(folder);
}
