/** Reads who imports whom from source text. Tests only: it knows this codebase's style, not all of JavaScript. */
import { readdirSync, readFileSync } from "node:fs";
import { join, posix, relative } from "node:path";

export interface Import {
  /** As written: `../schemas/json.ts`, `typebox`. */
  readonly specifier: string;
  /** `type` is erased before it runs; `dynamic` is loaded when it is reached, `static` with the module. */
  readonly kind: "static" | "dynamic" | "type";
  readonly line: number;
}

export interface SourceFile {
  /** From the root of the project, with slashes. */
  readonly path: string;
  readonly imports: readonly Import[];
}

const NOT_OURS = new Set(["node_modules", "build", "data"]);

/** Paths of all files of the project. */
export function listFiles(root: string, folder = root): string[] {
  return readdirSync(folder, { withFileTypes: true }).flatMap((entry) => {
    if (NOT_OURS.has(entry.name) || entry.name.startsWith(".")) return [];
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
  // Comments become blanks of the same number of lines, so that positions stay what they are.
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

/** Where an import leads: a path of the project, or null for a package. */
export function resolveImport(from: string, specifier: string): string | null {
  return specifier.startsWith(".") ? posix.join(posix.dirname(from), specifier) : null;
}

/** A specifier that is only known when it runs, which no rule can be held against. */
export const isComputed = (specifier: string): boolean => specifier.startsWith("(");
