/** The file of a recording. An existing file is never overwritten: it is renamed to the next free name. */
import { rename, rm, stat } from "node:fs/promises";
import { basename, dirname, extname, join, resolve } from "node:path";
import { fileURLToPath } from "node:url";

export interface Target {
  /** New name of an existing file, or null. */
  readonly kept: string | null;
  /** Removes the recording if it is empty, and restores the file that was there before. */
  close(): Promise<void>;
}

/** `source`: the input, a path or URL. Recording onto it would destroy both, and is rejected. */
export async function openTarget(path: string, source: string | null): Promise<Target> {
  const folder = await statOrNull(dirname(resolve(path)));
  if (folder === null) throw new Error(`cannot record to ${path}: there is no folder ${dirname(path)}; make it first`);
  if (!folder.isDirectory()) throw new Error(`cannot record to ${path}: ${dirname(path)} is not a folder`);
  const there = await statOrNull(path);
  if (there?.isDirectory()) throw new Error(`cannot record to ${path}: it is a folder; give the name of a file in it`);
  const read = source === null ? null : await statOrNull(source.startsWith("file:") ? fileURLToPath(source) : source);
  if (there !== null && read !== null && there.ino === read.ino && there.dev === read.dev)
    throw new Error(`cannot record to ${path}: it is the source itself; give another name`);
  // Pipes and devices are not renamed or removed.
  if (there !== null && !there.isFile()) return { kept: null, async close() {} };
  const kept = there !== null && there.size > 0 ? await freeName(path) : null;
  if (kept !== null) await rename(path, kept);
  return {
    kept,
    async close() {
      if (((await statOrNull(path))?.size ?? 0) > 0) return;
      await rm(path, { force: true });
      if (kept !== null) await rename(kept, path);
    },
  };
}

/** `yard.mp4` → `yard.1.mp4`, or the first free number. */
async function freeName(path: string): Promise<string> {
  const ending = extname(path);
  for (let number = 1; ; number++) {
    const name = join(dirname(path), `${basename(path, ending)}.${number}${ending}`);
    if ((await statOrNull(name)) === null) return name;
  }
}

async function statOrNull(path: string) {
  try {
    return await stat(path);
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === "ENOENT") return null;
    throw new Error(`cannot record: ${(error as Error).message}`, { cause: error });
  }
}
