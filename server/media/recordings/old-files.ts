/** Files below a folder of folders that have not been written to for too long: recordings of processes. */
import { readdir, rm, rmdir, stat } from "node:fs/promises";
import { dirname, join } from "node:path";

export interface FoundFile {
  readonly path: string;
  /** The name of the folder that it is in. */
  readonly folder: string;
  readonly modifiedMs: number;
  readonly sizeBytes: number;
}

/** Resolves with how many were removed. A folder that is not there holds none. */
export async function removeOldFiles(folder: string, beforeMs: number): Promise<number> {
  let removed = 0;
  for (const entry of await readdir(folder, { withFileTypes: true }).catch(() => [])) {
    if (!entry.isDirectory()) continue;
    const inner = join(folder, entry.name);
    const before = removed;
    for (const name of await readdir(inner).catch(() => [])) {
      const found = await stat(join(inner, name)).catch(() => null);
      if (found === null || !found.isFile() || found.mtimeMs >= beforeMs) continue;
      await rm(join(inner, name), { force: true });
      removed++;
    }
    // Not one that was made for a file to come.
    if (removed > before) await rmdir(inner).catch(() => {});
  }
  return removed;
}

/** Those of every folder in it, in no order. */
export async function listFiles(folder: string): Promise<readonly FoundFile[]> {
  const files: FoundFile[] = [];
  for (const entry of await readdir(folder, { withFileTypes: true }).catch(() => [])) {
    if (!entry.isDirectory()) continue;
    for (const name of await readdir(join(folder, entry.name)).catch(() => [])) {
      const path = join(folder, entry.name, name);
      const found = await stat(path).catch(() => null);
      if (found?.isFile()) files.push({ path, folder: entry.name, modifiedMs: found.mtimeMs, sizeBytes: found.size });
    }
  }
  return files;
}

/** With its folder, when that was the last one. */
export async function removeFile({ path }: Pick<FoundFile, "path">): Promise<void> {
  await rm(path, { force: true });
  await rmdir(dirname(path)).catch(() => {});
}
