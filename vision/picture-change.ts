/** Changes of the image since a reference frame: small squares whose brightness differs by more than their noise. */
import { averageLuma } from "../native/kernels.ts";
import { chooseStep, type Grey, type LumaPlane } from "./grey.ts";

/** Squares along the longer side of the frame: 8 × 8 pixels at 720p, in which an object of 4 × 4 pixels is visible. */
const MOST_SQUARES = 160;
/** Brightness difference, besides noise, that compression and quantisation cause. */
const LEAST_DIFFERENCE = 1.5;
/** Difference in units of the median difference of a square: 5 standard deviations of white noise. */
const NOISE_FACTOR = 7.5;
/** Before anything is known, and the limits of the estimate: leaves and water may move, traffic must not become noise. */
const FIRST_NOISE = 1;
const LEAST_NOISE = 0.05;
const MOST_NOISE = 4;
/** By how much the estimate moves towards the median with each frame. */
const NOISE_STEP = 0.03;
/** Noise is not learned while more of the image changes: the camera moves, or the light was switched on. */
const MOST_CHANGED = 0.3;
/** Passes of the brightness fit; each but the first leaves out what did not fit before. */
const FIT_PASSES = 3;
const FIT_LIMIT = 2;
/** The fit uses every nth square, which is in another column of each row. */
const FIT_STEP = 7;

/** The squares of a frame, row by row: 1 if changed since the reference. */
export interface Change {
  readonly width: number;
  readonly height: number;
  readonly isChanged: Uint8Array;
}

type Size = Pick<Change, "width" | "height">;

/** In fractions of the frame. */
interface Region {
  readonly x: number;
  readonly y: number;
  readonly width: number;
  readonly height: number;
}

/** Number of changed squares that are at least partly in the region. */
export function countChanged(change: Change, region: Region): number {
  let count = 0;
  for (const [from, to] of listRows(change, region))
    for (let i = from; i < to; i++) count += change.isChanged[i] as number;
  return count;
}

/** First and last index of the squares in each row of a region. */
function* listRows({ width, height }: Size, region: Region): Generator<readonly [from: number, to: number]> {
  const [left, top] = [Math.floor(region.x * width), Math.floor(region.y * height)];
  const right = Math.min(width, Math.ceil((region.x + region.width) * width));
  const bottom = Math.min(height, Math.ceil((region.y + region.height) * height));
  for (let y = top; y < bottom; y++) yield [y * width + left, y * width + right];
}

/** Keeps a reference and a noise estimate per square. The caller decides which frame is the next reference. */
export class PictureChange {
  #reference: Grey | null = null;
  #noise = new Float32Array();

  /** Null without a reference of this size. */
  next(plane: LumaPlane): { readonly picture: Grey; readonly change: Change | null } {
    const picture = average(plane);
    const before = this.#reference;
    if (before === null || before.width !== picture.width || before.height !== picture.height)
      return { picture, change: null };
    return { picture, change: this.#compare(before.data, picture) };
  }

  /** Later frames are compared with this one; with `regions`, only there. */
  refer(picture: Grey, regions?: readonly Region[]): void {
    if (this.#noise.length !== picture.data.length)
      this.#noise = new Float32Array(picture.data.length).fill(FIRST_NOISE);
    const before = this.#reference;
    if (regions === undefined || before?.data.length !== picture.data.length) {
      this.#reference = picture;
      return;
    }
    const data = before.data.slice();
    for (const region of regions)
      for (const [from, to] of listRows(picture, region)) data.set(picture.data.subarray(from, to), from);
    this.#reference = { ...picture, data };
  }

  forget(): void {
    this.#reference = null;
  }

  #compare(before: Float32Array, picture: Grey): Change {
    const differences = compensate(before, picture.data);
    const noise = this.#noise;
    const isChanged = new Uint8Array(differences.length);
    let count = 0;
    for (let i = 0; i < differences.length; i++) {
      if ((differences[i] as number) <= LEAST_DIFFERENCE + NOISE_FACTOR * (noise[i] as number)) continue;
      isChanged[i] = 1;
      count += 1;
    }
    if (count <= MOST_CHANGED * differences.length) learn(noise, differences);
    return { width: picture.width, height: picture.height, isChanged };
  }
}

/** Moves the noise towards the median difference, which an object that passes does not affect. */
function learn(noise: Float32Array, differences: Float32Array): void {
  for (let i = 0; i < differences.length; i++) {
    const old = noise[i] as number;
    const next = (differences[i] as number) > old ? old * (1 + NOISE_STEP) : old * (1 - NOISE_STEP);
    noise[i] = next < LEAST_NOISE ? LEAST_NOISE : next > MOST_NOISE ? MOST_NOISE : next;
  }
}

function average({ data, stride, width, height }: LumaPlane): Grey {
  const side = chooseStep(Math.max(width, height), MOST_SQUARES);
  const small = { width: Math.floor(width / side), height: Math.floor(height / side) };
  const target = new Float32Array(small.width * small.height);
  averageLuma(data, stride, width, height, side, target);
  return { ...small, data: target };
}

/** Absolute differences, without a change of brightness that all squares share. */
function compensate(before: Float32Array, now: Float32Array): Float32Array {
  const { gain, offset } = fitBrightness(before, now);
  const differences = new Float32Array(now.length);
  for (let i = 0; i < now.length; i++)
    differences[i] = Math.abs((now[i] as number) - gain * (before[i] as number) - offset);
  return differences;
}

/** From the old to the new brightness of a square. */
interface Line {
  readonly gain: number;
  readonly offset: number;
}

/** A line through some of the squares, fitted again without those that are further from it than most. */
function fitBrightness(before: Float32Array, now: Float32Array): Line {
  let line: Line = { gain: 1, offset: 0 };
  let furthest = Number.POSITIVE_INFINITY;
  for (let pass = 0; pass < FIT_PASSES; pass++) {
    line = fitLine(before, now, line, furthest);
    furthest = FIT_LIMIT * measureDistance(before, now, line);
  }
  return line;
}

/** Least squares over the squares that are at most `furthest` from the last line. */
function fitLine(before: Float32Array, now: Float32Array, last: Line, furthest: number): Line {
  let count = 0;
  let x = 0;
  let y = 0;
  let xx = 0;
  let xy = 0;
  for (let i = 0; i < now.length; i += FIT_STEP) {
    const from = before[i] as number;
    const to = now[i] as number;
    if (Math.abs(to - last.gain * from - last.offset) > furthest) continue;
    count += 1;
    x += from;
    y += to;
    xx += from * from;
    xy += from * to;
  }
  const spread = xx * count - x * x;
  // A picture of one brightness has no gain.
  const gain = spread > count * count ? (xy * count - x * y) / spread : 1;
  return { gain, offset: count === 0 ? 0 : (y - gain * x) / count };
}

/** The mean distance of the squares from a line. */
function measureDistance(before: Float32Array, now: Float32Array, { gain, offset }: Line): number {
  let total = 0;
  for (let i = 0; i < now.length; i += FIT_STEP)
    total += Math.abs((now[i] as number) - gain * (before[i] as number) - offset);
  return (total * FIT_STEP) / now.length;
}
