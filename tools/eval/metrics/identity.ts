/**
 * Identity scores (Ristani et al., 2016): each object is given at most one track for the whole sequence and each track
 * at most one object, so that as many boxes as can be lie on their object.
 */
import { assignGreatest } from "../../../cli/golden/pairs.ts";
import { MATCH_OVERLAP } from "./clear.ts";
import type { Comparison } from "./compare.ts";

export interface IdentityCounts {
  readonly matched: number;
  readonly missed: number;
  readonly surplus: number;
}

export function countIdentity({ objectIds, trackIds, frames }: Comparison): IdentityCounts {
  const together = new Float64Array(objectIds.length * trackIds.length);
  let [objectBoxes, trackBoxes] = [0, 0];
  for (const { objects, tracks, overlaps } of frames) {
    objectBoxes += objects.length;
    trackBoxes += tracks.length;
    for (const [index, overlap] of overlaps.entries()) {
      if (overlap < MATCH_OVERLAP) continue;
      const object = objects[Math.floor(index / tracks.length)] as number;
      const pair = object * trackIds.length + (tracks[index % tracks.length] as number);
      together[pair] = (together[pair] as number) + 1;
    }
  }
  // Every box matched saves one miss and one surplus box: fewest faults and most matches are the same assignment.
  const assigned = assignGreatest(together, objectIds.length, trackIds.length);
  const matched = assigned.reduce(
    (sum, track, object) => sum + (track === -1 ? 0 : (together[object * trackIds.length + track] as number)),
    0,
  );
  return { matched, missed: objectBoxes - matched, surplus: trackBoxes - matched };
}

export function addIdentity(all: readonly IdentityCounts[]): IdentityCounts {
  const sum = (key: keyof IdentityCounts): number => all.reduce((total, counts) => total + counts[key], 0);
  return { matched: sum("matched"), missed: sum("missed"), surplus: sum("surplus") };
}

export const idf1Of = ({ matched, missed, surplus }: IdentityCounts): number =>
  matched / Math.max(1, matched + (missed + surplus) / 2);
