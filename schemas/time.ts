/** Rounds to microseconds, so that a third of a second is 333.333 and not 333.33333299999998. */
export const toMilliseconds = (ns: bigint): number => Number(ns / 1000n) / 1000;
