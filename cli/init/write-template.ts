/** Writes the files of a new workspace. */
import {
  chmodSync,
  copyFileSync,
  existsSync,
  mkdirSync,
  readdirSync,
  readFileSync,
  rmSync,
  statSync,
  symlinkSync,
  writeFileSync,
} from "node:fs";
import { dirname, join } from "node:path";
import { fileURLToPath } from "node:url";
import { CommandFailure, UsageFault } from "../command.ts";

const CHECKOUT = fileURLToPath(new URL("../../", import.meta.url));
const TEMPLATE = fileURLToPath(new URL("template/", import.meta.url));
/** Of files in the template, which are not part of this repository's own sources. */
const ENDING = ".tmpl";
const PACKAGE_FOLDER = join(CHECKOUT, "build/element");

/** Throws `UsageFault` unless it does not exist or is an empty folder. */
export function expectEmpty(folder: string): void {
  const found = statSync(folder, { throwIfNoEntry: false });
  if (found === undefined) return;
  if (!found.isDirectory()) throw new UsageFault(`${folder} is a file; expected a new or empty folder`);
  const [first] = readdirSync(folder);
  if (first !== undefined)
    throw new UsageFault(`${folder} is not empty: it has ${first}; expected a new or empty folder`);
}

/** After a failure; the folder was empty before, or did not exist. */
export function emptyFolder(folder: string): void {
  if (!existsSync(folder)) return;
  for (const name of readdirSync(folder)) rmSync(join(folder, name), { recursive: true, force: true });
}

export function writeTemplate(folder: string, name: string): void {
  const archive = findArchive();
  const { devDependencies, dependencies } = JSON.parse(readFileSync(join(CHECKOUT, "package.json"), "utf8"));
  const values: Readonly<Record<string, string>> = {
    ...{ ...devDependencies, ...dependencies, package: archive },
    name:
      name
        .toLowerCase()
        .replace(/[^a-z0-9-]+/g, "-")
        .replace(/^-+/, "") || "workspace",
  };
  for (const path of listTemplate()) {
    const target = join(folder, path.slice(0, -ENDING.length));
    mkdirSync(dirname(target), { recursive: true });
    const text = readFileSync(join(TEMPLATE, path), "utf8");
    writeFileSync(
      target,
      text.replace(/\{\{([\w@/-]{1,40})\}\}/g, (_, key: string) => values[key] ?? ""),
    );
    chmodSync(target, statSync(join(TEMPLATE, path)).mode & 0o777);
  }
  for (const part of ["clips", "vendor", "node_modules/.bin"]) mkdirSync(join(folder, part), { recursive: true });
  copyFileSync(join(PACKAGE_FOLDER, archive), join(folder, "vendor", archive));
  // `npx windhover` works before anything is installed.
  symlinkSync(join(CHECKOUT, "cli/windhover.mjs"), join(folder, "node_modules/.bin/windhover"));
}

const listTemplate = (): readonly string[] =>
  readdirSync(TEMPLATE, { recursive: true })
    .map(String)
    .filter((path) => path.endsWith(ENDING));

/** The package `@windhover/element`. Throws `CommandFailure` if the set-up has not built it. */
function findArchive(): string {
  try {
    const found = readdirSync(PACKAGE_FOLDER).find((file) => file.endsWith(".tgz"));
    if (found !== undefined) return found;
  } catch {
    // Explained below.
  }
  throw new CommandFailure("the package @windhover/element is not built yet: run `node setup/setup.mjs`");
}
