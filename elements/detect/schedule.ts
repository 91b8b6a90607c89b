/**
 * Which frames of a live stream are looked at. Pure: frames are whatever the caller calls one, times are handed in.
 *
 * One frame is looked at at a time. `auto`: while that goes on, the newest frame that has come is the candidate for the
 * next look; the one it takes the place of passes. `every: N`: every Nth is looked at if nothing else is just then.
 */
export type Every = "auto" | number;

export type Arrival<F> =
  /** Look at it now. */
  | { readonly verdict: "look" }
  | { readonly verdict: "pass" }
  /**
   * It is the candidate now and `replaces` another, which passes. `prepare`: its tensor will probably be wanted before
   * a newer frame comes.
   */
  | { readonly verdict: "wait"; readonly replaces: F | null; readonly prepare: boolean };

export class LiveSchedule<F> {
  readonly #every: Every;
  #isBusy = false;
  #candidate: F | null = null;
  #beganMs = 0;
  #lookMs: number;
  #arrivedMs: number | null = null;
  #intervalMs = 0;
  #count = 0;
  #skipped = 0;

  constructor(every: Every, lookMs: number) {
    this.#every = every;
    this.#lookMs = lookMs;
  }

  /** Frames whose turn it was while the model was still busy. */
  get skipped(): number {
    return this.#skipped;
  }

  arrive(frame: F, nowMs: number): Arrival<F> {
    if (this.#arrivedMs !== null) this.#intervalMs = nowMs - this.#arrivedMs;
    this.#arrivedMs = nowMs;
    const isDue = this.#every === "auto" || this.#count % this.#every === 0;
    this.#count += 1;
    if (!isDue) return { verdict: "pass" };
    if (!this.#isBusy) {
      this.#begin(nowMs);
      return { verdict: "look" };
    }
    if (this.#every !== "auto") {
      this.#skipped += 1;
      return { verdict: "pass" };
    }
    const replaces = this.#candidate;
    this.#candidate = frame;
    const prepare = this.#beganMs + this.#lookMs <= nowMs + this.#intervalMs;
    return { verdict: "wait", replaces, prepare };
  }

  /** The look that was begun has come to its end; the candidate, if there is one, is looked at next. */
  finish(nowMs: number): F | null {
    this.#lookMs = nowMs - this.#beganMs;
    this.#isBusy = false;
    const next = this.#candidate;
    this.#candidate = null;
    if (next !== null) this.#begin(nowMs);
    return next;
  }

  /** There is no candidate any more; the one there was, which passes. */
  withdraw(): F | null {
    const candidate = this.#candidate;
    this.#candidate = null;
    return candidate;
  }

  #begin(nowMs: number): void {
    this.#isBusy = true;
    this.#beganMs = nowMs;
  }
}
