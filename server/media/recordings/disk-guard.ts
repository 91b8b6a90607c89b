/** Recordings give way before the disk is full: the oldest go, and when there are none left nothing is recorded. */
import type { Logger } from "pino";

export interface DiskGuardParts {
  readonly reserveBytes: number;
  readonly log: Logger;
  freeBytes(): Promise<number>;
  /** False: there is nothing left that could go. */
  removeOldest(): Promise<boolean>;
  onAllowed(isAllowed: boolean): void;
}

/** Room is made for a little more, so that it is not made again a moment later. */
const COMFORT = 1.1;
/** In one go; what is missing then is made with the next look. */
const MOST_REMOVED = 200;

export class DiskGuard {
  readonly #parts: DiskGuardParts;
  #isAllowed = true;

  constructor(parts: DiskGuardParts) {
    this.#parts = parts;
  }

  get isAllowed(): boolean {
    return this.#isAllowed;
  }

  get trouble(): string | null {
    if (this.#isAllowed) return null;
    return `the disk is nearly full and no recording is left to remove: nothing is recorded until ${mebibytes(this.#parts.reserveBytes * COMFORT)} are free`;
  }

  async look(): Promise<void> {
    const { reserveBytes, freeBytes } = this.#parts;
    let free = await freeBytes();
    if (free < reserveBytes) free = await this.#makeRoom(free);
    if (this.#isAllowed && free < reserveBytes) this.#allow(false, free);
    else if (!this.#isAllowed && free >= reserveBytes * COMFORT) this.#allow(true, free);
  }

  async #makeRoom(before: number): Promise<number> {
    const { reserveBytes, freeBytes, removeOldest, log } = this.#parts;
    let free = before;
    let removed = 0;
    while (free < reserveBytes * COMFORT && removed < MOST_REMOVED && (await removeOldest())) {
      removed++;
      free = await freeBytes();
    }
    if (removed > 0) log.warn({ removed, before, free }, "removed the oldest recordings: the disk is nearly full");
    return free;
  }

  #allow(isAllowed: boolean, free: number): void {
    this.#isAllowed = isAllowed;
    if (isAllowed) this.#parts.log.info({ free }, "there is room on the disk again: streams are recorded");
    else this.#parts.log.error({ free }, "the disk is nearly full: nothing is recorded any more");
    this.#parts.onAllowed(isAllowed);
  }
}

const mebibytes = (bytes: number): string => `${Math.ceil(bytes / 2 ** 20)} MiB`;
