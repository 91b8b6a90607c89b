/**
 * CLEAR MOT (Bernardin and Stiefelhagen, 2008): matches frame by frame at an overlap of 0.5, where a match of the frame
 * before is kept if possible. And the identity scores.
 */
import { assignGreatest } from "../../../cli/golden/pairs.ts";
import type { ComparedFrame, Comparison } from "./compare.ts";

export const MATCH_OVERLAP = 0.5;
/** Greater than the sum of all overlaps of a frame. */
const KEPT_BONUS = 1000;
/** Share of the frames of an object above which it is mostly tracked, and below which mostly lost. */
const MOSTLY_TRACKED = 0.8;
const MOSTLY_LOST = 0.2;

export interface ClearCounts {
  readonly matched: number;
  readonly missed: number;
  readonly surplus: number;
  readonly switches: number;
  readonly mostlyTracked: number;
  readonly mostlyLost: number;
  readonly objects: number;
}

const NO_MATCHES = new Int32Array(0);

/** For each frame and each of its objects: the matched track, or -1. */
export type Matches = readonly Int32Array[];

export function matchFrames({ objectIds, frames }: Comparison): Matches {
  const before = new Int32Array(objectIds.length).fill(-1);
  return frames.map((frame) => {
    if (frame.objects.length === 0) return NO_MATCHES;
    const matches = matchFrame(frame, before);
    // A frame without objects or without tracks does not end a match.
    if (frame.overlaps.length === 0) return matches;
    before.fill(-1);
    for (const [row, track] of matches.entries()) before[frame.objects[row] as number] = track;
    return matches;
  });
}

function matchFrame({ objects, tracks, overlaps }: ComparedFrame, before: Int32Array): Int32Array {
  const scores = overlaps.map((overlap, index) => {
    if (overlap < MATCH_OVERLAP - Number.EPSILON) return 0;
    const isKept = before[objects[Math.floor(index / tracks.length)] as number] === tracks[index % tracks.length];
    return isKept ? KEPT_BONUS + overlap : overlap;
  });
  return assignGreatest(scores, objects.length, tracks.length).map((column, row) =>
    column === -1 || scores[row * tracks.length + column] === 0 ? -1 : (tracks[column] as number),
  );
}

/** A switch is a match with another track than the last one of the object, however long ago. */
export function countClear({ objectIds, frames }: Comparison, matches: Matches): ClearCounts {
  const last = new Int32Array(objectIds.length).fill(-1);
  const seen = new Float64Array(objectIds.length);
  const tracked = new Float64Array(objectIds.length);
  let [matched, switches, objectBoxes, trackBoxes] = [0, 0, 0, 0];
  for (const [index, { objects, tracks }] of frames.entries()) {
    objectBoxes += objects.length;
    trackBoxes += tracks.length;
    for (const [row, track] of (matches[index] as Int32Array).entries()) {
      const object = objects[row] as number;
      seen[object] = (seen[object] as number) + 1;
      if (track === -1) continue;
      matched += 1;
      tracked[object] = (tracked[object] as number) + 1;
      if (last[object] !== -1 && last[object] !== track) switches += 1;
      last[object] = track;
    }
  }
  const shares = seen.map((times, object) => (tracked[object] as number) / times);
  return {
    matched,
    missed: objectBoxes - matched,
    surplus: trackBoxes - matched,
    switches,
    mostlyTracked: shares.filter((share) => share > MOSTLY_TRACKED).length,
    mostlyLost: shares.filter((share) => share < MOSTLY_LOST).length,
    objects: objectIds.length,
  };
}

export function addClear(all: readonly ClearCounts[]): ClearCounts {
  const sum = (key: keyof ClearCounts): number => all.reduce((total, counts) => total + counts[key], 0);
  return {
    matched: sum("matched"),
    missed: sum("missed"),
    surplus: sum("surplus"),
    switches: sum("switches"),
    mostlyTracked: sum("mostlyTracked"),
    mostlyLost: sum("mostlyLost"),
    objects: sum("objects"),
  };
}

/** At most 1; negative with more errors than objects; 0 without objects. */
export function motaOf({ matched, missed, surplus, switches }: ClearCounts): number {
  const truth = matched + missed;
  return truth === 0 ? 0 : (matched - surplus - switches) / truth;
}

/**
 * Identity scores (Ristani et al., 2016): each object is assigned at most one track for the whole sequence and vice versa,
 * so that as many boxes as possible lie on their object.
 */
export interface IdentityCounts {
  readonly matched: number;
  readonly missed: number;
  readonly surplus: number;
}

export function countIdentity(comparison: Comparison): IdentityCounts {
  const matched = pairTracks(comparison).reduce((sum, { frames }) => sum + frames, 0);
  const sum = (count: (frame: ComparedFrame) => number): number =>
    comparison.frames.reduce((total, frame) => total + count(frame), 0);
  return {
    matched,
    missed: sum(({ objects }) => objects.length) - matched,
    surplus: sum(({ tracks }) => tracks.length) - matched,
  };
}

/** An object and the track that is assigned to it, by their numbers, and the frames in which they overlap. */
export interface TrackPair {
  readonly object: number;
  readonly track: number;
  readonly frames: number;
}

export function pairTracks({ objectIds, trackIds, frames }: Comparison): readonly TrackPair[] {
  const together = new Float64Array(objectIds.length * trackIds.length);
  for (const { objects, tracks, overlaps } of frames)
    for (const [index, overlap] of overlaps.entries()) {
      if (overlap < MATCH_OVERLAP) continue;
      const object = objects[Math.floor(index / tracks.length)] as number;
      const pair = object * trackIds.length + (tracks[index % tracks.length] as number);
      together[pair] = (together[pair] as number) + 1;
    }
  // Every box matched saves one miss and one surplus box: fewest faults and most matches are the same assignment.
  const assigned = assignGreatest(together, objectIds.length, trackIds.length);
  return [...assigned].flatMap((track, object) => {
    const shared = track === -1 ? 0 : (together[object * trackIds.length + track] as number);
    return shared === 0 ? [] : [{ object, track, frames: shared }];
  });
}

export function addIdentity(all: readonly IdentityCounts[]): IdentityCounts {
  const sum = (key: keyof IdentityCounts): number => all.reduce((total, counts) => total + counts[key], 0);
  return { matched: sum("matched"), missed: sum("missed"), surplus: sum("surplus") };
}

export const idf1Of = ({ matched, missed, surplus }: IdentityCounts): number =>
  matched / Math.max(1, matched + (missed + surplus) / 2);
