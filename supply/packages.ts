/**
 * Packages of a release: npm packages of package-lock.json that are not development dependencies, and the Debian packages
 * that are installed on this machine for running, with their dependencies.
 */
import { execFileSync } from "node:child_process";
import { readFileSync } from "node:fs";
import { RUN_PACKAGES } from "../setup/packages.mjs";

interface LockedPackage {
  readonly version?: string;
  readonly license?: string;
  readonly integrity?: string;
  readonly dev?: boolean;
  readonly dependencies?: Readonly<Record<string, string>>;
  readonly optionalDependencies?: Readonly<Record<string, string>>;
  readonly peerDependencies?: Readonly<Record<string, string>>;
}

export interface NpmPackage {
  /** Its path in package-lock.json: two versions of one package have two paths. */
  readonly path: string;
  readonly name: string;
  readonly version: string;
  /** SPDX id or expression; null when not declared. */
  readonly licence: string | null;
  /** `sha512-…` of its archive, as in package-lock.json. */
  readonly integrity: string | null;
  /** Paths of its dependencies. */
  readonly dependencies: readonly string[];
}

const FOLDER = "node_modules/";

export function readLock(): Readonly<Record<string, LockedPackage>> {
  return JSON.parse(readFileSync(new URL("../package-lock.json", import.meta.url), "utf8")).packages;
}

/** The first entry is Windhover itself. */
export function listNpmPackages(packages = readLock()): readonly NpmPackage[] {
  const kept = Object.entries(packages).filter(([, { dev }]) => dev !== true);
  return kept.map(([path, locked]) => ({
    path,
    name: path === "" ? "windhover" : path.slice(path.lastIndexOf(FOLDER) + FOLDER.length),
    version: locked.version ?? "0.0.0",
    licence: locked.license ?? null,
    integrity: locked.integrity ?? null,
    dependencies: Object.keys({ ...locked.dependencies, ...locked.optionalDependencies, ...locked.peerDependencies })
      .map((name) => resolvePackage(packages, path, name))
      .filter((found) => found !== null && packages[found]?.dev !== true)
      .map(String),
  }));
}

/** Resolves like Node: from the nearest node_modules upwards. Null when not installed (optional, for other platforms). */
function resolvePackage(packages: Readonly<Record<string, LockedPackage>>, from: string, name: string): string | null {
  for (let folder = from; ; folder = folder.slice(0, Math.max(0, folder.lastIndexOf(FOLDER) - 1))) {
    const path = `${folder === "" ? "" : `${folder}/`}${FOLDER}${name}`;
    if (path in packages) return path;
    if (folder === "") return null;
  }
}

export interface DebianPackage {
  readonly name: string;
  readonly version: string;
  readonly architecture: string;
  readonly dependencies: readonly string[];
}

const FIELDS = ["Package", "Version", "Architecture", "Pre-Depends", "Depends", "Provides"];

/** Null on a system without dpkg. */
export function listDebianPackages(): readonly DebianPackage[] | null {
  const format = `--showformat=${FIELDS.map((field) => `\${${field}}`).join("\t")}\t\${db:Status-Abbrev}\n`;
  try {
    return listWithDependencies(
      execFileSync("dpkg-query", ["--show", format], { encoding: "utf8", maxBuffer: 64 << 20 }),
    );
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === "ENOENT") return null;
    throw error;
  }
}

/** @param text one line per installed package, with tab-separated fields */
export function listWithDependencies(
  text: string,
  wanted: readonly string[] = Object.keys(RUN_PACKAGES),
): readonly DebianPackage[] {
  const rows = text.split("\n").map((line) => line.split("\t"));
  const installed = rows.filter(([, , , , , , state]) => state?.[1] === "i");
  const byName = new Map(installed.map((row) => [row[0] ?? "", row]));
  // Virtual packages, such as awk, which mawk provides.
  const providers = new Map(
    installed.flatMap(([name = "", , , , , provides = ""]) => namesOf(provides).map((other) => [other, name] as const)),
  );
  const find = (name: string): string | null => (byName.has(name) ? name : (providers.get(name) ?? null));
  const found = new Map<string, DebianPackage>();
  const visit = (name: string): void => {
    const [, version = "", architecture = "", before = "", needed = ""] = byName.get(name) ?? [];
    if (found.has(name)) return;
    const dependencies = [...namesOf(before), ...namesOf(needed)].map(find).filter((other) => other !== null);
    found.set(name, { name, version, architecture, dependencies: [...new Set(dependencies)] });
    for (const other of dependencies) visit(other);
  };
  for (const name of wanted) if (byName.has(name)) visit(name);
  return [...found.values()].sort((a, b) => (a.name < b.name ? -1 : 1));
}

/** `libc6 (>= 2.34), a:any | b` → libc6, a, b. All installed alternatives count. */
const namesOf = (list: string): readonly string[] =>
  list
    .split(/[,|]/)
    .map((each) => each.trim().split(/[\s:(]/)[0] ?? "")
    .filter((name) => name !== "");
