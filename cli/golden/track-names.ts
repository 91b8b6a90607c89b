/** Which track of one run is which of another: the one it shares most frames with. */
import type { SeenFrame } from "./frames.ts";
import { pairObjects } from "./pair-objects.ts";

/** Frames of both runs at the same time, or of the one that has it. */
export interface FramePair {
  /** From 1. */
  readonly number: number;
  readonly timeMs: number;
  readonly golden: SeenFrame | null;
  readonly now: SeenFrame | null;
}

export type Side = "golden" | "now";

/** Where each track of a run is seen: numbers of frames, ascending. */
export type Lives = ReadonlyMap<number, ReadonlySet<number>>;

export function listLives(pairs: readonly FramePair[], side: Side): Lives {
  const lives = new Map<number, Set<number>>();
  for (const pair of pairs)
    for (const { id } of pair[side]?.objects ?? [])
      if (id !== 0) lives.set(id, (lives.get(id) ?? new Set()).add(pair.number));
  return lives;
}

/** From ids of the golden to ids of now, one to one. Objects without an id (0) are in no track. */
export function nameTracks(pairs: readonly FramePair[]): ReadonlyMap<number, number> {
  const names = new Map<number, number>();
  const taken = new Set<number>();
  const name = (was: number, is: number) => {
    if (names.has(was) || taken.has(is)) return;
    names.set(was, is);
    taken.add(is);
  };
  for (const { was, is } of listShared(pairs)) name(was, is);
  // Never at one place, but in one frame with one id: rather an object that has moved than two.
  for (const { golden, now } of pairs)
    for (const { id } of golden?.objects ?? [])
      if (id !== 0 && now?.objects.some((object) => object.id === id)) name(id, id);
  return names;
}

interface Shared {
  readonly was: number;
  readonly is: number;
  frames: number;
}

/** Tracks that lie on each other, those that do so longest first. */
function listShared(pairs: readonly FramePair[]): readonly Shared[] {
  const shared = new Map<string, Shared>();
  for (const { golden, now } of pairs)
    for (const [{ id: was }, { id: is }] of pairObjects(golden?.objects ?? [], now?.objects ?? [], null)) {
      if (was === 0 || is === 0) continue;
      const entry = shared.get(`${was} ${is}`) ?? { was, is, frames: 0 };
      entry.frames += 1;
      shared.set(`${was} ${is}`, entry);
    }
  const sameFirst = ({ was, is }: Shared): number => (was === is ? 0 : 1);
  return [...shared.values()].sort(
    (a, b) => b.frames - a.frames || sameFirst(a) - sameFirst(b) || a.was - b.was || a.is - b.is,
  );
}
