/** Decodes, crops and scales images of tracks. Pure, with limits on size and memory. */
import { decode } from "jpeg-js";

/** Three bytes per pixel, row by row. */
export interface Picture {
  readonly width: number;
  readonly height: number;
  readonly rgb: Uint8Array;
}

/** `[left, top, width, height]` in pixels. */
export type Region = readonly [number, number, number, number];

const MOST_MEGAPIXELS = 4;
const MOST_MEMORY_MB = 128;
const START_OF_SCAN = 0xda;
const APP14 = 0xee;
/** "Adob". */
const ADOB = 0x41646f62;

/** Null for a file that is not a JPEG, is damaged, or is too large. */
export function decodePicture(jpeg: Uint8Array): Picture | null {
  try {
    const { width, height, data } = decode(jpeg, {
      ...{ useTArray: true, formatAsRGBA: false, tolerantDecoding: false },
      ...{ maxResolutionInMP: MOST_MEGAPIXELS, maxMemoryUsageInMB: MOST_MEMORY_MB },
      colorTransform: !holdsRgb(jpeg),
    });
    return data.length === width * height * 3 ? { width, height, rgb: data } : null;
  } catch {
    return null;
  }
}

/**
 * Most JPEGs store YCbCr. Some store RGB and state that in an Adobe segment (APP14, transform 0), which the decoder
 * ignores.
 */
function holdsRgb(jpeg: Uint8Array): boolean {
  const view = new DataView(jpeg.buffer, jpeg.byteOffset, jpeg.byteLength);
  for (let at = 2; at + 16 <= jpeg.length && jpeg[at] === 0xff; at += 2 + view.getUint16(at + 2)) {
    const marker = jpeg[at + 1];
    if (marker === START_OF_SCAN) return false;
    if (marker === APP14 && view.getUint32(at + 4) === ADOB) return jpeg[at + 15] === 0;
  }
  return false;
}

/** The part of the region inside the image, at least one pixel. */
export function crop({ width, height, rgb }: Picture, region: Region): Picture {
  const left = clamp(Math.round(region[0]), 0, width - 1);
  const top = clamp(Math.round(region[1]), 0, height - 1);
  const right = clamp(Math.round(region[0] + region[2]), left + 1, width);
  const bottom = clamp(Math.round(region[1] + region[3]), top + 1, height);
  const size = { width: right - left, height: bottom - top };
  const cut = new Uint8Array(size.width * size.height * 3);
  for (let y = 0; y < size.height; y++) {
    const from = ((top + y) * width + left) * 3;
    cut.set(rgb.subarray(from, from + size.width * 3), y * size.width * 3);
  }
  return { ...size, rgb: cut };
}

/** Area averaging for a smaller size, bilinear interpolation for a larger one. */
export function resize(picture: Picture, width: number, height: number): Picture {
  const columns = planSpans(picture.width, width);
  const rows = planSpans(picture.height, height);
  const rgb = new Uint8Array(width * height * 3);
  for (let y = 0, place = 0; y < height; y++)
    for (let x = 0; x < width; x++)
      for (let channel = 0; channel < 3; channel++)
        rgb[place++] = Math.round(sum(picture, columns[x] as Span, rows[y] as Span, channel));
  return { width, height, rgb };
}

/** Returns a small image unchanged. */
export function shrink(picture: Picture, longestSide: number): Picture {
  const scale = longestSide / Math.max(picture.width, picture.height);
  if (scale >= 1) return picture;
  const scaled = (side: number) => Math.max(1, Math.round(side * scale));
  return resize(picture, scaled(picture.width), scaled(picture.height));
}

/** The source pixels of one pixel, with their weights. */
interface Span {
  readonly first: number;
  readonly weights: readonly number[];
}

function planSpans(from: number, to: number): readonly Span[] {
  const scale = from / to;
  return Array.from({ length: to }, (_, index) =>
    scale > 1 ? coverSpan(index * scale, scale, from) : mixSpan((index + 0.5) * scale - 0.5, from),
  );
}

function coverSpan(start: number, length: number, from: number): Span {
  const first = Math.floor(start);
  const last = Math.min(from, Math.ceil(start + length - 1e-9));
  const weights = Array.from({ length: last - first }, (_, i) => {
    const covered = Math.min(first + i + 1, start + length) - Math.max(first + i, start);
    return covered / length;
  });
  return { first, weights };
}

function mixSpan(centre: number, from: number): Span {
  const place = clamp(centre, 0, from - 1);
  const first = Math.min(Math.floor(place), Math.max(0, from - 2));
  const share = place - first;
  return { first, weights: from === 1 ? [1] : [1 - share, share] };
}

function sum({ width, rgb }: Picture, columns: Span, rows: Span, channel: number): number {
  let total = 0;
  for (const [j, row] of rows.weights.entries())
    for (const [i, column] of columns.weights.entries())
      total += row * column * (rgb[((rows.first + j) * width + columns.first + i) * 3 + channel] as number);
  return total;
}

const clamp = (value: number, least: number, most: number): number => Math.min(most, Math.max(least, value));
