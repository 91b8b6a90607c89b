/**
 * HOTA: a higher order metric for evaluating multi-object tracking (Luiten et al., IJCV 2021), at the overlap
 * thresholds 0.05 to 0.95.
 */
import { assignGreatest } from "../../../cli/golden/pairs.ts";
import type { ComparedFrame, Comparison } from "./compare.ts";

/** The overlap thresholds. */
export const ALPHAS: readonly number[] = Array.from({ length: 19 }, (_, index) => (index + 1) / 20);

/** Of one or several sequences, for each of `ALPHAS`. Sums, so that sequences can be added up. */
export interface HotaCounts {
  readonly matched: Float64Array;
  readonly missed: Float64Array;
  readonly surplus: Float64Array;
  /** Sum over the matches of the association of object and track over the whole sequence. */
  readonly association: Float64Array;
  /** Sum of the overlaps of the matches. */
  readonly overlap: Float64Array;
}

/** For each of `ALPHAS`, from 0 to 1. */
export interface HotaCurves {
  readonly hota: readonly number[];
  readonly detA: readonly number[];
  readonly assA: readonly number[];
  readonly locA: readonly number[];
}

export function countHota({ objectIds, trackIds, frames }: Comparison): HotaCounts {
  const lengths = { object: new Float64Array(objectIds.length), track: new Float64Array(trackIds.length) };
  for (const { objects, tracks } of frames) {
    for (const object of objects) lengths.object[object] = (lengths.object[object] as number) + 1;
    for (const track of tracks) lengths.track[track] = (lengths.track[track] as number) + 1;
  }
  const lengthOf = (object: number, track: number): number =>
    (lengths.object[object] as number) + (lengths.track[track] as number);
  const alignment = align(frames, trackIds.length, lengthOf);
  const counts = emptyCounts();
  const pairs = new Map<number, Int32Array>();
  for (const frame of frames) countFrame(frame, alignment, trackIds.length, counts, pairs);
  for (const [pair, together] of pairs) {
    const both = lengthOf(Math.floor(pair / trackIds.length), pair % trackIds.length);
    for (const [index, times] of together.entries()) add(counts.association, index, times * (times / (both - times)));
  }
  return counts;
}

/**
 * How well each object and each track fit over the whole sequence, before matching: it decides between several possible
 * matches of a frame.
 */
function align(
  frames: readonly ComparedFrame[],
  trackCount: number,
  lengthOf: (object: number, track: number) => number,
): ReadonlyMap<number, number> {
  const alignment = new Map<number, number>();
  for (const { objects, tracks, overlaps } of frames) {
    const rowSums = new Float64Array(objects.length);
    const columnSums = new Float64Array(tracks.length);
    for (const [index, overlap] of overlaps.entries()) {
      add(rowSums, Math.floor(index / tracks.length), overlap);
      add(columnSums, index % tracks.length, overlap);
    }
    for (const [index, overlap] of overlaps.entries()) {
      if (overlap === 0) continue;
      const row = Math.floor(index / tracks.length);
      const column = index % tracks.length;
      const share = overlap / ((rowSums[row] as number) + (columnSums[column] as number) - overlap);
      const pair = (objects[row] as number) * trackCount + (tracks[column] as number);
      alignment.set(pair, (alignment.get(pair) ?? 0) + share);
    }
  }
  for (const [pair, shares] of alignment) {
    const both = lengthOf(Math.floor(pair / trackCount), pair % trackCount);
    alignment.set(pair, shares / (both - shares));
  }
  return alignment;
}

function countFrame(
  { objects, tracks, overlaps }: ComparedFrame,
  alignment: ReadonlyMap<number, number>,
  trackCount: number,
  counts: HotaCounts,
  pairs: Map<number, Int32Array>,
): void {
  if (objects.length === 0 && tracks.length === 0) return;
  const pairAt = (row: number, column: number): number =>
    (objects[row] as number) * trackCount + (tracks[column] as number);
  const scores = overlaps.map((overlap, index) => {
    const pair = pairAt(Math.floor(index / tracks.length), index % tracks.length);
    return overlap === 0 ? 0 : overlap * (alignment.get(pair) ?? 0);
  });
  const matches = new Int32Array(ALPHAS.length);
  for (const [row, column] of assignGreatest(scores, objects.length, tracks.length).entries()) {
    if (column === -1) continue;
    const overlap = overlaps[row * tracks.length + column] as number;
    const reached = countReached(overlap);
    if (reached === 0) continue;
    const pair = pairAt(row, column);
    const together = pairs.get(pair) ?? new Int32Array(ALPHAS.length);
    pairs.set(pair, together);
    for (let index = 0; index < reached; index++) {
      add(matches, index, 1);
      add(together, index, 1);
      add(counts.overlap, index, overlap);
    }
  }
  for (const [index, matched] of matches.entries()) {
    add(counts.matched, index, matched);
    add(counts.missed, index, objects.length - matched);
    add(counts.surplus, index, tracks.length - matched);
  }
}

/** How many of `ALPHAS` the overlap reaches, within rounding. */
function countReached(overlap: number): number {
  let reached = 0;
  while (reached < ALPHAS.length && overlap >= (ALPHAS[reached] as number) - Number.EPSILON) reached += 1;
  return reached;
}

/** Sequences add up: every match counts the same, whichever sequence it is from. */
export function addHota(all: readonly HotaCounts[]): HotaCounts {
  const sum = emptyCounts();
  for (const counts of all)
    for (const key of Object.keys(sum) as (keyof HotaCounts)[])
      for (const [index, value] of counts[key].entries()) add(sum[key], index, value);
  return sum;
}

export function drawHota({ matched, missed, surplus, association, overlap }: HotaCounts): HotaCurves {
  const detA = ALPHAS.map((_, index) => {
    const hits = matched[index] as number;
    return hits / Math.max(1, hits + (missed[index] as number) + (surplus[index] as number));
  });
  const perMatch = (sums: Float64Array, without: number): readonly number[] =>
    ALPHAS.map((_, index) => (matched[index] === 0 ? without : (sums[index] as number) / (matched[index] as number)));
  const assA = perMatch(association, 0);
  return {
    hota: detA.map((value, index) => Math.sqrt(value * (assA[index] as number))),
    detA,
    assA,
    locA: perMatch(overlap, 1),
  };
}

const emptyCounts = (): HotaCounts => ({
  matched: new Float64Array(ALPHAS.length),
  missed: new Float64Array(ALPHAS.length),
  surplus: new Float64Array(ALPHAS.length),
  association: new Float64Array(ALPHAS.length),
  overlap: new Float64Array(ALPHAS.length),
});

function add(to: Float64Array | Int32Array, index: number, value: number): void {
  to[index] = (to[index] as number) + value;
}
