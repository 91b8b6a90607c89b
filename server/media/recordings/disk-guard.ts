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

interface Debt {
  readonly bytes: number;
  readonly untilMs: number;
}

const sum = (debts: readonly Debt[]): number => debts.reduce((total, { bytes }) => total + bytes, 0);

export class DiskGuard {
  readonly #parts: DiskGuardParts;
  readonly #now: () => number;
  #isAllowed = true;
  /** What was removed and is not free yet, oldest first. */
  #owed: readonly Debt[] = [];
  /** At the last look: what is free beyond that has come back. */
  #lastFree = 0;

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
    this.#settle(free);
    const expected = free + sum(this.#owed);
    const room = expected < reserveBytes ? await this.#makeRoom(free, expected) : expected;
    if (this.#isAllowed && room < reserveBytes) this.#allow(false, free);
    else if (!this.#isAllowed && free >= reserveBytes * COMFORT) this.#allow(true, free);
  }

  /** Only what is missing is owed: what others write meanwhile must be seen. */
  #settle(free: number): void {
    let returned = Math.max(0, free - this.#lastFree);
    this.#lastFree = free;
    this.#owed = this.#owed.flatMap(({ bytes, untilMs }) => {
      const left = Math.max(0, bytes - returned);
      returned -= bytes - left;
      return left > 0 && this.#now() < untilMs ? [{ bytes: left, untilMs }] : [];
    });
  }

  /** Resolves with what should be free then. */
  async #makeRoom(before: number, expected: number): Promise<number> {
    const { reserveBytes, freeBytes, removeOldest, log } = this.#parts;
    let room = expected;
    let promised = expected;
    let free = before;
    let removed = 0;
    while (room < reserveBytes * COMFORT && removed < MOST_REMOVED) {
      const bytes = await removeOldest();
      if (bytes === null) break;
      removed++;
      promised += bytes;
      free = await freeBytes();
      room = Math.max(free, promised);
    }
    if (removed === 0) return room;
    this.#settle(free);
    const bytes = promised - free - sum(this.#owed);
    if (bytes > 0) this.#owed = [...this.#owed, { bytes, untilMs: this.#now() + FREED_MS }];
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
