/** Reads the imports of every source file. For tests only: it covers the style of this codebase, not all of JavaScript. */
import { readdirSync, readFileSync } from "node:fs";
import { join, posix, relative } from "node:path";

export interface Import {
  /** As written: `../schemas/json.ts`, `typebox`. */
  readonly specifier: string;
  /** `type` is erased, `static` is loaded with the module, `dynamic` when the call is executed. */
  readonly kind: "static" | "dynamic" | "type";
  readonly line: number;
}

export interface SourceFile {
  /** From the root of the project, with slashes. */
  readonly path: string;
  readonly imports: readonly Import[];
}

const SKIPPED = new Set(["node_modules", "build", "data"]);

/** Paths of all files of the project. */
export function listFiles(root: string, folder = root): string[] {
  return readdirSync(folder, { withFileTypes: true }).flatMap((entry) => {
    if (SKIPPED.has(entry.name) || entry.name.startsWith(".")) return [];
    const path = join(folder, entry.name);
    return entry.isDirectory() ? listFiles(root, path) : [relative(root, path)];
  });
}

export function readSources(root: string): SourceFile[] {
  return listFiles(root)
    .filter((path) => /\.[cm]?[jt]sx?$/.test(path))
    .map((path) => ({ path, imports: readImports(readFileSync(join(root, path), "utf8")) }));
}

const STRING_OR_COMMENT = /"(?:\\.|[^"\\\n])*"|'(?:\\.|[^'\\\n])*'|\/\*[\s\S]*?\*\/|\/\/[^\n]*/g;
const STATEMENT = /\b(?:import|export)\s+(type\s+)?(?:[\w$*{}\s,]+?\sfrom\s+)?["']([^"'\n]+)["']/g;
const CALL = /(\btypeof\s+)?\bimport\(\s*(?:["']([^"'\n]+)["']|([^)\n]*))/g;

export function readImports(text: string): Import[] {
  // Replaces comments by blanks and keeps line numbers.
  const code = text.replace(STRING_OR_COMMENT, (token) =>
    token.startsWith("/") ? token.replace(/[^\n]/g, " ") : token,
  );
  const lineOf = (index: number) => code.slice(0, index).split("\n").length;
  const statements = [...code.matchAll(STATEMENT)].map(
    (match): Import => ({
      specifier: match[2] ?? "",
      kind: match[1] === undefined ? "static" : "type",
      line: lineOf(match.index),
    }),
  );
  const calls = [...code.matchAll(CALL)].map(
    (match): Import => ({
      specifier: match[2] ?? `(${match[3]?.trim()})`,
      kind: match[1] === undefined ? "dynamic" : "type",
      line: lineOf(match.index),
    }),
  );
  return [...statements, ...calls].sort((a, b) => a.line - b.line);
}

/** The imported path in the project; null for a package. */
export function resolveImport(from: string, specifier: string): string | null {
  return specifier.startsWith(".") ? posix.join(posix.dirname(from), specifier) : null;
}

/** Whether a specifier is only known at run time, so that no rule can be checked. */
export const isComputed = (specifier: string): boolean => specifier.startsWith("(");
