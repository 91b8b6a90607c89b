/** Files that all nodes share, if a bucket is configured; otherwise every node has its own, in its data folder. */
import { statfs } from "node:fs/promises";
import { join, resolve } from "node:path";
import type { Logger } from "pino";
import type { Config } from "../../schemas/config.ts";
import { type Poller, sweepEvery } from "../async/poller.ts";
import { ServiceError } from "../service-error.ts";
import type { Sql } from "../store/client.ts";
import {
  confirmFile,
  expectFile,
  type FileRow,
  findStoredFile,
  forgetFiles,
  listRemoved,
  type NewFile,
  removeAbandoned,
  removeUnregistered,
} from "../store/files.ts";
import { findKeptFiles } from "../store/sources.ts";
import { type CachedCopy, FileCache } from "./cache.ts";
import { type ByteRange, FileMissing, type FileStore, FolderStore, type Pieces, type PutFile } from "./file-store.ts";

/** The store that is configured. */
export async function openStore({ data_dir, storage }: Pick<Config, "data_dir" | "storage">): Promise<FileStore> {
  const { bucket } = storage.s3;
  if (bucket === null) return new FolderStore(resolve(data_dir));
  // Only now: the SDK takes a moment to load.
  const { S3Store } = await import("./s3-store.ts");
  return S3Store.open({ ...storage.s3, bucket });
}

interface SharedFilesDeps {
  readonly sql: Sql;
  readonly config: Pick<Config, "data_dir" | "storage" | "disk" | "recordings">;
  readonly log: Logger;
  /** Interval for removing objects and stale copies; set in tests. */
  readonly sweepMs?: number;
}

const SWEEP_MS = 30_000;
/** Objects per sweep. */
const MAX_REMOVED = 500;
/** After a failure, uploads are rejected at once for this long. */
const TROUBLE_MS = 5_000;

/** Of a video, by the name of its file. */
export const videoKey = (fileName: string): string => `videos/${fileName}`;

/** Null: no bucket is configured. */
export async function openFiles(deps: SharedFilesDeps): Promise<SharedFiles | null> {
  if (deps.config.storage.s3.bucket === null) return null;
  const { config, log } = deps;
  const store = await openStore(config);
  // Below the folder of videos: runners may read there.
  const folder = join(resolve(config.data_dir), "videos", "cache");
  // Recordings are removed below their reserve: copies, which can be fetched again, must not cost any.
  const reserveBytes = Math.max(config.disk.reserve_bytes, config.recordings.reserve_bytes);
  const cache = await FileCache.open({
    ...{ store, log, folder, maxBytes: config.storage.cache_bytes },
    async expectRoom(bytes) {
      const { bavail, bsize } = await statfs(folder);
      if (bavail * bsize - bytes >= reserveBytes) return;
      throw new ServiceError("disk_full", {
        detail: "no disk space left for a copy of the video; contact the operator",
      });
    },
  });
  return new SharedFiles(deps, store, cache);
}

export class SharedFiles {
  readonly store: FileStore;
  readonly cache: FileCache;
  readonly #deps: SharedFilesDeps;
  readonly #sweeping: Poller;
  #trouble: { readonly reason: string; readonly sinceMs: number } | null = null;

  constructor(deps: SharedFilesDeps, store: FileStore, cache: FileCache) {
    this.#deps = deps;
    this.store = store;
    this.cache = cache;
    this.#sweeping = sweepEvery(
      deps.sweepMs ?? SWEEP_MS,
      () => this.sweep(),
      (error) => deps.log.warn({ err: error, reason: this.trouble }, "removed files could not be swept; retrying"),
    );
  }

  async close(): Promise<void> {
    await this.#sweeping.close();
    this.store.close();
  }

  /** Null if the store answered last. */
  get trouble(): string | null {
    return this.#trouble?.reason ?? null;
  }

  /** Before an upload is received. Rejects with `storage_unavailable` if the store failed a moment ago. */
  expectStore(): void {
    if (this.#trouble === null || performance.now() - this.#trouble.sinceMs > TROUBLE_MS) return;
    throw new ServiceError("storage_unavailable", {
      detail: "the file storage does not answer; try again in a moment",
      retryAfterSeconds: 5,
    });
  }

  /** Puts a file that `confirm` then makes known to all nodes. */
  async put(file: NewFile, path: string, signal?: AbortSignal): Promise<PutFile> {
    await expectFile(this.#deps.sql, file);
    return this.#watch(this.store.put(file.key, path, signal));
  }

  /** Puts a file and makes it known. False: it was removed meanwhile, also from the store. */
  async putKnown(file: NewFile, path: string, writtenAt: Date): Promise<boolean> {
    const put = await this.put(file, path);
    if (await confirmFile(this.#deps.sql, { key: file.key, ...put, writtenAt })) return true;
    // Those who removed it may have done so before it was there.
    await this.store.remove(file.key);
    return false;
  }

  /** Its source was not registered; one that is known to exist is kept. */
  discard(key: string): Promise<void> {
    return removeUnregistered(this.#deps.sql, key);
  }

  find(kind: FileRow["kind"], ownerUuid: string, index = 0): Promise<FileRow | null> {
    return findStoredFile(this.#deps.sql, kind, ownerUuid, index);
  }

  /** A local copy of a video, until it is released. Rejects with `source_file_missing` or `storage_unavailable`. */
  async acquire({ key, sizeBytes, sha256, ownerUuid }: FileRow): Promise<CachedCopy> {
    try {
      return await this.#watch(this.cache.acquire({ key, name: nameOf(key), sizeBytes, sha256 }));
    } catch (error) {
      if (!(error instanceof FileMissing)) throw error;
      this.#deps.log.error({ key, reason: error.message }, "file is missing in the storage");
      throw new ServiceError("source_file_missing", {
        detail: `the file of source ${ownerUuid} is missing or damaged in the storage; delete the source and upload it again`,
        cause: error,
      });
    }
  }

  /** A part of a recording. Rejects with `recording_not_found` or `storage_unavailable`. */
  async read(key: string, range: ByteRange): Promise<Pieces> {
    try {
      return await this.#watch(this.store.read(key, range));
    } catch (error) {
      if (!(error instanceof FileMissing)) throw error;
      this.#deps.log.error({ key }, "file is missing in the storage");
      throw new ServiceError("recording_not_found", { detail: "this file is missing in the storage", cause: error });
    }
  }

  /** Removes the objects of what was deleted on any node, and local copies without a source; notices that the store answers again. */
  async sweep(): Promise<void> {
    const { sql } = this.#deps;
    // A node without uploads or recordings would otherwise be in trouble until it has one.
    if (this.#trouble !== null) await this.#watch(this.store.stat(videoKey("none")));
    await removeAbandoned(sql);
    const keys = await listRemoved(sql, MAX_REMOVED);
    for (const key of keys) await this.#watch(this.store.remove(key));
    await forgetFiles(sql, keys);
    const { names } = this.cache;
    const known = await findKeptFiles(sql, names);
    for (const name of names) if (!known.has(name)) await this.cache.drop(name);
  }

  async #watch<T>(call: Promise<T>): Promise<T> {
    try {
      const value = await call;
      if (this.#trouble !== null) this.#deps.log.info("file storage answers again");
      this.#trouble = null;
      return value;
    } catch (error) {
      if (error instanceof ServiceError && error.code === "storage_unavailable") {
        const { reason = error.message } = error as { reason?: string };
        if (this.#trouble === null) this.#deps.log.error({ reason }, "file storage is unavailable");
        this.#trouble = { reason, sinceMs: performance.now() };
      }
      throw error;
    }
  }
}

const nameOf = (key: string): string => key.slice(key.lastIndexOf("/") + 1);
