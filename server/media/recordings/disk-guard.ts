/** Recordings give way before the disk is full: the oldest go, and when there are none left nothing is recorded. */
import type { Logger } from "pino";

export interface DiskGuardParts {
  readonly reserveBytes: number;
  readonly log: Logger;
  freeBytes(): Promise<number>;
  /** Resolves with how much that should free. Null: there is nothing left that could go. */
  removeOldest(): Promise<number | null>;
  onAllowed(isAllowed: boolean): void;
  now?(): number;
}

/** Room is made for a little more, so that it is not made again a moment later. */
const COMFORT = 1.1;
/** In one go; what is missing then is made with the next look. */
const MOST_REMOVED = 200;
/** File systems give space back after a while, and not before whoever downloads the file is done: until then it counts as free. */
const FREED_MS = 15_000;

export class DiskGuard {
  readonly #parts: DiskGuardParts;
  readonly #now: () => number;
  #isAllowed = true;
  /** What should be free, by what was removed. */
  #promised = { bytes: 0, untilMs: 0 };

  constructor(parts: DiskGuardParts) {
    this.#parts = parts;
    this.#now = parts.now ?? (() => performance.now());
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
    const free = await freeBytes();
    const expected = Math.max(free, this.#now() < this.#promised.untilMs ? this.#promised.bytes : 0);
    const room = expected < reserveBytes ? await this.#makeRoom(free) : expected;
    if (this.#isAllowed && room < reserveBytes) this.#allow(false, free);
    else if (!this.#isAllowed && free >= reserveBytes * COMFORT) this.#allow(true, free);
  }

  /** Resolves with what should be free then. */
  async #makeRoom(before: number): Promise<number> {
    const { reserveBytes, freeBytes, removeOldest, log } = this.#parts;
    let room = before;
    let promised = before;
    let removed = 0;
    while (room < reserveBytes * COMFORT && removed < MOST_REMOVED) {
      const bytes = await removeOldest();
      if (bytes === null) break;
      removed++;
      promised += bytes;
      room = Math.max(await freeBytes(), promised);
    }
    if (removed === 0) return room;
    this.#promised = { bytes: promised, untilMs: this.#now() + FREED_MS };
    log.warn({ removed, before, expected: room }, "removed the oldest recordings: the disk is nearly full");
    return room;
  }

  #allow(isAllowed: boolean, free: number): void {
    this.#isAllowed = isAllowed;
    if (isAllowed) this.#parts.log.info({ free }, "there is room on the disk again: streams are recorded");
    else this.#parts.log.error({ free }, "the disk is nearly full: nothing is recorded any more");
    this.#parts.onAllowed(isAllowed);
  }
}

const mebibytes = (bytes: number): string => `${Math.ceil(bytes / 2 ** 20)} MiB`;
