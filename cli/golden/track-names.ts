/** Which track of one run is which of another: the one it shares most frames with. */
import { edgeDistance, type SeenFrame } from "./frames.ts";
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
  const shared = new Map<string, { readonly was: number; readonly is: number; frames: number }>();
  for (const { golden, now } of pairs)
    for (const [{ id: was }, { id: is }] of pairObjects(golden?.objects ?? [], now?.objects ?? [])) {
      if (was === 0 || is === 0) continue;
      const entry = shared.get(`${was} ${is}`);
      if (entry === undefined) shared.set(`${was} ${is}`, { was, is, frames: 1 });
      else entry.frames += 1;
    }
  const names = new Map<number, number>();
  const taken = new Set<number>();
  const most = [...shared.values()].sort(
    (a, b) => b.frames - a.frames || Number(b.was === b.is) - Number(a.was === a.is) || a.was - b.was || a.is - b.is,
  );
  for (const { was, is } of most) {
    if (names.has(was) || taken.has(is)) continue;
    names.set(was, is);
    taken.add(is);
  }
  for (const id of listMoved(pairs)) if (!names.has(id) && !taken.has(id)) names.set(id, id);
  return names;
}

/** In widths or heights, whichever is more. */
const FURTHEST = 2;

/** Ids whose boxes never lie on each other, but near: rather one object that has moved than two. */
function listMoved(pairs: readonly FramePair[]): ReadonlySet<number> {
  const moved = new Set<number>();
  for (const { golden, now } of pairs)
    for (const was of golden?.objects ?? []) {
      const is = now?.objects.find(({ id, className }) => id === was.id && className === was.className);
      const room = FURTHEST * Math.max(was.box[2], was.box[3]);
      if (was.id !== 0 && is !== undefined && edgeDistance(was.box, is.box) <= room) moved.add(was.id);
    }
  return moved;
}
