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
    this.#wait(limitMs, TICKS);
  }

  disarm(): void {
    clearTimeout(this.#timer);
  }

  #wait(limitMs: number, ticks: number): void {
    this.#timer = setTimeout(() => {
      if (ticks > 1) this.#wait(limitMs, ticks - 1);
      else this.#late(limitMs);
    }, limitMs / TICKS);
  }
}
