/** Synthetic cars: a body on a road, glass, tyres, shade, a highlight. */
import { encode } from "jpeg-js";
import type { Picture } from "./picture.ts";

type Rgb = readonly [number, number, number];

export interface Painting {
  readonly paint: Rgb;
  readonly road?: Rgb;
  readonly sky?: Rgb;
  /** The lower part is darker, down to this share of the light. */
  readonly shade?: number;
  readonly width?: number;
}

const GLASS: Rgb = [38, 42, 48];
const TYRE: Rgb = [24, 24, 25];

export function paintCar({
  paint,
  road = [112, 110, 108],
  sky = [176, 186, 196],
  shade = 0.6,
  width = 160,
}: Painting): Picture {
  const height = Math.round(width * 0.56);
  const rgb = new Uint8Array(width * height * 3);
  for (let y = 0, place = 0; y < height; y++)
    for (let x = 0; x < width; x++) {
      const [u, v] = [x / width, y / height];
      const grain = (((x * 7 + y * 13) % 11) - 5) * 0.8;
      for (const value of colourAt(u, v, { paint, road, sky, shade })) rgb[place++] = clamp(value + grain);
    }
  return { width, height, rgb };
}

function colourAt(u: number, v: number, { paint, road, sky, shade }: Required<Omit<Painting, "width">>): Rgb {
  if (Math.hypot(u - 0.27, (v - 0.8) * 0.56) < 0.075 || Math.hypot(u - 0.73, (v - 0.8) * 0.56) < 0.075) return TYRE;
  const isBody = u > 0.09 && u < 0.91 && v > 0.42 && v < 0.8;
  const isCabin = v > 0.13 && v <= 0.42 && u > 0.2 + (0.42 - v) * 0.3 && u < 0.8 - (0.42 - v) * 0.3;
  if (isCabin && v > 0.19 && Math.abs(u - 0.5) > 0.02) return GLASS;
  if (isBody || isCabin) {
    if (isBody && v < 0.47) return mix(paint, [255, 255, 255], 0.35);
    const light = v < 0.6 ? 1 : 1 - (1 - shade) * ((v - 0.6) / 0.2);
    return mix(paint, [0, 0, 0], 1 - light);
  }
  return v < 0.5 ? sky : v > 0.8 && Math.abs(u - 0.5) < 0.4 ? mix(road, [0, 0, 0], 0.5) : road;
}

const mix = (one: Rgb, other: Rgb, share: number): Rgb => [
  one[0] + (other[0] - one[0]) * share,
  one[1] + (other[1] - one[1]) * share,
  one[2] + (other[2] - one[2]) * share,
];
const clamp = (value: number): number => Math.min(255, Math.max(0, Math.round(value)));

/** In base64, like patches. */
export function toPatch({ width, height, rgb }: Picture): string {
  const data = new Uint8Array(width * height * 4).fill(255);
  for (let i = 0; i < width * height; i++) data.set(rgb.subarray(i * 3, i * 3 + 3), i * 4);
  return encode({ width, height, data }, 90).data.toString("base64");
}
