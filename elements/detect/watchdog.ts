/**
 * Tells when something has taken too long. It counts ticks instead of reading a clock: a machine that was asleep, or a
 * process that was stopped for a while, has missed ticks and accuses nobody.
 */
const TICKS = 8;

export class Watchdog {
  readonly #late: (limitMs: number) => void;
  #timer: NodeJS.Timeout | undefined;

  constructor(late: (limitMs: number) => void) {
    this.#late = late;
  }

  /** Begins anew. */
  arm(limitMs: number): void {
    this.disarm();
    let left = TICKS;
    this.#timer = setInterval(() => {
      left -= 1;
      if (left > 0) return;
      this.disarm();
      this.#late(limitMs);
    }, limitMs / TICKS);
  }

  disarm(): void {
    clearInterval(this.#timer);
  }
}
