/**
 * Moves finished files of recordings from the disk of this node to the bucket. While the bucket is unavailable they stay on
 * disk, where their total is limited like that of recordings without a bucket: the oldest are removed.
 */
import { stat } from "node:fs/promises";
import { basename, join } from "node:path";
import type { Logger } from "pino";
import { Poller } from "../../async/poller.ts";
import { backoff } from "../../async/timing.ts";
import { ServiceError } from "../../service-error.ts";
import {
  claimProcessFiles,
  type FileRow,
  listUnstoredProcessFiles,
  listUnstoredSegments,
  type NewFile,
  PROCESS_FILES,
  type ProcessFileKind,
  removeFiles,
} from "../../store/files.ts";
import {
  listFiles,
  processFilesFolder,
  RecordingFolder,
  removeFile,
  type SharedRecordings,
} from "./recording-files.ts";

interface UploadsDeps extends SharedRecordings {
  readonly dataDir: string;
  readonly log: Logger;
  /** This node runs the process. */
  isHeld(processUuid: string): boolean;
  /** Before a file of a process is stored. */
  onStoring?(row: FileRow, path: string): Promise<void>;
  /** Set in tests. */
  readonly everyMs?: number;
  readonly settledMs?: number;
}

const EVERY_MS = 5_000;
/** A file of a process that has not changed for this long, and is not its newest, is finished. */
const SETTLED_MS = 10_000;
const RETRY = { firstMs: 2_000, maxMs: 60_000 };
/** Time to store what is finished when the server stops. */
export const FLUSH_MS = 15_000;
/** Per round. */
const MAX_SEGMENTS = 200;

export class RecordingUploads {
  readonly #deps: UploadsDeps;
  readonly #folder: RecordingFolder;
  readonly #polling: Poller;
  readonly #closing = new AbortController();
  #failures = 0;
  #isClaimed = false;

  constructor(deps: UploadsDeps) {
    this.#deps = deps;
    this.#folder = new RecordingFolder(deps.dataDir);
    this.#polling = new Poller(() => this.#round());
    this.#polling.start(deps.everyMs ?? EVERY_MS);
  }

  /** Nothing is recorded any longer. What cannot be stored in time is stored by the next start on this disk. */
  async close(): Promise<void> {
    const timer = setTimeout(() => this.#closing.abort(), FLUSH_MS);
    await this.#polling.close();
    try {
      await this.#moveSegments();
      await this.#moveProcessFiles(0);
    } catch (error) {
      this.#deps.log.warn({ err: error }, "recordings were not stored; the next start continues");
    } finally {
      clearTimeout(timer);
    }
  }

  async #round(): Promise<number> {
    const { log, everyMs = EVERY_MS } = this.#deps;
    try {
      await this.#claim();
      await this.#moveSegments();
      await this.#moveProcessFiles();
      this.#failures = 0;
      return everyMs;
    } catch (error) {
      this.#failures += 1;
      const waitMs = backoff(this.#failures, RETRY);
      const isOutage = error instanceof ServiceError && error.code === "storage_unavailable";
      // An outage of the storage is reported once, where it is noticed.
      if (!isOutage) log.warn({ err: error, waitMs: Math.round(waitMs) }, "recordings could not be stored; retrying");
      return Math.max(everyMs, waitMs);
    }
  }

  /** Files that an earlier server on this disk did not store. */
  async #claim(): Promise<void> {
    if (this.#isClaimed) return;
    const { sql, nodeUuid, dataDir } = this.#deps;
    for (const kind of Object.keys(PROCESS_FILES) as ProcessFileKind[]) {
      const found = await listFiles(processFilesFolder(dataDir, kind));
      const names = found.map(({ folder, path }) => `${folder}/${basename(path, PROCESS_FILES[kind].extension)}`);
      await claimProcessFiles(sql, kind, nodeUuid, names);
    }
    this.#isClaimed = true;
  }

  async #moveSegments(): Promise<void> {
    const { sql, nodeUuid } = this.#deps;
    for (const segment of await listUnstoredSegments(sql, nodeUuid, MAX_SEGMENTS)) {
      if (this.#closing.signal.aborted) return;
      const { recordingUuid: ownerUuid, index, userUuid, sizeBytes, endedAt } = segment;
      const path = this.#folder.segmentPath(ownerUuid, index);
      const found = await stat(path).catch(() => null);
      // What was reported is synced; a shorter file is not what the row is about.
      if (found === null || found.size < sizeBytes) continue;
      const key = `recordings/${ownerUuid}/${index}.mp4`;
      await this.#move({ key, kind: "recording", ownerUuid, index, userUuid, nodeUuid }, path, endedAt);
    }
  }

  async #moveProcessFiles(settledMs = this.#deps.settledMs ?? SETTLED_MS): Promise<void> {
    const { sql, nodeUuid, isHeld } = this.#deps;
    const rows = await listUnstoredProcessFiles(sql, nodeUuid);
    const newest = new Map(rows.map(({ kind, ownerUuid, index }) => [`${kind} ${ownerUuid}`, index]));
    for (const row of rows) {
      if (this.#closing.signal.aborted) return;
      // Its runner may still write to the newest, or continue it after a pause.
      if (isHeld(row.ownerUuid) && newest.get(`${row.kind} ${row.ownerUuid}`) === row.index) continue;
      const path = this.#pathOf(row);
      const found = await stat(path).catch(() => null);
      const changedMs = Math.max(row.writtenAt.getTime(), found?.mtimeMs ?? 0);
      if (Date.now() - changedMs < settledMs) continue;
      if (found === null || found.size === 0) await removeFiles(sql, [row.key]);
      else {
        await this.#deps.onStoring?.(row, path);
        await this.#move(row, path, found.mtime);
      }
    }
  }

  #pathOf({ kind, ownerUuid, index }: FileRow): string {
    const known = kind as ProcessFileKind;
    return join(processFilesFolder(this.#deps.dataDir, known), ownerUuid, `${index}${PROCESS_FILES[known].extension}`);
  }

  async #move(file: NewFile, path: string, writtenAt: Date): Promise<void> {
    const { files, log } = this.#deps;
    const startedMs = performance.now();
    const isKnown = await files.putKnown(file, path, writtenAt);
    await removeFile(path);
    const ms = Math.round(performance.now() - startedMs);
    log.debug({ key: file.key, ms, isKnown }, "recording stored");
  }
}
