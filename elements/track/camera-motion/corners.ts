import type { Grey } from "./grey.ts";

/** One corner for each square of so many pixels, so that they lie all over the picture. */
const SQUARE = 8;
const MARGIN = 4;
/** Sums of squared differences below this are noise. */
const WEAKEST = 150;

export interface Region {
  readonly left: number;
  readonly top: number;
  readonly right: number;
  readonly bottom: number;
}

/**
 * Points that can be found again, at most `most` of them: where brightness changes in both directions (Shi and Tomasi).
 * None lies in `excluded`, the places of objects that move by themselves. x and y by turns.
 */
export function findCorners(grey: Grey, excluded: readonly Region[], most: number): Float32Array {
  const found: { x: number; y: number; strength: number }[] = [];
  for (let top = MARGIN; top + SQUARE <= grey.height - MARGIN; top += SQUARE)
    for (let left = MARGIN; left + SQUARE <= grey.width - MARGIN; left += SQUARE) {
      const best = findBest(grey, left, top, excluded);
      if (best !== null) found.push(best);
    }
  found.sort((a, b) => b.strength - a.strength || a.y - b.y || a.x - b.x);
  return Float32Array.from(found.slice(0, most).flatMap(({ x, y }) => [x, y]));
}

function findBest(grey: Grey, left: number, top: number, excluded: readonly Region[]) {
  let best: { x: number; y: number; strength: number } | null = null;
  for (let y = top; y < top + SQUARE; y += 2)
    for (let x = left; x < left + SQUARE; x += 2) {
      const strength = measureCorner(grey, x, y);
      if (strength <= (best?.strength ?? WEAKEST)) continue;
      const isExcluded = excluded.some((one) => x >= one.left && x <= one.right && y >= one.top && y <= one.bottom);
      if (!isExcluded) best = { x, y, strength };
    }
  return best;
}

/** The smaller eigenvalue of the structure tensor over 5 × 5 pixels. */
function measureCorner({ width, data }: Grey, x: number, y: number): number {
  let xx = 0;
  let xy = 0;
  let yy = 0;
  for (let row = y - 2; row <= y + 2; row++)
    for (let place = row * width + x - 2, end = place + 5; place < end; place++) {
      const right = ((data[place + 1] as number) - (data[place - 1] as number)) / 2;
      const down = ((data[place + width] as number) - (data[place - width] as number)) / 2;
      xx += right * right;
      xy += right * down;
      yy += down * down;
    }
  return (xx + yy - Math.hypot(xx - yy, 2 * xy)) / 2;
}
