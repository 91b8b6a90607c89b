/**
 * Merges the detections of overlapping tiles, so that each object is reported once. A tile shows only a part of an object
 * that crosses its edge. Such a part is dropped when a neighbouring tile has the whole object; if no tile has, parts that
 * meet across tile edges are joined.
 */
import { CandidateList } from "./candidates.ts";
import type { Candidates, Size } from "./decoder.ts";
import { suppress } from "./suppress.ts";

/** A part with this share of its area inside a whole box of its class belongs to the same object. */
const CONTAINED = 0.7;
/** A whole box replaces a part only with at least this share of the part's score. */
const REPLACES = 0.5;
/** Maximum number of boxes per tile; more are noise. */
const MOST_IN_TILE = 300;

export interface Tile extends Rectangle {
  /** In pixels of the frame, like the edges of the tile. */
  readonly candidates: Candidates;
}

/** Boxes in pixels of the frame, up to `limit`, best first. The candidates of a tile need no suppression before. */
export function mergeTiles(tiles: readonly Tile[], frame: Size, overlap: number, limit: number): Candidates {
  const seen = tiles.flatMap((tile) =>
    readParts(suppress(tile.candidates, { overlap, limit: MOST_IN_TILE }), tile, frame),
  );
  // Whole boxes first: a part never replaces a whole box, whatever its score.
  const order = joinParts(seen).sort((a, b) => Number(isCut(a)) - Number(isCut(b)) || b.score - a.score);
  const kept: Part[] = [];
  for (const part of order) if (!kept.some((other) => isCovered(part, other, overlap))) kept.push(part);
  const list = new CandidateList();
  for (const { left, top, right, bottom, score, classId } of kept.sort((a, b) => b.score - a.score).slice(0, limit))
    list.add(left, top, right, bottom, score, classId);
  return list.copy();
}

/** Whether `other`, which has precedence, shows the same object. */
function isCovered(part: Part, other: Part, overlap: number): boolean {
  if (part.classId !== other.classId) return false;
  if (overlapOf(part, other) > overlap) return true;
  if (!isCut(part) || other.score < REPLACES * part.score || sharesTile(part, other)) return false;
  return sharedArea(part, other) > CONTAINED * areaOf(part);
}

/** Two boxes of one tile are two objects: the network distinguished them. */
const sharesTile = (a: Part, b: Part): boolean => a.tiles.some((tile) => b.tiles.includes(tile));

interface Rectangle {
  readonly left: number;
  readonly top: number;
  readonly right: number;
  readonly bottom: number;
}

const SIDES = ["left", "top", "right", "bottom"] as const;
type Side = (typeof SIDES)[number];

interface Part extends Rectangle {
  readonly score: number;
  readonly classId: number;
  /** Sides that lie on an edge of the tile inside the frame: the object may continue there. */
  readonly cut: Readonly<Record<Side, boolean>>;
  /** The tiles in which it was detected. */
  readonly tiles: readonly Rectangle[];
}

/** A cut box may end this far from the tile's edge, as a share of the tile's side. */
const NEAR = 0.015;

function readParts({ count, boxes, scores, classIds }: Candidates, tile: Rectangle, frame: Size): Part[] {
  const nearX = NEAR * (tile.right - tile.left);
  const nearY = NEAR * (tile.bottom - tile.top);
  return Array.from({ length: count }, (_, i) => {
    const [left = 0, top = 0, right = 0, bottom = 0] = boxes.subarray(4 * i, 4 * i + 4);
    const cut = {
      left: tile.left > 0 && left < tile.left + nearX,
      top: tile.top > 0 && top < tile.top + nearY,
      right: tile.right < frame.width && right > tile.right - nearX,
      bottom: tile.bottom < frame.height && bottom > tile.bottom - nearY,
    };
    return { left, top, right, bottom, score: scores[i] ?? 0, classId: classIds[i] ?? 0, cut, tiles: [tile] };
  });
}

const isCut = ({ cut }: Part): boolean => SIDES.some((side) => cut[side]);

const areaOf = ({ left, top, right, bottom }: Rectangle): number => (right - left) * (bottom - top);

function sharedArea(a: Rectangle, b: Rectangle): number {
  const width = Math.min(a.right, b.right) - Math.max(a.left, b.left);
  const height = Math.min(a.bottom, b.bottom) - Math.max(a.top, b.top);
  return width > 0 && height > 0 ? width * height : 0;
}

function overlapOf(a: Rectangle, b: Rectangle): number {
  const shared = sharedArea(a, b);
  return shared === 0 ? 0 : shared / (areaOf(a) + areaOf(b) - shared);
}

/** Parts of one object have similar extents along the edge that cuts them: shared length over joint length. */
const ALIKE = 0.6;

interface Axis {
  readonly low: Side;
  readonly high: Side;
}
const ACROSS: Axis = { low: "left", high: "right" };
const DOWN: Axis = { low: "top", high: "bottom" };

/** Joins parts that meet across the edges of their tiles, until no pair is left. Best first. */
function joinParts(parts: readonly Part[]): Part[] {
  const left = [...parts].sort((a, b) => b.score - a.score);
  for (let i = 0; i < left.length; i++) {
    const part = left[i] as Part;
    const j = left.findIndex((other, at) => at > i && isContinued(part, other));
    if (j < 0) continue;
    left[i] = join(part, left[j] as Part);
    left.splice(j, 1);
    // The joined box may meet parts that its two halves did not: start again. Each time there is one box less.
    i = -1;
  }
  return left;
}

function isContinued(a: Part, b: Part): boolean {
  if (a.classId !== b.classId || a.tiles.some((tile) => b.tiles.includes(tile))) return false;
  return [
    [a, b, ACROSS, DOWN] as const,
    [b, a, ACROSS, DOWN] as const,
    [a, b, DOWN, ACROSS] as const,
    [b, a, DOWN, ACROSS] as const,
  ].some(([first, second, along, beside]) => {
    const faces = first.cut[along.high] && second.cut[along.low];
    const touches = second[along.low] <= first[along.high] && second[along.high] > first[along.high];
    return faces && touches && first[along.low] < second[along.low] && likeness(first, second, beside) >= ALIKE;
  });
}

function likeness(a: Part, b: Part, { low, high }: Axis): number {
  const shared = Math.min(a[high], b[high]) - Math.max(a[low], b[low]);
  return shared / (Math.max(a[high], b[high]) - Math.min(a[low], b[low]));
}

/** A side of the result is cut if the part that reaches furthest on that side is cut there. */
function join(a: Part, b: Part): Part {
  const leftmost = a.left <= b.left ? a : b;
  const topmost = a.top <= b.top ? a : b;
  const rightmost = a.right >= b.right ? a : b;
  const lowest = a.bottom >= b.bottom ? a : b;
  return {
    left: leftmost.left,
    top: topmost.top,
    right: rightmost.right,
    bottom: lowest.bottom,
    score: Math.max(a.score, b.score),
    classId: a.classId,
    cut: {
      left: leftmost.cut.left,
      top: topmost.cut.top,
      right: rightmost.cut.right,
      bottom: lowest.cut.bottom,
    },
    tiles: [...a.tiles, ...b.tiles],
  };
}
