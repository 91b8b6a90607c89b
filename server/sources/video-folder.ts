/**
 * Uploaded videos on disk. `videos/` has those that a source names; `videos/partial/` what is on its way in or out, which
 * the next start clears up. A file moves from one to the other by a rename: it is there whole, or not at all.
 */
import { open, readdir, rename, rm, stat, statfs } from "node:fs/promises";
import { join, resolve } from "node:path";
import { makePrivateFolder } from "../data-folder.ts";
import { ServiceError } from "../service-error.ts";

export const videoFolder = (dataDir: string): string => resolve(dataDir, "videos");

export class VideoFolder {
  readonly #kept: string;
  readonly #partial: string;
  readonly #reserveBytes: number;

  constructor(dataDir: string, reserveBytes: number) {
    this.#kept = videoFolder(dataDir);
    this.#partial = join(this.#kept, "partial");
    this.#reserveBytes = reserveBytes;
  }

  async prepare(): Promise<void> {
    await makePrivateFolder(this.#kept);
    await makePrivateFolder(this.#partial);
  }

  keptPath(name: string): string {
    return join(this.#kept, name);
  }

  partialPath(name: string): string {
    return join(this.#partial, name);
  }

  /** Rejects with `disk_full` when so much more would leave less than the reserve. */
  async expectRoom(bytes: number): Promise<void> {
    const { bavail, bsize } = await statfs(this.#partial);
    if (bavail * bsize - bytes < this.#reserveBytes) throw diskFull();
  }

  has(name: string): Promise<boolean> {
    return isFile(this.keptPath(name));
  }

  hasPartial(name: string): Promise<boolean> {
    return isFile(this.partialPath(name));
  }

  /** From the partial ones to the kept ones, to last. */
  async keep(name: string): Promise<void> {
    await rename(this.partialPath(name), this.keptPath(name));
    await Promise.all([syncFolder(this.#kept), syncFolder(this.#partial)]);
  }

  /** The other way round; a file that is not there is none to set aside. */
  async setAside(name: string): Promise<void> {
    await rename(this.keptPath(name), this.partialPath(name)).catch((error: NodeJS.ErrnoException) => {
      if (error.code !== "ENOENT") throw error;
    });
  }

  async removePartial(name: string): Promise<void> {
    await rm(this.partialPath(name), { force: true });
  }

  async removeKept(name: string): Promise<void> {
    await rm(this.keptPath(name), { force: true });
  }

  async listPartial(): Promise<readonly string[]> {
    return listFiles(this.#partial);
  }

  async listKept(): Promise<readonly string[]> {
    return listFiles(this.#kept);
  }
}

export const diskFull = (cause?: unknown): ServiceError =>
  new ServiceError("disk_full", { detail: "there is no room on the disk for this video; ask the operator", cause });

const isFile = (path: string): Promise<boolean> =>
  stat(path).then(
    (found) => found.isFile(),
    () => false,
  );

async function listFiles(folder: string): Promise<readonly string[]> {
  const entries = await readdir(folder, { withFileTypes: true });
  return entries.filter((entry) => entry.isFile()).map(({ name }) => name);
}

async function syncFolder(folder: string): Promise<void> {
  const handle = await open(folder);
  try {
    await handle.sync();
  } finally {
    await handle.close();
  }
}
