import { statSync } from "node:fs";
import { dirname } from "node:path";
import { CommandFailure } from "./command.ts";

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
