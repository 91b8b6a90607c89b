/** Boxes of tiles, and at which of their sides the object goes on beyond the tile. */
import type { Candidates } from "./decoder.ts";

export interface Rectangle {
  readonly left: number;
  readonly top: number;
  readonly right: number;
  readonly bottom: number;
}

export const SIDES = ["left", "top", "right", "bottom"] as const;
export type Side = (typeof SIDES)[number];

export interface Part extends Rectangle {
  readonly score: number;
  readonly classId: number;
  /** Sides that lie on an edge of the tile with picture beyond. */
  readonly cut: Readonly<Record<Side, boolean>>;
  /** Where it was seen. */
  readonly tiles: readonly Rectangle[];
}

/** Networks end a cut box up to so far from the edge, as a share of the tile's side. */
const NEAR = 0.015;

export function readParts(
  { count, boxes, scores, classIds }: Candidates,
  tile: Rectangle,
  frame: { readonly width: number; readonly height: number },
): Part[] {
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

export const isCut = ({ cut }: Part): boolean => SIDES.some((side) => cut[side]);

export const areaOf = ({ left, top, right, bottom }: Rectangle): number => (right - left) * (bottom - top);

export function sharedArea(a: Rectangle, b: Rectangle): number {
  const width = Math.min(a.right, b.right) - Math.max(a.left, b.left);
  const height = Math.min(a.bottom, b.bottom) - Math.max(a.top, b.top);
  return width > 0 && height > 0 ? width * height : 0;
}

export function overlapOf(a: Rectangle, b: Rectangle): number {
  const shared = sharedArea(a, b);
  return shared === 0 ? 0 : shared / (areaOf(a) + areaOf(b) - shared);
}
