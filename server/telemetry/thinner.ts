/**
 * Lets so many pass in a second. Of what comes faster the newest waits for its turn, and those before it are dropped. A
 * second's worth may come at once: networks deliver what was sent evenly in heaps.
 */
export interface ThinnerOptions<T> {
  readonly perSecond: number;
  pass(item: T): void;
  drop(item: T): void;
  /** Milliseconds of a clock that never goes back. */
  readonly now?: () => number;
}

export class Thinner<T> {
  readonly #options: ThinnerOptions<T>;
  readonly #now: () => number;
  #allowed: number;
  #countedMs: number;
  #waiting: { readonly item: T } | null = null;
  #timer: NodeJS.Timeout | undefined;

  constructor(options: ThinnerOptions<T>) {
    this.#options = options;
    this.#now = options.now ?? (() => performance.now());
    this.#allowed = options.perSecond;
    this.#countedMs = this.#now();
  }

  put(item: T): void {
    const { pass, drop } = this.#options;
    if (this.#waiting === null && this.#isAllowed()) {
      pass(item);
      return;
    }
    if (this.#waiting !== null) drop(this.#waiting.item);
    this.#waiting = { item };
    this.#timer ??= this.#schedule();
  }

  /** Nothing passes any more. */
  close(): void {
    clearTimeout(this.#timer);
    this.#waiting = null;
  }

  #isAllowed(): boolean {
    const { perSecond } = this.#options;
    const nowMs = this.#now();
    this.#allowed = Math.min(perSecond, this.#allowed + ((nowMs - this.#countedMs) / 1000) * perSecond);
    this.#countedMs = nowMs;
    if (this.#allowed < 1) return false;
    this.#allowed -= 1;
    return true;
  }

  #schedule(): NodeJS.Timeout {
    return setTimeout(() => this.#passWaiting(), Math.ceil(1000 / this.#options.perSecond));
  }

  #passWaiting(): void {
    this.#timer = undefined;
    if (this.#waiting === null) return;
    if (!this.#isAllowed()) {
      this.#timer = this.#schedule();
      return;
    }
    const { item } = this.#waiting;
    this.#waiting = null;
    this.#options.pass(item);
  }
}
