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
  const near = Math.floor(step / 4);
  const apart = Math.floor((3 * step) / 4) - near;
  for (let y = 0, place = 0; y < small.height; y++) {
    let upper = (y * step + near) * stride + near;
    let lower = upper + apart * stride;
    for (const end = place + small.width; place < end; place++, upper += step, lower += step) {
      const left = (data[upper] as number) + (data[lower] as number);
      const right = (data[upper + apart] as number) + (data[lower + apart] as number);
      target[place] = (left + right) / 4;
    }
  }
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
  for (let y = 0, place = 0; y < half.height; y++) {
    for (let x = 0, from = 2 * y * width; x < half.width; x++, from += 2) {
      const upper = (data[from] as number) + (data[from + 1] as number);
      target[place++] = (upper + (data[from + width] as number) + (data[from + width + 1] as number)) / 4;
    }
  }
  return { ...half, data: target };
}
