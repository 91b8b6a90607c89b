/**
 * Objects seen in several overlapping tiles, each once. A tile shows only a part of what reaches over its edge: such a
 * part gives way to the whole box that a neighbour has, and where no tile has the whole, parts that face one another
 * across their edges are put together.
 */
import { CandidateList } from "./candidates.ts";
import type { Candidates } from "./decoder.ts";
import { areaOf, isCut, overlapOf, type Part, type Rectangle, readParts, sharedArea } from "./parts.ts";
import { suppress } from "./suppress.ts";
import { unite } from "./unite.ts";

/** A part that lies this much within a whole box of its class is of the same object. */
const CONTAINED = 0.7;
/** A whole box stands for a part only where the network is at least so sure of it, as a share of the part's score. */
const STANDS_FOR = 0.5;
/** Boxes taken from a tile; more are noise. */
const MOST_IN_TILE = 300;

export interface Tile extends Rectangle {
  /** In pixels of the frame, as the edges of the tile are. */
  readonly candidates: Candidates;
}

/** Boxes in pixels of the frame, at most `limit`, best first. Lists may come as they were decoded. */
export function mergeTiles(
  tiles: readonly Tile[],
  frame: { readonly width: number; readonly height: number },
  overlap: number,
  limit: number,
): Candidates {
  const seen = tiles.flatMap((tile) =>
    readParts(suppress(tile.candidates, { overlap, limit: MOST_IN_TILE }), tile, frame),
  );
  // Whole ones first: a part never takes the place of a whole, however sure the network was of it.
  const order = unite(seen).sort((a, b) => Number(isCut(a)) - Number(isCut(b)) || b.score - a.score);
  const kept: Part[] = [];
  for (const part of order) if (!kept.some((other) => isCovered(part, other, overlap))) kept.push(part);
  const list = new CandidateList();
  for (const { left, top, right, bottom, score, classId } of kept.sort((a, b) => b.score - a.score).slice(0, limit))
    list.add(left, top, right, bottom, score, classId);
  return list.copy();
}

/** Whether `other`, which goes first, shows the same object. */
function isCovered(part: Part, other: Part, overlap: number): boolean {
  if (part.classId !== other.classId) return false;
  if (overlapOf(part, other) > overlap) return true;
  if (!isCut(part) || other.score < STANDS_FOR * part.score || sharesTile(part, other)) return false;
  return sharedArea(part, other) > CONTAINED * areaOf(part);
}

/** Two boxes of one tile were told apart by the network. */
const sharesTile = (a: Part, b: Part): boolean => a.tiles.some((tile) => b.tiles.includes(tile));
