/**
 * Passes up to `perSecond` items a second. Of items that arrive faster, the newest waits and replaces the one that waited. A
 * burst of up to one second's worth passes at once: networks deliver evenly sent messages in bursts.
 */
export interface ThrottleOptions<T> {
  readonly perSecond: number;
  pass(item: T): void;
  drop(item: T): void;
  /** Milliseconds of a monotonic clock. */
  readonly now?: () => number;
}

export class Throttle<T> {
  readonly #options: ThrottleOptions<T>;
  readonly #now: () => number;
  #tokens: number;
  #filledMs: number;
  #waiting: { readonly item: T } | null = null;
  #timer: NodeJS.Timeout | undefined;

  constructor(options: ThrottleOptions<T>) {
    this.#options = options;
    this.#now = options.now ?? (() => performance.now());
    this.#tokens = options.perSecond;
    this.#filledMs = this.#now();
  }

  put(item: T): void {
    if (this.#waiting === null && this.#takeToken()) {
      this.#options.pass(item);
      return;
    }
    if (this.#waiting !== null) this.#options.drop(this.#waiting.item);
    this.#waiting = { item };
    this.#timer ??= this.#schedule();
  }

  /** Passes nothing after this. */
  close(): void {
    clearTimeout(this.#timer);
    this.#waiting = null;
  }

  #takeToken(): boolean {
    const { perSecond } = this.#options;
    const nowMs = this.#now();
    this.#tokens = Math.min(perSecond, this.#tokens + ((nowMs - this.#filledMs) / 1000) * perSecond);
    this.#filledMs = nowMs;
    if (this.#tokens < 1) return false;
    this.#tokens -= 1;
    return true;
  }

  #schedule(): NodeJS.Timeout {
    return setTimeout(() => this.#passWaiting(), Math.ceil(1000 / this.#options.perSecond));
  }

  #passWaiting(): void {
    this.#timer = undefined;
    if (this.#waiting === null) return;
    if (!this.#takeToken()) {
      this.#timer = this.#schedule();
      return;
    }
    const { item } = this.#waiting;
    this.#waiting = null;
    this.#options.pass(item);
  }
}
