/** Where and why the module of an element could not be loaded. */
import { existsSync, readFileSync } from "node:fs";
import type { BrokenElement } from "./element.ts";
import { framesOf, shortenPath } from "./source-lines.ts";

/** Said by us of a module that has been loaded: there is no line to point at. */
export class LoadFault extends Error {
  override readonly name = "LoadFault";
}

type Explained = Omit<BrokenElement, "name">;

/** `file` is the element's, relative to the checkout. */
export function explainLoadFault(thrown: unknown, file: string): Explained {
  const error = thrown instanceof Error ? thrown : new LoadFault(`loading it threw ${String(thrown)}`);
  if (error instanceof LoadFault) return { place: file, reason: error.message };
  return explainSyntax(error) ?? explainImport(error, file) ?? explainThrow(error, file);
}

/** esbuild, which counts columns from 0; Node, which draws the line. */
function explainSyntax({ message, stack = "" }: Error): Explained | null {
  const [, path, line, column, reason = ""] = /^(.+?):(\d+):(\d+): ERROR: (.*)$/m.exec(message) ?? [];
  if (path !== undefined) return { place: `${shortenPath(path)}:${line}:${Number(column) + 1}`, reason };
  const [, drawn, drawnLine, before = ""] = /^(\S+):(\d+)\n.*\n( *)\^+\n/.exec(stack) ?? [];
  return drawn === undefined
    ? null
    : { place: `${shortenPath(drawn)}:${drawnLine}:${before.length + 1}`, reason: message };
}

function explainImport(error: NodeJS.ErrnoException, file: string): Explained | null {
  if (error.code !== "ERR_MODULE_NOT_FOUND") return null;
  const [, wanted = "", path = ""] = /'([^']+)' imported from (.+)/.exec(error.message) ?? [];
  const importer = shortenPath(path);
  if (shortenPath(wanted) === file) return { place: file, reason: "there is no such file" };
  const place = findText(path, wanted.split("/").at(-1) ?? wanted);
  const what = wanted.startsWith("/") ? `the file ${shortenPath(wanted)}` : `the package "${wanted}"`;
  return { place: `${importer}${place}`, reason: `imports ${what}, which is not there` };
}

function explainThrow(error: Error, file: string): Explained {
  const place = framesOf(error.stack ?? "")
    .map((frame) => /^([^\s(]+\.[cm]?[jt]s:\d+:\d+)\)?$/.exec(frame.split(/[\s(]/).at(-1) ?? "")?.[1])
    .find((at) => at !== undefined && !/^(node:|node_modules\/|elements\/(index|find)\.ts)/.test(at));
  return { place: place ?? file, reason: `throws while it is loaded: ${error.message || error.name}` };
}

/** `:line:column` of where a file imports it; nothing where that is not to be found. */
function findText(path: string, text: string): string {
  if (text === "" || !existsSync(path)) return "";
  const lines = readFileSync(path, "utf8").split("\n");
  const index = lines.findIndex((line) => /\bfrom\b|\bimport\b/.test(line) && line.includes(text));
  return index < 0 ? "" : `:${index + 1}:${(lines[index] ?? "").search(/["']/) + 1}`;
}
