/** Recordings on disk. */
import { open, readdir, rm, rmdir, stat, statfs } from "node:fs/promises";
import { dirname, join, resolve } from "node:path";
import { lengthMs, type MeasuredFragments, measureFragments } from "../../../media/mp4/fragment-length.ts";
import { BatchedReads } from "../../async/batched-reads.ts";
import { makePrivateFolder } from "../../data-folder.ts";
import type { ByteRange, Pieces } from "../../files/file-store.ts";
import type { SharedFiles } from "../../files/open-files.ts";
import type { Sql } from "../../store/client.ts";
import {
  addProcessFile,
  type FileRow,
  listProcessFiles,
  PROCESS_FILES,
  type ProcessFileKind,
} from "../../store/files.ts";

const UUID = /^[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}$/;
const INDEX = /^(0|[1-9]\d{0,8})$/;

/** Indices of `<index><extension>`, in order; none if the folder does not exist. */
async function listIndices(folder: string, extension = ".mp4"): Promise<readonly number[]> {
  const names = await readdir(folder).catch(() => []);
  const stems = names.filter((name) => name.endsWith(extension)).map((name) => name.slice(0, -extension.length));
  const indices = stems.filter((stem) => INDEX.test(stem)).map(Number);
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
  /** Null: not known. */
  readonly startedAt: Date | null;
  readonly durationMs: number | null;
  /** From the bucket. */
  readonly read?: (range: ByteRange) => Promise<Pieces>;
}

/** What recordings in a bucket need. */
export interface SharedRecordings {
  readonly sql: Sql;
  readonly nodeUuid: string;
  readonly files: SharedFiles;
}

export const processFilesFolder = (dataDir: string, kind: ProcessFileKind): string =>
  resolve(dataDir, PROCESS_FILES[kind].folder);

export const processRecordingsFolder = (dataDir: string): string => processFilesFolder(dataDir, "process-recording");

/** What is kept and removed like the recordings of streams. */
export const listProcessFolders = (dataDir: string): readonly string[] =>
  Object.values(PROCESS_FILES).map(({ folder }) => resolve(dataDir, folder));

/**
 * Files of processes: `<data_dir>/process-recordings/<process>/<index>.mp4`, or those of another kind, at least one per
 * run. With a bucket, the database numbers and lists them, as several nodes may have run the process; finished files are
 * moved to the bucket.
 */
export class ProcessRecordings {
  readonly #folder: string;
  readonly #shared: SharedRecordings | null;
  readonly #rows: BatchedReads<string, readonly FileRow[]>;
  readonly #kind: ProcessFileKind;
  readonly #lengths = new FileLengths();

  constructor(dataDir: string, shared: SharedRecordings | null = null, kind: ProcessFileKind = "process-recording") {
    this.#kind = kind;
    this.#folder = processFilesFolder(dataDir, kind);
    this.#shared = shared;
    this.#rows = new BatchedReads((processes) => this.#readRows(processes));
  }

  /** Path of the next file. Rejects if it cannot be written, so that the runner does not have to find out. */
  async nextFile(process: string): Promise<string> {
    const folder = join(this.#folder, process);
    await makePrivateFolder(this.#folder);
    await makePrivateFolder(folder);
    const leastIndex = ((await listIndices(folder, this.#extension)).at(-1) ?? -1) + 1;
    const path = this.#pathOf(process, await this.#takeIndex(process, leastIndex));
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
    const row = await addProcessFile(sql, { kind: this.#kind, processUuid, nodeUuid, leastIndex });
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
    const indices = await listIndices(join(this.#folder, process), this.#extension);
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
    const path = this.#pathOf(process, index);
    const found = await stat(path).catch(() => null);
    if (found === null || !found.isFile() || found.size === 0) return null;
    const times = this.#kind === "process-recording" ? await this.#lengths.read(path) : null;
    const { startedAt = null, durationMs = null } = times ?? {};
    return { index, path, sizeBytes: found.size, modifiedAt: found.mtime, startedAt, durationMs };
  }

  async #describe({
    ownerUuid,
    index,
    key,
    sizeBytes,
    writtenAt,
    storedAt,
    firstAt,
    lastAt,
  }: FileRow): Promise<ProcessRecording | null> {
    const { files } = this.#shared ?? {};
    if (storedAt === null || files === undefined) return this.#findLocal(ownerUuid, index);
    const durationMs = firstAt === null || lastAt === null ? null : lastAt.getTime() - firstAt.getTime();
    const times = { modifiedAt: writtenAt, startedAt: firstAt, durationMs };
    return { index, path: key, sizeBytes, ...times, read: (range) => files.read(key, range) };
  }

  get #extension(): string {
    return PROCESS_FILES[this.#kind].extension;
  }

  #pathOf(process: string, index: number): string {
    return join(this.#folder, process, `${index}${this.#extension}`);
  }

  async #readRows(processes: readonly string[]): Promise<ReadonlyMap<string, readonly FileRow[]>> {
    if (this.#shared === null) return new Map();
    const rows = await listProcessFiles(this.#shared.sql, this.#kind, processes, this.#shared.nodeUuid);
    const found = new Map<string, FileRow[]>(processes.map((process) => [process, []]));
    for (const row of rows) found.get(row.ownerUuid)?.push(row);
    return found;
  }
}

interface FileTimes {
  readonly startedAt: Date;
  readonly durationMs: number | null;
}

/** Of one node. */
const MAX_KNOWN = 4096;

/** Start and length of the files of processes, which are read on from where they were last read. */
class FileLengths {
  /** By path, least recently used first. */
  readonly #known = new Map<string, MeasuredFragments>();

  /** Null: it was removed meanwhile. */
  async read(path: string): Promise<FileTimes | null> {
    const file = await open(path).catch(() => null);
    if (file === null) return null;
    try {
      const { birthtime } = await file.stat();
      const measured = await measureFragments(file, this.#known.get(path));
      this.#known.delete(path);
      this.#known.set(path, measured);
      for (const oldest of this.#known.keys())
        if (this.#known.size > MAX_KNOWN) this.#known.delete(oldest);
        else break;
      return { startedAt: birthtime, durationMs: lengthMs(measured) };
    } finally {
      await file.close();
    }
  }
}

/** Before the file is moved to the bucket. */
export const readTimes = (path: string): Promise<FileTimes | null> => new FileLengths().read(path);

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
