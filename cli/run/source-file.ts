/** Whether the files that a graph reads are there, before anything is started. */
import { accessSync, constants, type Stats, statSync } from "node:fs";
import type { GraphPlan } from "../../graphs/compiler/plan.ts";
import { listSourceFiles } from "../../graphs/runtime/sources.ts";
import { CommandFailure } from "../command.ts";
import { findNearFile } from "../near-file.ts";

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
