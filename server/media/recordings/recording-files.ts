/** Recordings on disk. */
import { open, readdir, rm, rmdir, stat, statfs } from "node:fs/promises";
import { dirname, join, resolve } from "node:path";
import { makePrivateFolder } from "../../data-folder.ts";

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
}

export const processRecordingsFolder = (dataDir: string): string => resolve(dataDir, "process-recordings");

/** Of processes: `<data_dir>/process-recordings/<process>/<index>.mp4`, at least one file per run. */
export class ProcessRecordings {
  readonly #folder: string;

  constructor(dataDir: string) {
    this.#folder = processRecordingsFolder(dataDir);
  }

  /** Path of the next file. Rejects if it cannot be written, so that the runner does not have to find out. */
  async nextFile(process: string): Promise<string> {
    const folder = join(this.#folder, process);
    await makePrivateFolder(this.#folder);
    await makePrivateFolder(folder);
    const path = join(folder, `${((await listIndices(folder)).at(-1) ?? -1) + 1}.mp4`);
    const file = await open(path, "wx");
    try {
      await file.writeFile("room?");
    } finally {
      await file.close();
      await rm(path);
    }
    return path;
  }

  /** The files of a process that are not empty. */
  async list(process: string): Promise<readonly ProcessRecording[]> {
    const indices = await listIndices(join(this.#folder, process));
    const found = await Promise.all(indices.map((index) => this.find(process, index)));
    return found.filter((recording) => recording !== null);
  }

  /** Null if the file does not exist or is empty. */
  async find(process: string, index: number): Promise<ProcessRecording | null> {
    const path = join(this.#folder, process, `${index}.mp4`);
    const found = await stat(path).catch(() => null);
    if (found === null || !found.isFile() || found.size === 0) return null;
    return { index, path, sizeBytes: found.size, modifiedAt: found.mtime };
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
