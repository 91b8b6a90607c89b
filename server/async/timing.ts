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
