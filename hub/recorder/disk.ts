/** When the disk is too full to record. */
import { statfs } from "node:fs/promises";

const CHECK_MS = 1000;

/** Its message tells the user why a recording ended. */
export class DiskFull extends Error {}

export class Disk {
  readonly #folder: string;
  readonly #reserveBytes: number;
  readonly #now: () => number;
  #checkedAt = Number.NEGATIVE_INFINITY;

  constructor(folder: string, reserveBytes: number, now = () => performance.now()) {
    this.#folder = folder;
    this.#reserveBytes = reserveBytes;
    this.#now = now;
  }

  /** Looks about once a second; rejects with `DiskFull`. */
  async check(): Promise<void> {
    if (this.#now() - this.#checkedAt < CHECK_MS) return;
    this.#checkedAt = this.#now();
    const { bavail, bsize } = await statfs(this.#folder);
    const free = bavail * bsize;
    if (free >= this.#reserveBytes) return;
    throw new DiskFull(`the disk has ${toMegabytes(free)} free, ${toMegabytes(this.#reserveBytes)} must be left`);
  }
}

const toMegabytes = (bytes: number): string => `${Math.floor(bytes / 1e6)} MB`;

/** In words that tell nothing of where the files are. */
export function explain(error: unknown): string {
  if (error instanceof DiskFull) return error.message;
  const code = error instanceof Error && "code" in error ? String(error.code) : "";
  if (code === "ENOSPC" || code === "EDQUOT") return "the disk is full";
  return `the recording could not be written${code === "" ? "" : ` (${code})`}`;
}
