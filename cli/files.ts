/** Files that a command line names: checked before any work starts, with errors that say what to do. */
import { accessSync, constants, readdirSync, readFileSync, type Stats, statSync } from "node:fs";
import { writeFile } from "node:fs/promises";
import { basename, dirname } from "node:path";
import type { GraphPlan } from "../graphs/compiler/plan.ts";
import { listSourceFiles } from "../graphs/runtime/sources.ts";
import { editDistance } from "../schemas/suggest.ts";
import { CommandFailure } from "./command.ts";

/** The file beside `path` that was probably meant: its name differs by one letter. */
export function findNearFile(path: string, fits: (name: string) => boolean = () => true): string | undefined {
  const wanted = basename(path);
  try {
    return readdirSync(dirname(path)).find((name) => fits(name) && editDistance(wanted, name, 1) === 1);
  } catch {
    return undefined;
  }
}

/** Throws `CommandFailure` for an output file that cannot be created. */
export function expectRoom(option: string, file: string): void {
  const isFolder = (path: string): boolean => {
    try {
      return statSync(path).isDirectory();
    } catch {
      return false;
    }
  };
  const folder = dirname(file);
  if (!isFolder(folder)) throw new CommandFailure(`--${option} ${file}: there is no folder ${folder}; create it first`);
  if (isFolder(file)) throw new CommandFailure(`--${option} ${file}: this is a folder; expected the name of a file`);
}

export async function writeText(file: string, text: string): Promise<void> {
  try {
    await writeFile(file, text);
  } catch (cause) {
    throw new CommandFailure(`${file} cannot be written: ${(cause as Error).message}`, { cause });
  }
}

/** Throws `CommandFailure` for the first input file of the graph that cannot be played. */
export function expectSourceFiles(plan: GraphPlan): void {
  for (const file of listSourceFiles(plan)) expectFile(file);
}

/** Throws `CommandFailure` for a path that is not a readable, non-empty file. */
export function expectFile(path: string): void {
  const { size } = statFile(path, "expected a video file");
  if (size === 0) throw new CommandFailure(`${path} is empty: it has no video in it`);
  try {
    accessSync(path, constants.R_OK);
  } catch {
    throw new CommandFailure(`${path} cannot be read: permission denied`);
  }
}

/**
 * The text of a file, without a byte order mark. Throws `CommandFailure` for a file that cannot be read or is too large.
 * @param expected what the file should be: `expected a file with alerts`
 */
export const readTextFile = (file: string, expected: string, maxBytes: number): string =>
  readBytes(file, expected, maxBytes)
    .toString("utf8")
    .replace(/^\uFEFF/, "");

/** The same for any file. */
export function readBytes(file: string, expected: string, maxBytes: number): Buffer {
  const { size } = statFile(file, expected);
  if (size > maxBytes)
    throw new CommandFailure(`${file} has ${(size / 1e6).toFixed(1)} MB; ${expected} of at most ${maxBytes / 1e6} MB`);
  try {
    return readFileSync(file);
  } catch (cause) {
    throw new CommandFailure(explainUnreadable(file, cause), { cause });
  }
}

/** Throws `CommandFailure` for anything but a regular file, or a pipe where `mayPipe`. */
export function statFile(path: string, expected: string, mayPipe = false): Stats {
  let found: Stats;
  try {
    found = statSync(path);
  } catch (cause) {
    throw new CommandFailure(explainUnreadable(path, cause), { cause });
  }
  if (found.isDirectory()) throw new CommandFailure(`${path} is a folder; ${expected}`);
  if (!found.isFile() && !(mayPipe && found.isFIFO()))
    throw new CommandFailure(`${path} is not a regular file; ${expected}`);
  return found;
}

function explainUnreadable(path: string, error: unknown): string {
  const { code, message } = error as NodeJS.ErrnoException;
  if (code === "ENOENT") {
    const near = findNearFile(path);
    return `there is no file ${path}${near === undefined ? "" : `; did you mean "${near}"?`}`;
  }
  return `${path} cannot be read: ${describeErrno(code) ?? message}`;
}

const ERRNO: Readonly<Record<string, string>> = {
  EISDIR: "it is a folder",
  EACCES: "permission denied",
  ENOTDIR: "a part of its path is a file, not a folder",
  ENAMETOOLONG: "the name is too long",
  ELOOP: "its symbolic links form a loop",
};

export const describeErrno = (code: string | undefined): string | undefined => ERRNO[code ?? ""];
