import type { Grey } from "./grey.ts";

/** Half the side of the square that is looked for. */
const REACH = 3;
const SIDE = 2 * REACH + 1;
/** With one pixel more all around, for the slopes. */
const WIDE = SIDE + 2;
const STEPS = 6;
/** A step below this many pixels ends the search; in the smaller pictures it need not be so fine. */
const FINE = 0.03;
const COARSE = 0.2;
/** Mean difference of brightness above which what was found is something else. */
const WORST = 12;

/** Where to begin: with the picture of that number in the pyramid, expecting a shift in pixels of the largest. */
export interface FlowStart {
  readonly level: number;
  readonly right: number;
  readonly down: number;
}

/**
 * Where the points of one picture are in the next (Lucas and Kanade, from smaller pictures of both pyramids to the
 * largest). Points are x and y by turns, in pixels of the largest; what is not found is NaN.
 */
export class Flow {
  readonly #wide = new Float32Array(WIDE * WIDE);
  readonly #patch = new Float32Array(SIDE * SIDE);
  readonly #right = new Float32Array(SIDE * SIDE);
  readonly #down = new Float32Array(SIDE * SIDE);

  follow(before: readonly Grey[], after: readonly Grey[], points: Float32Array, start: FlowStart): Float32Array {
    const found = new Float32Array(points.length);
    for (let i = 0; i < points.length; i += 2) {
      const [x, y] = this.#find(before, after, points[i] as number, points[i + 1] as number, start);
      found[i] = x;
      found[i + 1] = y;
    }
    return found;
  }

  #find(
    before: readonly Grey[],
    after: readonly Grey[],
    x: number,
    y: number,
    start: FlowStart,
  ): readonly [number, number] {
    let right = start.right * 2 ** -start.level;
    let down = start.down * 2 ** -start.level;
    for (let level = start.level; level >= 0; level--) {
      const scale = 2 ** -level;
      // Pixel centres: a pixel of a smaller picture covers two of the larger.
      const from: readonly [number, number] = [(x + 0.5) * scale - 0.5, (y + 0.5) * scale - 0.5];
      const fine = level === 0 ? FINE : COARSE;
      const step = this.#refine(before[level] as Grey, after[level] as Grey, from, right, down, fine);
      if (step === null) {
        if (level === 0) return LOST;
      } else [right, down] = step;
      if (level > 0) {
        right *= 2;
        down *= 2;
      }
    }
    return [x + right, y + down];
  }

  /** Null where the square leaves the picture, has nothing to hold on to, or is not found. */
  #refine(before: Grey, after: Grey, [x, y]: readonly [number, number], right: number, down: number, fine: number) {
    if (!isInside(before, x, y, 1)) return null;
    const tensor = this.#take(before, x, y);
    if (tensor === null) return null;
    let [movedRight, movedDown] = [right, down];
    for (let step = 0; step < STEPS; step++) {
      if (!isInside(after, x + movedRight, y + movedDown, 0)) return null;
      const [byRight, byDown, difference] = this.#compare(after, x + movedRight, y + movedDown);
      const stepRight = (tensor.yy * byRight - tensor.xy * byDown) / tensor.determinant;
      const stepDown = (tensor.xx * byDown - tensor.xy * byRight) / tensor.determinant;
      movedRight += stepRight;
      movedDown += stepDown;
      if (Math.abs(stepRight) < fine && Math.abs(stepDown) < fine)
        return difference > WORST ? null : ([movedRight, movedDown] as const);
    }
    return this.#compare(after, x + movedRight, y + movedDown)[2] > WORST ? null : ([movedRight, movedDown] as const);
  }

  /** Takes the square around a point, and its slopes. */
  #take(grey: Grey, x: number, y: number) {
    const wide = this.#wide;
    const { data, width } = grey;
    const left = Math.floor(x);
    const top = Math.floor(y);
    const shareX = x - left;
    const shareY = y - top;
    const restX = 1 - shareX;
    const restY = 1 - shareY;
    // Column by column: what is below one pixel is above the next, and is weighed once.
    for (let column = 0; column < WIDE; column++) {
      let from = (top - REACH - 1) * width + left - REACH - 1 + column;
      let upper = (data[from] as number) * restX + (data[from + 1] as number) * shareX;
      for (let row = 0, place = column; row < WIDE; row++, place += WIDE) {
        from += width;
        const lower = (data[from] as number) * restX + (data[from + 1] as number) * shareX;
        wide[place] = upper * restY + lower * shareY;
        upper = lower;
      }
    }
    const patch = this.#patch;
    const slopesRight = this.#right;
    const slopesDown = this.#down;
    let xx = 0;
    let xy = 0;
    let yy = 0;
    for (let row = 1, place = 0; row <= SIDE; row++)
      for (let at = row * WIDE + 1, end = at + SIDE; at < end; at++, place++) {
        const right = ((wide[at + 1] as number) - (wide[at - 1] as number)) / 2;
        const down = ((wide[at + WIDE] as number) - (wide[at - WIDE] as number)) / 2;
        patch[place] = wide[at] as number;
        slopesRight[place] = right;
        slopesDown[place] = down;
        xx += right * right;
        xy += right * down;
        yy += down * down;
      }
    const determinant = xx * yy - xy * xy;
    return determinant < 1 ? null : { xx, xy, yy, determinant };
  }

  /** How the square differs from the one around a point of the next picture. */
  #compare(grey: Grey, x: number, y: number): readonly [byRight: number, byDown: number, difference: number] {
    const { data, width } = grey;
    const left = Math.floor(x);
    const top = Math.floor(y);
    const shareX = x - left;
    const shareY = y - top;
    const patch = this.#patch;
    const slopesRight = this.#right;
    const slopesDown = this.#down;
    let byRight = 0;
    let byDown = 0;
    let difference = 0;
    const restX = 1 - shareX;
    const restY = 1 - shareY;
    for (let column = 0; column < SIDE; column++) {
      let from = (top - REACH) * width + left - REACH + column;
      let upper = (data[from] as number) * restX + (data[from + 1] as number) * shareX;
      for (let row = 0, place = column; row < SIDE; row++, place += SIDE) {
        from += width;
        const lower = (data[from] as number) * restX + (data[from + 1] as number) * shareX;
        const rest = (patch[place] as number) - (upper * restY + lower * shareY);
        byRight += rest * (slopesRight[place] as number);
        byDown += rest * (slopesDown[place] as number);
        difference += Math.abs(rest);
        upper = lower;
      }
    }
    return [byRight, byDown, difference / (SIDE * SIDE)];
  }
}

const LOST: readonly [number, number] = [Number.NaN, Number.NaN];

function isInside({ width, height }: Grey, x: number, y: number, more: number): boolean {
  const margin = REACH + more;
  return x >= margin && y >= margin && x < width - margin - 1 && y < height - margin - 1;
}
