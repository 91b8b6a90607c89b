/** Colours by how they look: CIELAB under daylight, as culori computes it. */
import { convertLab65ToRgb, convertRgbToLab65, differenceCiede2000, modeLab65, modeRgb, useMode } from "culori/fn";
import type { Picture } from "../picture.ts";

useMode(modeRgb);
useMode(modeLab65);

/** Lightness from 0 to 100; towards red and yellow, or green and blue. */
export type Lab = readonly [lightness: number, a: number, b: number];
export type Rgb = readonly [red: number, green: number, blue: number];

export function toLab([red, green, blue]: Rgb): Lab {
  const { l, a, b } = convertRgbToLab65({ r: red / 255, g: green / 255, b: blue / 255 });
  return [l, a, b];
}

export function toRgb([l, a, b]: Lab): [number, number, number] {
  const rgb = convertLab65ToRgb({ l, a, b });
  const toByte = (value: number) => Math.min(255, Math.max(0, Math.round(value * 255)));
  return [toByte(rgb.r), toByte(rgb.g), toByte(rgb.b)];
}

const difference = differenceCiede2000();

/** CIEDE2000. Below 1 nobody sees it; above 20 it is another colour. */
export const tellApart = (one: Lab, other: Lab): number => difference(toMode(one), toMode(other));

const toMode = ([l, a, b]: Lab) => ({ mode: "lab65", l, a, b }) as const;

/** How far from grey. */
export const chromaOf = ([, a, b]: Lab): number => Math.hypot(a, b);

/** In the dark little is much: a black that is somewhat blue is the shaded side of something blue. */
export const hueCounts = (lightness: number): number => Math.min(2, Math.max(0.6, 50 / (lightness + 15)));

/** Three numbers a pixel, row by row. */
export function readLab({ rgb }: Picture): Float32Array {
  const lab = new Float32Array(rgb.length);
  for (let i = 0; i < rgb.length; i += 3) lab.set(toLab([at(rgb, i), at(rgb, i + 1), at(rgb, i + 2)]), i);
  return lab;
}

const at = (rgb: Uint8Array, index: number): number => rgb[index] as number;
