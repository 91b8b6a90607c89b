import type { Grey } from "./grey.ts";

/** Slopes are summed over cells of 2 × 2 pixels; a corner is judged by 3 × 3 cells. */
const CELL = 2;
/** One corner for each square of so many cells, so that they lie all over the picture. */
const SQUARE = 3;
const MARGIN = 2;
/** Sums of squared slopes below this are noise. */
const WEAKEST = 150;

export interface Region {
  readonly left: number;
  readonly top: number;
  readonly right: number;
  readonly bottom: number;
}

interface Corner {
  readonly x: number;
  readonly y: number;
  readonly strength: number;
}

/**
 * Points that can be found again, at most `most` of them: where brightness changes in both directions (Shi and Tomasi).
 * None lies in `excluded`, the places of objects that move by themselves. x and y by turns.
 */
export function findCorners(grey: Grey, excluded: readonly Region[], most: number): Float32Array {
  const cells = new Cells(grey);
  const found: Corner[] = [];
  for (let top = MARGIN; top + SQUARE <= cells.height - MARGIN; top += SQUARE)
    for (let left = MARGIN; left + SQUARE <= cells.width - MARGIN; left += SQUARE) {
      const best = findBest(cells, left, top, excluded);
      if (best !== null) found.push(best);
    }
  found.sort((a, b) => b.strength - a.strength || a.y - b.y || a.x - b.x);
  return Float32Array.from(found.slice(0, most).flatMap(({ x, y }) => [x, y]));
}

function findBest(cells: Cells, left: number, top: number, excluded: readonly Region[]): Corner | null {
  let best: Corner | null = null;
  for (let row = top; row < top + SQUARE; row++)
    for (let column = left; column < left + SQUARE; column++) {
      const strength = cells.measureCorner(column, row);
      if (strength <= (best?.strength ?? WEAKEST)) continue;
      const x = (column + 0.5) * CELL - 0.5;
      const y = (row + 0.5) * CELL - 0.5;
      const isExcluded = excluded.some((one) => x >= one.left && x <= one.right && y >= one.top && y <= one.bottom);
      if (!isExcluded) best = { x, y, strength };
    }
  return best;
}

/** Products of the slopes right and down, summed cell by cell; each slope is taken once, however many corners it counts for. */
class Cells {
  readonly width: number;
  readonly height: number;
  readonly #xx: Float32Array;
  readonly #xy: Float32Array;
  readonly #yy: Float32Array;

  constructor({ width, height, data }: Grey) {
    this.width = Math.floor(width / CELL);
    this.height = Math.floor(height / CELL);
    const count = this.width * this.height;
    const xx = new Float32Array(count);
    const xy = new Float32Array(count);
    const yy = new Float32Array(count);
    // A pixel at the edge has no neighbour on one side: without it.
    for (let y = 1; y < this.height * CELL - 1; y++) {
      const row = (y >> 1) * this.width;
      for (let x = 1, place = y * width + 1; x < this.width * CELL - 1; x++, place++) {
        const right = (data[place + 1] as number) - (data[place - 1] as number);
        const down = (data[place + width] as number) - (data[place - width] as number);
        const cell = row + (x >> 1);
        xx[cell] = (xx[cell] as number) + right * right;
        xy[cell] = (xy[cell] as number) + right * down;
        yy[cell] = (yy[cell] as number) + down * down;
      }
    }
    this.#xx = xx;
    this.#xy = xy;
    this.#yy = yy;
  }

  /** The smaller eigenvalue of the structure tensor around a cell that is not at the edge. */
  measureCorner(column: number, row: number): number {
    let xx = 0;
    let xy = 0;
    let yy = 0;
    for (let y = row - 1; y <= row + 1; y++)
      for (let cell = y * this.width + column - 1, end = cell + 3; cell < end; cell++) {
        xx += this.#xx[cell] as number;
        xy += this.#xy[cell] as number;
        yy += this.#yy[cell] as number;
      }
    // Slopes span two pixels: a quarter of their products is that of one pixel each.
    return (xx + yy - Math.sqrt((xx - yy) * (xx - yy) + 4 * xy * xy)) / 8;
  }
}
