import { sleep } from "./sleep.ts";

export const LATE = Symbol("late");

/** Resolves with what the promise brings, or with `LATE` when that takes longer; rejects as it does. */
export async function within<T>(limitMs: number, promise: Promise<T>): Promise<T | typeof LATE> {
  const waiting = new AbortController();
  try {
    return await Promise.race([promise, sleep(limitMs, waiting.signal).then((): typeof LATE => LATE)]);
  } finally {
    waiting.abort();
  }
}
