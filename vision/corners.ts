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
  let [bestX, bestY, most] = [0, 0, WEAKEST];
  for (let row = top; row < top + SQUARE; row++)
    for (let column = left; column < left + SQUARE; column++) {
      const strength = cells.measureCorner(column, row);
      if (strength <= most) continue;
      const x = (column + 0.5) * CELL - 0.5;
      const y = (row + 0.5) * CELL - 0.5;
      if (isExcluded(x, y, excluded)) continue;
      [bestX, bestY, most] = [x, y, strength];
    }
  return most > WEAKEST ? { x: bestX, y: bestY, strength: most } : null;
}

function isExcluded(x: number, y: number, excluded: readonly Region[]): boolean {
  for (const { left, top, right, bottom } of excluded)
    if (x >= left && x <= right && y >= top && y <= bottom) return true;
  return false;
}

/**
 * Products of the slopes right and down, summed over each cell and its two neighbours in the row; each slope is taken once,
 * however many corners it counts for. Cells at the edge have no such sums.
 */
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
    for (let row = 1; row < this.height - 1; row++) {
      // Sums of the cell before, and of the one before that.
      let [xx1, xy1, yy1, xx2, xy2, yy2] = [0, 0, 0, 0, 0, 0];
      for (let column = 1, cell = row * this.width + 1; column < this.width - 1; column++, cell++) {
        const at = CELL * (row * width + column);
        const below = at + width;
        const a = data[at] as number;
        const b = data[at + 1] as number;
        const c = data[below] as number;
        const d = data[below + 1] as number;
        const rightA = b - (data[at - 1] as number);
        const rightB = (data[at + 2] as number) - a;
        const rightC = d - (data[below - 1] as number);
        const rightD = (data[below + 2] as number) - c;
        const downA = c - (data[at - width] as number);
        const downB = d - (data[at + 1 - width] as number);
        const downC = (data[below + width] as number) - a;
        const downD = (data[below + 1 + width] as number) - b;
        const sumXx = rightA * rightA + rightB * rightB + rightC * rightC + rightD * rightD;
        const sumXy = rightA * downA + rightB * downB + rightC * downC + rightD * downD;
        const sumYy = downA * downA + downB * downB + downC * downC + downD * downD;
        xx[cell - 1] = xx2 + xx1 + sumXx;
        xy[cell - 1] = xy2 + xy1 + sumXy;
        yy[cell - 1] = yy2 + yy1 + sumYy;
        [xx2, xy2, yy2, xx1, xy1, yy1] = [xx1, xy1, yy1, sumXx, sumXy, sumYy];
      }
    }
    this.#xx = xx;
    this.#xy = xy;
    this.#yy = yy;
  }

  /** The smaller eigenvalue of the structure tensor around a cell that is at least two cells from the edge. */
  measureCorner(column: number, row: number): number {
    const cell = row * this.width + column;
    const above = cell - this.width;
    const below = cell + this.width;
    const xx = (this.#xx[above] as number) + (this.#xx[cell] as number) + (this.#xx[below] as number);
    const xy = (this.#xy[above] as number) + (this.#xy[cell] as number) + (this.#xy[below] as number);
    const yy = (this.#yy[above] as number) + (this.#yy[cell] as number) + (this.#yy[below] as number);
    // Slopes span two pixels: a quarter of their products is that of one pixel each.
    return (xx + yy - Math.sqrt((xx - yy) * (xx - yy) + 4 * xy * xy)) / 8;
  }
}
