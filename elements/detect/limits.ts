/** Live, frames wait for an inference that hangs: it is given up long before `limitMs` where inferences are short. */
const LEAST_MS = 1000;
const TIMES_AS_LONG = 10;

/** `usualMs` is 0 before the first inference. */
export const limitInference = (limitMs: number, usualMs: number): number =>
  usualMs === 0 ? limitMs : Math.min(limitMs, Math.max(LEAST_MS, TIMES_AS_LONG * usualMs));
