/**
 * Licences of the npm packages of a release, and the list of allowed ones.
 *
 *   npm run licences     prints them; exit code 1 where one is not allowed
 */
import { fileURLToPath } from "node:url";
import { listNpmPackages, type NpmPackage } from "./packages.ts";

/** Each allows use in a closed-source product. */
const ALLOWED = new Set([
  "MIT",
  "MIT-0",
  "ISC",
  "0BSD",
  "BSD-2-Clause",
  "BSD-3-Clause",
  "Apache-2.0",
  "Unlicense",
  "CC0-1.0",
]);
/** Allowed for these packages only. MPL-2.0: as long as their files are not modified. */
const EXCEPTIONS: Readonly<Record<string, string>> = { mediabunny: "MPL-2.0" };

/** In an SPDX expression, every part (AND) of at least one alternative (OR) has to be allowed. */
export function isAllowed({ name, licence }: Pick<NpmPackage, "name" | "licence">): boolean {
  if (licence === null) return false;
  const alternatives = licence.replaceAll(/[()]/g, " ").split(/ OR /);
  return alternatives.some((one) =>
    one.split(/ AND /).every((part) => ALLOWED.has(part.trim()) || EXCEPTIONS[name] === part.trim()),
  );
}

export const listThirdParty = (): readonly NpmPackage[] =>
  listNpmPackages()
    .filter(({ path }) => path !== "")
    .sort((a, b) => (a.name < b.name ? -1 : 1));

if (process.argv[1] === fileURLToPath(import.meta.url)) {
  for (const one of listThirdParty()) {
    const mark = isAllowed(one) ? "" : "   NOT ALLOWED (supply/licences.ts)";
    console.log(`${`${one.name}@${one.version}`.padEnd(48)} ${one.licence ?? "not declared"}${mark}`);
    if (mark !== "") process.exitCode = 1;
  }
}
