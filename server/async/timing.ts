/** Waiting with a limit. */

/** Resolves after that time, or at once when the signal is aborted. */
export function sleep(ms: number, signal: AbortSignal): Promise<void> {
  return new Promise((resolve) => {
    if (signal.aborted) return resolve();
    const wake = (): void => {
      clearTimeout(timer);
      signal.removeEventListener("abort", wake);
      resolve();
    };
    const timer = setTimeout(wake, Math.min(ms, MAX_TIMER_MS));
    signal.addEventListener("abort", wake);
  });
}

/** The longest that a timer of Node can run. */
export const MAX_TIMER_MS = 2 ** 31 - 1;

export const TIMED_OUT = Symbol("timed out");

/** Resolves with the value of the promise, or with `TIMED_OUT`; rejects as the promise does. */
export async function withTimeout<T>(limitMs: number, promise: Promise<T>): Promise<T | typeof TIMED_OUT> {
  const waiting = new AbortController();
  try {
    return await Promise.race([promise, sleep(limitMs, waiting.signal).then((): typeof TIMED_OUT => TIMED_OUT)]);
  } finally {
    waiting.abort();
  }
}

/** As the promise, until the signal is aborted: then it rejects with the signal's reason. */
export function unlessAborted<T>(promise: Promise<T>, signal: AbortSignal): Promise<T> {
  return new Promise((resolve, reject) => {
    const giveUp = (): void => reject(signal.reason);
    if (signal.aborted) giveUp();
    signal.addEventListener("abort", giveUp, { once: true });
    promise.then(resolve, reject).finally(() => signal.removeEventListener("abort", giveUp));
  });
}

export interface BackoffRule {
  readonly firstMs: number;
  readonly maxMs: number;
}

/**
 * How long to wait after this many failures in a row, from 1: doubled each time, and between half and all of that, so that
 * those who failed together do not retry together.
 */
export function backoff(failures: number, { firstMs, maxMs }: BackoffRule, random = Math.random()): number {
  const wholeMs = Math.min(maxMs, firstMs * 2 ** Math.min(failures - 1, 30));
  return wholeMs * (0.5 + random / 2);
}

/** The time limit of a request, and whether its client still waits. */
export class RequestLimit {
  readonly limitMs: number;
  readonly #startedMs: number;
  readonly #late = new AbortController();
  readonly #timer: NodeJS.Timeout;
  /** Aborted when the time is over or the client has disconnected. */
  readonly signal: AbortSignal;

  constructor(startedMs: number, limitMs: number, client: AbortSignal | undefined) {
    this.#startedMs = startedMs;
    this.limitMs = limitMs;
    this.#timer = setTimeout(() => this.#late.abort(), Math.max(0, this.#leftMs));
    this.signal = client === undefined ? this.#late.signal : AbortSignal.any([client, this.#late.signal]);
  }

  /** For the last steps before the response must be sent. */
  get responseMs(): number {
    return Math.max(0, this.#leftMs + this.#reservedMs / 2);
  }

  get isLate(): boolean {
    return this.#late.signal.aborted && this.signal.reason === this.#late.signal.reason;
  }

  /** Rejects with the signal's reason when that is aborted before the promise is settled. */
  async race<T>(promise: Promise<T>): Promise<T> {
    const value = await unlessAborted(promise, this.signal);
    this.signal.throwIfAborted();
    return value;
  }

  close(): void {
    clearTimeout(this.#timer);
  }

  get #leftMs(): number {
    return this.#startedMs + this.limitMs - this.#reservedMs - performance.now();
  }

  /** The part of the limit that is reserved for the response. */
  get #reservedMs(): number {
    return Math.min(250, this.limitMs / 10);
  }
}
