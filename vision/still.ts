/** A few points tell whether the camera stands still, and about how far it went if it did not. */

const PROBES = 12;
/** Fewer found, and they tell nothing. */
const LEAST = 6;
/** Share of all probes that must be where they were: the others may lie behind an object by now. */
const STILL_SHARE = 0.7;

/** Points are x and y by turns. Every so-many-th of them, as the strongest may lie together. */
export function chooseProbes(points: Float32Array): Float32Array {
  const count = points.length / 2;
  const every = Math.max(1, Math.floor(count / PROBES));
  return points.filter((_, place) => (place >> 1) % every === 0 && place >> 1 < every * PROBES);
}

/** Those not found again are NaN. One by one they shake by more than `noise`; their mean must not. */
export function isStill(before: Float32Array, after: Float32Array, noise: number): boolean {
  let count = 0;
  let right = 0;
  let down = 0;
  for (let i = 0; i < before.length; i += 2) {
    const byRight = (after[i] as number) - (before[i] as number);
    const byDown = (after[i + 1] as number) - (before[i + 1] as number);
    if (!(Math.hypot(byRight, byDown) < 3 * noise)) continue;
    count++;
    right += byRight;
    down += byDown;
  }
  return count >= LEAST && count >= (STILL_SHARE * before.length) / 2 && Math.hypot(right, down) < noise * count;
}

/** The median shift, or null when too few were found. */
export function findShift(before: Float32Array, after: Float32Array): { right: number; down: number } | null {
  const shifts = [...before.keys()].filter((i) => i % 2 === 0 && !Number.isNaN(after[i]));
  if (shifts.length < LEAST) return null;
  const median = (offset: 0 | 1): number =>
    shifts.map((i) => (after[i + offset] as number) - (before[i + offset] as number)).toSorted((a, b) => a - b)[
      shifts.length >> 1
    ] as number;
  return { right: median(0), down: median(1) };
}
