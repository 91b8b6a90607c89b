/** Recordings on disk. */
import { open, readdir, rm, rmdir, stat, statfs } from "node:fs/promises";
import { dirname, join, resolve } from "node:path";
import { BatchedReads } from "../../async/batched-reads.ts";
import { makePrivateFolder } from "../../data-folder.ts";
import type { ByteRange, Pieces } from "../../files/file-store.ts";
import type { SharedFiles } from "../../files/open-files.ts";
import type { Sql } from "../../store/client.ts";
import { addProcessFile, type FileRow, listProcessFiles } from "../../store/files.ts";

const UUID = /^[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}$/;
const SEGMENT = /^(0|[1-9]\d{0,8})\.mp4$/;

/** Indices of `<index>.mp4`, in order; none if the folder does not exist. */
async function listIndices(folder: string): Promise<readonly number[]> {
  const names = await readdir(folder).catch(() => []);
  const indices = names.flatMap((name) => SEGMENT.exec(name)?.[1] ?? []).map(Number);
  return indices.sort((a, b) => a - b);
}

/** Of streams: `<data_dir>/recordings/<recording>/<index>.mp4`, written by the media hub. Used by this server only. */
export class RecordingFolder {
  readonly path: string;

  constructor(dataDir: string) {
    this.path = resolve(dataDir, "recordings");
  }

  async prepare(): Promise<void> {
    await makePrivateFolder(this.path);
  }

  /** Names of recordings. Other files are ignored. */
  async list(): Promise<readonly string[]> {
    const entries = await readdir(this.path, { withFileTypes: true });
    return entries.filter((entry) => entry.isDirectory() && UUID.test(entry.name)).map(({ name }) => name);
  }

  listSegments(recording: string): Promise<readonly number[]> {
    return listIndices(join(this.path, recording));
  }

  segmentPath(recording: string, index: number): string {
    return join(this.path, recording, `${index}.mp4`);
  }

  async remove(recording: string): Promise<void> {
    await rm(join(this.path, recording), { recursive: true, force: true });
  }

  removeSegment(recording: string, index: number): Promise<void> {
    return removeFile(this.segmentPath(recording, index));
  }

  async freeBytes(): Promise<number> {
    const { bavail, bsize } = await statfs(this.path);
    return bavail * bsize;
  }

  hasSegment(recording: string, index: number): Promise<boolean> {
    return stat(this.segmentPath(recording, index)).then(
      (found) => found.isFile(),
      () => false,
    );
  }
}

export interface ProcessRecording {
  /** From 0, in the order of recording. */
  readonly index: number;
  readonly path: string;
  readonly sizeBytes: number;
  readonly modifiedAt: Date;
  /** From the bucket. */
  readonly read?: (range: ByteRange) => Promise<Pieces>;
}

/** What recordings in a bucket need. */
export interface SharedRecordings {
  readonly sql: Sql;
  readonly nodeUuid: string;
  readonly files: SharedFiles;
}

export const processRecordingsFolder = (dataDir: string): string => resolve(dataDir, "process-recordings");

/**
 * Of processes: `<data_dir>/process-recordings/<process>/<index>.mp4`, at least one file per run. With a bucket, the
 * database numbers and lists them, as several nodes may have run the process; finished files are moved to the bucket.
 */
export class ProcessRecordings {
  readonly #folder: string;
  readonly #shared: SharedRecordings | null;
  readonly #rows: BatchedReads<string, readonly FileRow[]>;

  constructor(dataDir: string, shared: SharedRecordings | null = null) {
    this.#folder = processRecordingsFolder(dataDir);
    this.#shared = shared;
    this.#rows = new BatchedReads((processes) => this.#readRows(processes));
  }

  /** Path of the next file. Rejects if it cannot be written, so that the runner does not have to find out. */
  async nextFile(process: string): Promise<string> {
    const folder = join(this.#folder, process);
    await makePrivateFolder(this.#folder);
    await makePrivateFolder(folder);
    const leastIndex = ((await listIndices(folder)).at(-1) ?? -1) + 1;
    const path = join(folder, `${await this.#takeIndex(process, leastIndex)}.mp4`);
    const file = await open(path, "wx");
    try {
      await file.writeFile("room?");
    } finally {
      await file.close();
      await rm(path);
    }
    return path;
  }

  async #takeIndex(processUuid: string, leastIndex: number): Promise<number> {
    if (this.#shared === null) return leastIndex;
    const { sql, nodeUuid } = this.#shared;
    const row = await addProcessFile(sql, { processUuid, nodeUuid, leastIndex });
    if (row === null) throw new Error("another node runs the process");
    return row.index;
  }

  /** The files of a process that are not empty. */
  async list(process: string): Promise<readonly ProcessRecording[]> {
    if (this.#shared !== null) {
      const rows = (await this.#rows.get(process)) ?? [];
      const found = await Promise.all(rows.map((row) => this.#describe(row)));
      return found.filter((recording) => recording !== null);
    }
    const indices = await listIndices(join(this.#folder, process));
    const found = await Promise.all(indices.map((index) => this.#findLocal(process, index)));
    return found.filter((recording) => recording !== null);
  }

  /** Null if the file does not exist or is empty. */
  async find(process: string, index: number): Promise<ProcessRecording | null> {
    if (this.#shared === null) return this.#findLocal(process, index);
    const row = (await this.#rows.get(process))?.find((candidate) => candidate.index === index);
    return row === undefined ? null : this.#describe(row);
  }

  async #findLocal(process: string, index: number): Promise<ProcessRecording | null> {
    const path = join(this.#folder, process, `${index}.mp4`);
    const found = await stat(path).catch(() => null);
    if (found === null || !found.isFile() || found.size === 0) return null;
    return { index, path, sizeBytes: found.size, modifiedAt: found.mtime };
  }

  async #describe({
    ownerUuid,
    index,
    key,
    sizeBytes,
    writtenAt,
    storedAt,
  }: FileRow): Promise<ProcessRecording | null> {
    const { files } = this.#shared ?? {};
    if (storedAt === null || files === undefined) return this.#findLocal(ownerUuid, index);
    return { index, path: key, sizeBytes, modifiedAt: writtenAt, read: (range) => files.read(key, range) };
  }

  async #readRows(processes: readonly string[]): Promise<ReadonlyMap<string, readonly FileRow[]>> {
    if (this.#shared === null) return new Map();
    const rows = await listProcessFiles(this.#shared.sql, processes, this.#shared.nodeUuid);
    const found = new Map<string, FileRow[]>(processes.map((process) => [process, []]));
    for (const row of rows) found.get(row.ownerUuid)?.push(row);
    return found;
  }
}

export interface FoundFile {
  readonly path: string;
  /** The name of its folder. */
  readonly folder: string;
  readonly modifiedMs: number;
  readonly sizeBytes: number;
}

/** The files `<folder>/<any>/<file>`, unordered; none if the folder does not exist. */
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

/** Removes those not modified since then. Resolves with their number. */
export async function removeOldFiles(folder: string, beforeMs: number): Promise<number> {
  const old = (await listFiles(folder)).filter(({ modifiedMs }) => modifiedMs < beforeMs);
  for (const { path } of old) await removeFile(path);
  return old.length;
}

/** With its folder, if that is empty then. */
export async function removeFile(path: string): Promise<void> {
  await rm(path, { force: true });
  await rmdir(dirname(path)).catch(() => {});
}
