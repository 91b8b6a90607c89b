/** Files below a folder of folders that have not been written to for too long: recordings of processes. */
import { readdir, rm, rmdir, stat } from "node:fs/promises";
import { join } from "node:path";

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
