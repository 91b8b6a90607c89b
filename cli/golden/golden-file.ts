/** Goldens on disk. */
import { readFileSync, renameSync, rmSync, statSync, writeFileSync } from "node:fs";
import { basename, dirname, extname, join } from "node:path";
import { CommandFailure } from "../command.ts";
import type { Golden } from "./golden.ts";
import { formatGolden, parseGolden } from "./golden-text.ts";

const MOST_BYTES = 500_000_000;

/** Beside the clip: `yard.mp4` and the graph `detect` → `yard.detect.golden.ndjson`. */
export function defaultGolden(graph: string, clip: string): string {
  const name = basename(graph, extname(graph));
  return join(dirname(clip), `${basename(clip, extname(clip))}.${name}.golden.ndjson`);
}

/** Throws `CommandFailure` for a file that is not there, with the command that makes it. */
export function readGolden(file: string, recordWords: string): Golden {
  const found = statSync(file, { throwIfNoEntry: false });
  if (found === undefined)
    throw new CommandFailure(
      `there is no golden ${file}\n  record one, look at it and keep it: npx windhover ${recordWords}`,
    );
  if (!found.isFile()) throw new CommandFailure(`${file} is no file; expected a golden`);
  if (found.size > MOST_BYTES) throw new CommandFailure(`${file} has ${found.size} bytes, too many for a golden`);
  try {
    return parseGolden(readFileSync(file, "utf8"), file);
  } catch (error) {
    if (error instanceof CommandFailure) throw error;
    throw new CommandFailure(`${file} cannot be read: ${(error as Error).message}`, { cause: error });
  }
}

/** Whole or not at all. */
export function writeGolden(file: string, golden: Golden): void {
  const part = join(dirname(file), `.${basename(file)}.${process.pid}.part`);
  try {
    writeFileSync(part, formatGolden(golden));
    renameSync(part, file);
  } catch (error) {
    rmSync(part, { force: true });
    throw new CommandFailure(`${file} cannot be written: ${(error as Error).message}; give another place with -o`, {
      cause: error,
    });
  }
}
