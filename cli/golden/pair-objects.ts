/** Which object of one frame is which of another. */
import { overlap, type SeenObject } from "./frames.ts";
import type { TrackNames } from "./track-names.ts";

/** Less, and it is another object, or the same at another place. */
export const LEAST_OVERLAP = 0.5;
/** Of two that lie as well, the one with the same id. */
const SAME_ID = 1e-6;

export type Pair = readonly [golden: SeenObject, now: SeenObject];

/**
 * Best overlaps first; every object at most once. Those of one track by `names` go before others where they
 * overlap, and are still paired where they do not and nothing else is left.
 */
export function pairObjects(
  golden: readonly SeenObject[],
  now: readonly SeenObject[],
  names: TrackNames,
): readonly Pair[] {
  const rate = (was: SeenObject, is: SeenObject): number | null => {
    const shared = overlap(was.box, is.box);
    const isNamed = names.areOne(was.id, is.id);
    if (shared < LEAST_OVERLAP) return isNamed ? shared - 1 : null;
    return shared + (isNamed ? 1 : 0) + (was.id === is.id ? SAME_ID : 0);
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
