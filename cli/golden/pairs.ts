/** Pairs the objects of a frame in two runs, and the tracks of both runs over time. */

import { Assigner } from "../../elements/track/assign.ts";
import { overlap, type SeenObject } from "./frames.ts";

/** Boxes with less overlap are different objects, or one object that has moved. */
export const LEAST_OVERLAP = 0.5;
/** Prefers the same id between boxes with equal overlap. */
const SAME_ID = 1e-6;

export type Pair = readonly [golden: SeenObject, now: SeenObject];

/**
 * Best overlap first, the same class before others; every object at most once. `isSameTrack` also pairs objects without
 * overlap: one that has moved.
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

interface Partner {
  readonly id: number;
  /** Number of the frame in which the two were last paired. */
  readonly frame: number;
}

export class TrackLinks {
  /** Whether ids must be equal; if not, they must only persist from frame to frame. */
  readonly #isStrict: boolean;
  readonly #partners: readonly [golden: Map<number, Partner>, now: Map<number, Partner>] = [new Map(), new Map()];
  /** How often `was` and `is` were paired. */
  readonly #together = new Map<number, Map<number, number>>();

  constructor(isStrict: boolean) {
    this.#isStrict = isStrict;
  }

  /** Whether each was last paired with the other. */
  areOne(was: SeenObject, is: SeenObject): boolean {
    const [golden, now] = this.#partners;
    if (was.id === 0 || is.id === 0) return false;
    const [partner, owner] = [golden.get(was.id)?.id, now.get(is.id)?.id];
    if (partner === undefined && owner === undefined) return this.#isStrict && was.id === is.id;
    return partner === is.id && owner === was.id;
  }

  /** Describes a changed id, once per change; else null. */
  follow([{ id: was }, { id: is }]: Pair, frame: number): string | null {
    const [golden, now] = this.#partners;
    const partner = this.#expect(golden.get(was), was, frame);
    const owner = this.#expect(now.get(is), is, frame);
    if (was !== 0) golden.set(was, { id: is, frame });
    if (is !== 0) now.set(is, { id: was, frame });
    const row = this.#together.get(was) ?? new Map<number, number>();
    this.#together.set(was, row.set(is, (row.get(is) ?? 0) + 1));
    if (was === 0) return is === 0 || owner === 0 ? null : `is tracked, as ${is}`;
    if (is === 0) return partner === 0 ? null : "is no longer tracked";
    if (partner !== undefined && partner !== is) return `has the id ${is}, expected ${partner}`;
    if (owner !== undefined && owner !== was) return `has the id ${is}, which was that of track ${owner}`;
    return null;
  }

  #expect(partner: Partner | undefined, id: number, frame: number): number | undefined {
    if (this.#isStrict) return partner?.id ?? id;
    // An untracked partner is remembered forever.
    return partner?.id === 0 || partner?.frame === frame - 1 ? partner.id : undefined;
  }

  /** Percent of all pairs that agree when each track is assigned one track of the other run. */
  measureIdentity(): number {
    const columns = [...new Set([...this.#together.values()].flatMap((row) => [...row.keys()]))];
    const counts = [...this.#together.values()].flatMap((row) => columns.map((is) => row.get(is) ?? 0));
    const total = counts.reduce((sum, count) => sum + count, 0);
    if (total === 0) return 100;
    const assigned = assignGreatest(Float64Array.from(counts), this.#together.size, columns.length);
    const kept = assigned.reduce((sum, column, row) => sum + (counts[row * columns.length + column] ?? 0), 0);
    return (kept / total) * 100;
  }
}

const assigner = new Assigner();

/** Assigns rows to columns with the greatest sum. Returns the column of each row, or -1. Pairs that score 0 are not made. */
export function assignGreatest(scores: Float64Array, rows: number, columns: number): Int32Array {
  const greatest = scores.reduce((most, score) => Math.max(most, score), 0);
  const costs = scores.map((score) => greatest - score);
  return assigner.solve(costs, rows, columns, greatest).slice();
}
