/** Which object of one frame is which of another. */
import { overlap, type SeenObject } from "./frames.ts";

/** Less, and it is another object, or the same at another place. */
export const LEAST_OVERLAP = 0.5;
/** Decides between boxes that overlap equally. */
const SAME_ID = 1e-6;

export type Pair = readonly [golden: SeenObject, now: SeenObject];

/**
 * Best overlaps first, objects of one class before others; every object at most once. `isSameTrack` pairs what is left
 * over although it does not overlap: an object that has moved.
 */
export function pairObjects(
  golden: readonly SeenObject[],
  now: readonly SeenObject[],
  isSameTrack: (was: SeenObject, is: SeenObject) => boolean,
): readonly Pair[] {
  const rate = (was: SeenObject, is: SeenObject): number | null => {
    const shared = overlap(was.box, is.box);
    if (shared < LEAST_OVERLAP) return isSameTrack(was, is) ? shared - 1 : null;
    return shared + (was.className === is.className ? 1 : 0) + (was.id === is.id ? SAME_ID : 0);
  };
  const taken = new Set<SeenObject>();
  return golden
    .flatMap((was) => now.map((is) => ({ was, is, fit: rate(was, is) })))
    .filter((candidate): candidate is typeof candidate & { fit: number } => candidate.fit !== null)
    .sort((a, b) => b.fit - a.fit || a.was.id - b.was.id || a.is.id - b.is.id)
    .flatMap(({ was, is }) => {
      if (taken.has(was) || taken.has(is)) return [];
      taken.add(was).add(is);
      return [[was, is] as const];
    });
}
