/** Which object of one frame is which of another, by place alone. */
import { overlap, type SeenObject } from "./frames.ts";

/** Less, and it is another object, or the same at another place. */
export const LEAST_OVERLAP = 0.5;
/** Of two that lie as well, the one with the same id. */
const SAME_ID_BONUS = 1e-6;

export type Pair = readonly [golden: SeenObject, now: SeenObject];

/** Best overlaps first; every object at most once. */
export function pairObjects(golden: readonly SeenObject[], now: readonly SeenObject[]): readonly Pair[] {
  const candidates = golden.flatMap((was) =>
    now.map((is) => ({ was, is, fit: overlap(was.box, is.box) + (was.id === is.id ? SAME_ID_BONUS : 0) })),
  );
  const taken = new Set<SeenObject>();
  return candidates
    .filter(({ fit }) => fit >= LEAST_OVERLAP)
    .sort((a, b) => b.fit - a.fit || a.was.id - b.was.id || a.is.id - b.is.id)
    .flatMap(({ was, is }) => {
      if (taken.has(was) || taken.has(is)) return [];
      taken.add(was).add(is);
      return [[was, is] as const];
    });
}
