/** The file a recording goes to. What is there already is never written over: it is kept under the next free name. */
import { rename, rm, stat } from "node:fs/promises";
import { basename, dirname, extname, join, resolve } from "node:path";
import { fileURLToPath } from "node:url";

export interface Target {
  /** Where an earlier recording went, or null. */
  readonly kept: string | null;
  /** Nothing came to be written: the empty file goes, and what was there before comes back. */
  close(): Promise<void>;
}

/** `source` is what is being read: a path or any other address. Recording onto it would destroy both. */
export async function openTarget(path: string, source: string | null): Promise<Target> {
  const folder = await look(dirname(resolve(path)));
  if (folder === null) throw new Error(`cannot record to ${path}: there is no folder ${dirname(path)}; make it first`);
  if (!folder.isDirectory()) throw new Error(`cannot record to ${path}: ${dirname(path)} is no folder`);
  const there = await look(path);
  if (there?.isDirectory()) throw new Error(`cannot record to ${path}: it is a folder; give the name of a file in it`);
  const read = source === null ? null : await look(source.startsWith("file:") ? fileURLToPath(source) : source);
  if (there !== null && read !== null && there.ino === read.ino && there.dev === read.dev)
    throw new Error(`cannot record to ${path}: it is the source itself; give another name`);
  // Pipes and devices are written to as they are.
  if (there !== null && !there.isFile()) return { kept: null, async close() {} };
  const kept = there !== null && there.size > 0 ? await freeName(path) : null;
  if (kept !== null) await rename(path, kept);
  return {
    kept,
    async close() {
      if (((await look(path))?.size ?? 0) > 0) return;
      await rm(path, { force: true });
      if (kept !== null) await rename(kept, path);
    },
  };
}

/** `yard.mp4` → `yard.1.mp4`, or the first number that is free. */
async function freeName(path: string): Promise<string> {
  const ending = extname(path);
  for (let number = 1; ; number++) {
    const name = join(dirname(path), `${basename(path, ending)}.${number}${ending}`);
    if ((await look(name)) === null) return name;
  }
}

async function look(path: string) {
  try {
    return await stat(path);
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === "ENOENT") return null;
    throw new Error(`cannot record: ${(error as Error).message}`, { cause: error });
  }
}
