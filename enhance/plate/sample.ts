/** Pictures as networks take them: planes of numbers, blue first, as those of PP-OCR were taught. Pure. */
import type { Picture } from "../picture.ts";
import type { TextRegion } from "./text-regions.ts";

export interface Planes {
  readonly data: Float32Array;
  readonly width: number;
  readonly height: number;
}

interface Scaling {
  readonly mean: readonly [number, number, number];
  readonly std: readonly [number, number, number];
}

export const FINDING: Scaling = { mean: [0.485, 0.456, 0.406], std: [0.229, 0.224, 0.225] };
export const READING: Scaling = { mean: [0.5, 0.5, 0.5], std: [0.5, 0.5, 0.5] };

/** The picture is as large as the planes, or smaller: the rest is 0. */
export function toPlanes(picture: Picture, width: number, height: number, { mean, std }: Scaling): Planes {
  const data = new Float32Array(3 * width * height);
  for (let channel = 0; channel < 3; channel++)
    for (let y = 0; y < picture.height; y++)
      for (let x = 0; x < picture.width; x++) {
        const value = picture.rgb[(y * picture.width + x) * 3 + (2 - channel)] as number;
        data[(channel * height + y) * width + x] = (value / 255 - (mean[channel] as number)) / (std[channel] as number);
      }
  return { data, width, height };
}

/** The region laid level, so many pixels high. Each pixel lies between its neighbours; beyond the picture is its edge. */
export function straighten(picture: Picture, region: TextRegion, height: number, mostWidth: number): Picture {
  const scale = region.height / height;
  const width = Math.min(mostWidth, Math.max(1, Math.round(region.width / scale)));
  const [cos, sin] = [Math.cos(region.tiltRad), Math.sin(region.tiltRad)];
  const rgb = new Uint8Array(width * height * 3);
  for (let y = 0, place = 0; y < height; y++)
    for (let x = 0; x < width; x++) {
      const u = ((x + 0.5) / width - 0.5) * region.width;
      const v = ((y + 0.5) / height - 0.5) * region.height;
      const [fromX, fromY] = [region.centreX + u * cos - v * sin - 0.5, region.centreY + u * sin + v * cos - 0.5];
      for (let channel = 0; channel < 3; channel++) rgb[place++] = Math.round(mix(picture, fromX, fromY, channel));
    }
  return { width, height, rgb };
}

function mix({ width, height, rgb }: Picture, x: number, y: number, channel: number): number {
  const [left, top] = [Math.floor(x), Math.floor(y)];
  const [right, below] = [x - left, y - top];
  const at = (column: number, row: number): number => {
    const place = clamp(row, height) * width + clamp(column, width);
    return rgb[place * 3 + channel] as number;
  };
  const upper = at(left, top) * (1 - right) + at(left + 1, top) * right;
  const lower = at(left, top + 1) * (1 - right) + at(left + 1, top + 1) * right;
  return upper * (1 - below) + lower * below;
}

const clamp = (place: number, count: number): number => Math.min(count - 1, Math.max(0, place));
