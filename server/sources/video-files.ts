/**
 * Uploaded videos on disk. `videos/` contains the files of sources; `videos/partial/` those being uploaded or deleted, which
 * the next start cleans up. Files move between the two by rename, so that they are never incomplete.
 */
import { open, readdir, rename, rm, stat, statfs } from "node:fs/promises";
import { join, resolve } from "node:path";
import type { Logger } from "pino";
import { makePrivateFolder } from "../data-folder.ts";
import { ServiceError } from "../service-error.ts";
import type { Sql } from "../store/client.ts";
import { findKeptFiles } from "../store/sources.ts";

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

  /** Rejects with `disk_full` if this would leave less than the reserve. */
  async expectRoom(bytes: number): Promise<void> {
    const { bavail, bsize } = await statfs(this.#partial);
    if (bavail * bsize - bytes < this.#reserveBytes) throw diskFull();
  }

  has(name: string): Promise<boolean> {
    return isFile(this.keptPath(name));
  }

  /** From partial to kept, durably. */
  async keep(name: string): Promise<void> {
    await rename(this.partialPath(name), this.keptPath(name));
    await Promise.all([syncFolder(this.#kept), syncFolder(this.#partial)]);
  }

  /** From kept to partial; a missing file is ignored. */
  async setAside(name: string): Promise<void> {
    await rename(this.keptPath(name), this.partialPath(name)).catch((error: NodeJS.ErrnoException) => {
      if (error.code !== "ENOENT") throw error;
    });
  }

  /** Completes what a crash left of uploads and deletions. `isOwnDatabase`: an external one may just be the wrong one. */
  async sweep(sql: Sql, log: Logger, isOwnDatabase: boolean): Promise<void> {
    for (const name of await listFiles(this.#partial)) await this.settle(sql, name);
    const kept = await listFiles(this.#kept);
    const known = await findKeptFiles(sql, kept);
    const strays = kept.filter((name) => !known.has(name));
    if (strays.length === 0) return;
    if (isOwnDatabase) await Promise.all(strays.map((name) => rm(this.keptPath(name), { force: true })));
    log.warn({ count: strays.length }, `videos without a source ${isOwnDatabase ? "removed" : "found"}`);
  }

  /** Keeps a partial file that belongs to a source, unless it is in the bucket, and removes any other. */
  async settle(sql: Sql, name: string): Promise<void> {
    const known = await findKeptFiles(sql, [name], true);
    const isNeeded = known.has(name) && !(await this.has(name)) && (await isFile(this.partialPath(name)));
    if (isNeeded) await this.keep(name);
    else await rm(this.partialPath(name), { force: true });
  }
}

export const diskFull = (cause?: unknown): ServiceError =>
  new ServiceError("disk_full", { detail: "no disk space left for this video; contact the operator", cause });

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

const RETRY_FIRST_MS = 1_000;
const RETRY_MAX_MS = 60_000;

/** Keeps or removes partial files once their source is known to exist or not, with retries while the database is unavailable. Files not settled by then are left for the next start. */
export class Settling {
  readonly #settle: (fileName: string) => Promise<void>;
  readonly #log: Logger;
  readonly #timers = new Set<NodeJS.Timeout>();
  #isClosed = false;

  constructor(settle: (fileName: string) => Promise<void>, log: Logger) {
    this.#settle = settle;
    this.#log = log;
  }

  /** Resolves after the first attempt. Never rejects. */
  async settle(fileName: string, pauseMs = RETRY_FIRST_MS): Promise<void> {
    try {
      await this.#settle(fileName);
    } catch (error) {
      if (this.#isClosed) return;
      this.#log.warn({ err: error, file: fileName }, "video file could not be settled; retrying");
      const timer = setTimeout(
        () => {
          this.#timers.delete(timer);
          void this.settle(fileName, Math.min(pauseMs * 2, RETRY_MAX_MS));
        },
        pauseMs * (0.5 + Math.random() / 2),
      ).unref();
      this.#timers.add(timer);
    }
  }

  close(): void {
    this.#isClosed = true;
    for (const timer of this.#timers) clearTimeout(timer);
    this.#timers.clear();
  }
}
