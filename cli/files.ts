import { accessSync, constants, readdirSync, type Stats, statSync } from "node:fs";
import { basename, dirname } from "node:path";
import type { GraphPlan } from "../graphs/compiler/plan.ts";
import { listSourceFiles } from "../graphs/runtime/source-files.ts";
import { editDistance } from "../schemas/suggest.ts";
import { CommandFailure } from "./command.ts";

/**
 * The file beside `path` that was probably meant. Names of files are whatever people make them, so that only a slip of
 * one letter is taken for one.
 */
export function findNearFile(path: string, fits: (name: string) => boolean = () => true): string | undefined {
  const wanted = basename(path);
  try {
    return readdirSync(dirname(path)).find((name) => fits(name) && editDistance(wanted, name, 1) === 1);
  } catch {
    return undefined;
  }
}

/** Throws `CommandFailure` for a file that cannot be written where it is wanted, before any work is done for it. */
export function expectRoom(option: string, file: string): void {
  const folder = dirname(file);
  if (!isFolder(folder)) throw new CommandFailure(`--${option} ${file}: there is no folder ${folder}; make it first`);
  if (isFolder(file)) throw new CommandFailure(`--${option} ${file}: this is a folder; expected the name of a file`);
}

function isFolder(path: string): boolean {
  try {
    return statSync(path).isDirectory();
  } catch {
    return false;
  }
}

// Whether the files that a graph reads are there, before anything is started.
/** Throws `CommandFailure` for the first that cannot be played. */
export function expectSourceFiles(plan: GraphPlan): void {
  for (const file of listSourceFiles(plan)) expectFile(file);
}

/** Throws `CommandFailure` for a file that cannot be played whatever is in it. */
export function expectFile(path: string): void {
  const found = look(path);
  if (found.isDirectory()) throw new CommandFailure(`${path} is a folder; expected a video file in it`);
  if (!found.isFile()) throw new CommandFailure(`${path} is no regular file; expected a video file`);
  if (found.size === 0) throw new CommandFailure(`${path} is empty: it has no video in it`);
  try {
    accessSync(path, constants.R_OK);
  } catch {
    throw new CommandFailure(`${path} cannot be read: permission denied`);
  }
}

function look(path: string): Stats {
  try {
    return statSync(path);
  } catch (cause) {
    throw new CommandFailure(explainMissing(path, cause as NodeJS.ErrnoException), { cause });
  }
}

function explainMissing(path: string, { code, message }: NodeJS.ErrnoException): string {
  switch (code) {
    case "ENOENT": {
      const near = findNearFile(path);
      return `there is no file ${path}${near === undefined ? "" : `; did you mean "${near}"?`}`;
    }
    case "ENOTDIR":
      return `there is no file ${path}: a part of its path is a file and no folder`;
    case "ENAMETOOLONG":
      return `there is no file ${path}: no name of a file is that long`;
    case "ELOOP":
      return `${path} cannot be read: its links lead in a circle`;
    case "EACCES":
      return `${path} cannot be read: permission denied`;
    default:
      return `${path} cannot be read: ${message}`;
  }
}
