/**
 * Which other ids chance explains. Ids are given in the order in which tracks begin; so a track that only one run has
 * shifts those behind it by one, and tracks that begin within a few frames of each other may change places. Pure.
 */
import type { Side } from "./track-names.ts";

/** Number of the first frame of each track. */
export type Births = ReadonlyMap<number, number>;

/** Of `names`, from ids of the golden to ids of now, those that differ and may. */
export function listRenamed(
  names: ReadonlyMap<number, number>,
  births: Readonly<Record<Side, Births>>,
  frames: number,
): readonly (readonly [was: number, is: number])[] {
  if (frames === 0) return [];
  const places = [...names.keys()].sort((a, b) => a - b);
  const taken = [...names.values()].sort((a, b) => a - b);
  const known = { golden: new Set(places), now: new Set(taken) };
  const countAlone = (side: Side, below: number): number =>
    [...births[side].keys()].filter((id) => id < below && !known[side].has(id)).length;
  const birthOf = (id: number): number => births.golden.get(id) ?? 0;
  return places.flatMap((was) => {
    const is = names.get(was) ?? was;
    if (was === is) return [];
    // Whose turn it was in the golden to get this id, as far as both runs have the tracks.
    const place = places[taken.indexOf(is)] ?? was;
    const isTurn = Math.abs(birthOf(place) - birthOf(was)) <= frames;
    const isShift = is - place <= countAlone("now", is) && place - is <= countAlone("golden", place);
    return isTurn && isShift ? [[was, is] as const] : [];
  });
}
