/** npm packages of a release: those of package-lock.json that are not for development alone. */
import { readFileSync } from "node:fs";

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
  /** In node_modules: two versions of one package are in two places. */
  readonly path: string;
  readonly name: string;
  readonly version: string;
  /** As its author declares it: an SPDX id or expression. Null: not declared. */
  readonly licence: string | null;
  /** `sha512-…` of its archive. */
  readonly integrity: string | null;
  /** Paths of those that it loads. */
  readonly dependencies: readonly string[];
}

const FOLDER = "node_modules/";

export function readLock(): Readonly<Record<string, LockedPackage>> {
  return JSON.parse(readFileSync(new URL("../package-lock.json", import.meta.url), "utf8")).packages;
}

/** The first is ours. */
export function listNpmPackages(packages = readLock()): readonly NpmPackage[] {
  const kept = Object.entries(packages).filter(([, { dev }]) => dev !== true);
  return kept.map(([path, locked]) => ({
    path,
    name: path === "" ? "windhover" : path.slice(path.lastIndexOf(FOLDER) + FOLDER.length),
    version: locked.version ?? "0.0.0",
    licence: locked.license ?? null,
    integrity: locked.integrity ?? null,
    dependencies: Object.keys({ ...locked.dependencies, ...locked.optionalDependencies, ...locked.peerDependencies })
      .map((name) => resolve(packages, path, name))
      .filter((found) => found !== null && packages[found]?.dev !== true)
      .map(String),
  }));
}

/** As Node finds it: in the nearest node_modules above. Null: it is not installed, as optional ones for other systems. */
function resolve(packages: Readonly<Record<string, LockedPackage>>, from: string, name: string): string | null {
  for (let folder = from; ; folder = folder.slice(0, Math.max(0, folder.lastIndexOf(FOLDER) - 1))) {
    const path = `${folder === "" ? "" : `${folder}/`}${FOLDER}${name}`;
    if (path in packages) return path;
    if (folder === "") return null;
  }
}
