import { halveGrey, shrinkLuma } from "../native/motion.ts";

/** Brightness as numbers, row by row. */
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

/** Pixels of the frame for each pixel of a small picture no wider than `widest`. */
export const chooseStep = (width: number, widest: number): number => Math.max(1, Math.ceil(width / widest));

/**
 * A small picture, each of whose pixels is the mean of four taken out of `step` × `step`. `spare` is a picture that is no
 * longer needed: its memory is used again where it has the right size.
 */
export function shrink({ data, stride, width, height }: LumaPlane, step: number, spare?: Grey): Grey {
  const small = { width: Math.floor(width / step), height: Math.floor(height / step) };
  const target = takeMemory(small.width * small.height, spare);
  shrinkLuma(data, stride, width, height, step, target);
  return { ...small, data: target };
}

/** The picture and smaller ones of it, each half as wide as the one before; in the memory of `spare` as above. */
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
