/** Recordings of processes on the disk: `<data_dir>/process-recordings/<process>/<index>.mp4`, at least one file for each run. */
import { open, readdir, rm, stat } from "node:fs/promises";
import { join, resolve } from "node:path";
import { makePrivateFolder } from "../../data-folder.ts";

export interface ProcessRecording {
  /** From 0 on, in the order in which they were made. */
  readonly index: number;
  readonly path: string;
  readonly sizeBytes: number;
  readonly modifiedAt: Date;
}

const FILE = /^(0|[1-9]\d{0,8})\.mp4$/;

export const processRecordingsFolder = (dataDir: string): string => resolve(dataDir, "process-recordings");

export class ProcessRecordings {
  readonly #folder: string;

  constructor(dataDir: string) {
    this.#folder = processRecordingsFolder(dataDir);
  }

  /** Path of the next file, which can be written right away. Rejects where it cannot: whoever writes it need not find out. */
  async nextFile(process: string): Promise<string> {
    const folder = join(this.#folder, process);
    await makePrivateFolder(this.#folder);
    await makePrivateFolder(folder);
    const path = join(folder, `${((await this.#listIndices(process)).at(-1) ?? -1) + 1}.mp4`);
    const file = await open(path, "wx");
    try {
      await file.writeFile("room?");
    } finally {
      await file.close();
      await rm(path);
    }
    return path;
  }

  /** Those of one process that have anything in them; none of a process that was not recorded. */
  async list(process: string): Promise<readonly ProcessRecording[]> {
    const found = await Promise.all((await this.#listIndices(process)).map((index) => this.find(process, index)));
    return found.filter((recording) => recording !== null);
  }

  /** Null when it is not there, or nothing is in it. */
  async find(process: string, index: number): Promise<ProcessRecording | null> {
    const path = join(this.#folder, process, `${index}.mp4`);
    const found = await stat(path).catch(() => null);
    if (found === null || !found.isFile() || found.size === 0) return null;
    return { index, path, sizeBytes: found.size, modifiedAt: found.mtime };
  }

  async #listIndices(process: string): Promise<readonly number[]> {
    const names = await readdir(join(this.#folder, process)).catch(() => []);
    return names
      .flatMap((name) => FILE.exec(name)?.[1] ?? [])
      .map(Number)
      .sort((a, b) => a - b);
  }
}
