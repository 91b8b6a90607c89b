/** Debian packages of a release, as they are installed on this machine: those for running, with all that they depend on. */
import { execFileSync } from "node:child_process";
import { RUN_PACKAGES } from "../setup/packages.mjs";

export interface DebianPackage {
  readonly name: string;
  readonly version: string;
  readonly architecture: string;
  readonly dependencies: readonly string[];
}

const FIELDS = ["Package", "Version", "Architecture", "Pre-Depends", "Depends", "Provides"];

/** Null where there is no dpkg. */
export function listDebianPackages(): readonly DebianPackage[] | null {
  const format = `--showformat=${FIELDS.map((field) => `\${${field}}`).join("\t")}\t\${db:Status-Abbrev}\n`;
  try {
    return closeOver(execFileSync("dpkg-query", ["--show", format], { encoding: "utf8", maxBuffer: 64 << 20 }));
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === "ENOENT") return null;
    throw error;
  }
}

/** @param text a line for every installed package: its fields with tabs between them */
export function closeOver(
  text: string,
  wanted: readonly string[] = Object.keys(RUN_PACKAGES),
): readonly DebianPackage[] {
  const rows = text.split("\n").map((line) => line.split("\t"));
  const installed = rows.filter(([, , , , , , state]) => state?.[1] === "i");
  const byName = new Map(installed.map((row) => [row[0] ?? "", row]));
  // One that is provided by another, such as awk by mawk.
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

/** `libc6 (>= 2.34), a:any | b` → libc6, a, b. Of alternatives those that are installed count. */
const namesOf = (list: string): readonly string[] =>
  list
    .split(/[,|]/)
    .map((each) => each.trim().split(/[\s:(]/)[0] ?? "")
    .filter((name) => name !== "");
