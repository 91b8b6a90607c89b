/** A track's sighting is this far from where it was expected, along one axis. */
export interface Miss {
  readonly offset: number;
  /** Of the offset. */
  readonly variance: number;
}

/** With fewer objects it may as well be them that moved. */
export const LEAST_MISSES = 3;
/** Rounds of weighing down those that do not move with the rest. */
const ROUNDS = 3;
const TAILS = 3;

/**
 * What several misses have in common: the camera's part. Robust, so that one object of its own mind does not move all, and
 * held back towards 0 by `deviation`, the standard deviation of what cameras do that was not foreseen.
 */
export function estimateCommonMiss(misses: readonly Miss[], deviation: number): number {
  if (misses.length < LEAST_MISSES || !(deviation > 0)) return 0;
  let estimate = findMedian(misses);
  for (let round = 0; round < ROUNDS; round++) {
    let sum = 0;
    let weights = 1 / (deviation * deviation);
    for (const { offset, variance } of misses) {
      const rest = offset - estimate;
      const weight = 1 / (variance + (rest * rest) / TAILS);
      sum += weight * offset;
      weights += weight;
    }
    estimate = sum / weights;
  }
  return estimate;
}

/** The median in which a sure miss counts more. */
function findMedian(misses: readonly Miss[]): number {
  const sorted = [...misses].sort((a, b) => a.offset - b.offset || a.variance - b.variance);
  let left = sorted.reduce((sum, { variance }) => sum + 1 / variance, 0) / 2;
  for (const { offset, variance } of sorted) {
    left -= 1 / variance;
    if (left <= 0) return offset;
  }
  return 0;
}
