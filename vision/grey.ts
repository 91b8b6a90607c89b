/** Small grey images of frames, their pyramids, and the optical flow of points between two pyramids. */
import { followPoints, halveGrey, shrinkLuma } from "../native/kernels.ts";

/** Luma as floats, row by row. */
export interface Grey {
  readonly width: number;
  readonly height: number;
  readonly data: Float32Array;
}

export interface LumaPlane {
  readonly data: Uint8Array;
  readonly stride: number;
  readonly width: number;
  readonly height: number;
}

/** Frame pixels per pixel of a small image no wider than `widest`. */
export const chooseStep = (width: number, widest: number): number => Math.max(1, Math.ceil(width / widest));

/**
 * A small image, each of whose pixels is the mean of four out of `step` × `step`. The memory of `spare`, an image no
 * longer in use, is reused if it has the right size.
 */
export function shrink({ data, stride, width, height }: LumaPlane, step: number, spare?: Grey): Grey {
  const small = { width: Math.floor(width / step), height: Math.floor(height / step) };
  const target = takeMemory(small.width * small.height, spare);
  shrinkLuma(data, stride, width, height, step, target);
  return { ...small, data: target };
}

/** The image and smaller copies, each half as wide as the one before; reuses the memory of `spare` as above. */
export function buildPyramid(grey: Grey, levels: number, spare: readonly Grey[] = []): readonly Grey[] {
  const pyramid = [grey];
  while (pyramid.length < levels) pyramid.push(halve(pyramid.at(-1) as Grey, spare[pyramid.length]));
  return pyramid;
}

const takeMemory = (length: number, spare?: Grey): Float32Array =>
  spare?.data.length === length ? spare.data : new Float32Array(length);

function halve({ width, height, data }: Grey, spare?: Grey): Grey {
  const half = { width: width >> 1, height: height >> 1 };
  const target = takeMemory(half.width * half.height, spare);
  halveGrey(data, width, height, target);
  return { ...half, data: target };
}

/** Pyramid level at which the search starts, and the expected shift in pixels of the largest image. */
export interface FlowStart {
  readonly level: number;
  readonly right: number;
  readonly down: number;
}

/**
 * Positions in `after` of the points of `before` (pyramidal Lucas-Kanade). Points are interleaved x and y in pixels of the
 * largest image; points that are lost become NaN.
 */
export function follow(
  before: readonly Grey[],
  after: readonly Grey[],
  points: Float32Array,
  { level, right, down }: FlowStart,
): Float32Array {
  const { width, height } = before[0] as Grey;
  const images = (pyramid: readonly Grey[]) => pyramid.map(({ data }) => data);
  return followPoints(images(before), images(after), width, height, points, level, right, down);
}
