/** Perceptual colours (CIELAB under daylight, computed by culori), and clusters of similar ones. */
import { convertLab65ToRgb, convertRgbToLab65, differenceCiede2000, modeLab65, modeRgb, useMode } from "culori/fn";
import type { Picture } from "../picture.ts";

useMode(modeRgb);
useMode(modeLab65);

/** Lightness from 0 to 100; a from green to red, b from blue to yellow. */
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

/** CIEDE2000. Below 1 the difference is invisible; above 20 it is another colour. */
export const differenceOf = (one: Lab, other: Lab): number => difference(toMode(one), toMode(other));

const toMode = ([l, a, b]: Lab) => ({ mode: "lab65", l, a, b }) as const;

/** Distance from grey. */
export const chromaOf = ([, a, b]: Lab): number => Math.hypot(a, b);

/** Weight of the hue. Small differences matter in the dark: a bluish black is the shaded side of a blue object. */
export const hueCounts = (lightness: number): number => Math.min(2, Math.max(0.6, 50 / (lightness + 15)));

/** Three numbers per pixel, row by row. */
export function readLab({ rgb }: Picture): Float32Array {
  const lab = new Float32Array(rgb.length);
  for (let i = 0; i < rgb.length; i += 3) lab.set(toLab([at(rgb, i), at(rgb, i + 1), at(rgb, i + 2)]), i);
  return lab;
}

const at = (rgb: Uint8Array, index: number): number => rgb[index] as number;

interface Clusters {
  readonly centres: readonly Lab[];
  /** The cluster of each pixel. */
  readonly of: Uint8Array;
}

/** Consecutive groups of three numbers. */
type Triples = Float32Array;

const ROUNDS = 10;
/** Light and shade change the lightness of one paint, so lightness counts less than hue. */
const LIGHTNESS_COUNTS = 0.6;

/** Groups pixels by colour with k-means. Deterministic: it uses no random start. */
export function cluster(lab: Triples, count: number): Clusters {
  const traits = readTraits(lab);
  const of = new Uint8Array(lab.length / 3);
  let centres = chooseCentres(traits, count);
  for (let round = 0; round < ROUNDS; round++) {
    assign(traits, centres, of);
    centres = average(traits, of, centres);
  }
  assign(traits, centres, of);
  const means = average(lab, of, centres);
  return { centres: Array.from({ length: means.length / 3 }, (_, k) => tripleOf(means, k)), of };
}

/** The coordinates in which pixels are compared. */
function readTraits(lab: Triples): Triples {
  const traits = new Float32Array(lab.length);
  for (let i = 0; i < lab.length; i += 3) {
    const counts = hueCounts(lab[i] as number);
    traits[i] = (lab[i] as number) * LIGHTNESS_COUNTS;
    traits[i + 1] = (lab[i + 1] as number) * counts;
    traits[i + 2] = (lab[i + 2] as number) * counts;
  }
  return traits;
}

/** The first is the pixel closest to the mean, each further one the most distant from all before. */
function chooseCentres(traits: Triples, count: number): Triples {
  const pixels = traits.length / 3;
  const middle = average(traits, new Uint8Array(pixels), new Float32Array(3));
  const farness = Float32Array.from({ length: pixels }, (_, i) => -apart(traits, i, middle, 0));
  const chosen = [findLargest(farness)];
  farness.fill(Number.POSITIVE_INFINITY);
  while (chosen.length < count) {
    const last = chosen.at(-1) as number;
    for (let i = 0; i < pixels; i++) farness[i] = Math.min(farness[i] as number, apart(traits, i, traits, last));
    const next = findLargest(farness);
    if ((farness[next] as number) < 1) break;
    chosen.push(next);
  }
  return Float32Array.from(chosen.flatMap((index) => [...tripleOf(traits, index)]));
}

/** Its index. */
export function findLargest(values: Float32Array): number {
  let best = 0;
  for (let i = 1; i < values.length; i++) if ((values[i] as number) > (values[best] as number)) best = i;
  return best;
}

function assign(traits: Triples, centres: Triples, of: Uint8Array): void {
  for (let i = 0; i < of.length; i++) {
    let best = 0;
    let least = Number.POSITIVE_INFINITY;
    for (let k = 0; k < centres.length / 3; k++) {
      const distance = apart(traits, i, centres, k);
      if (distance < least) {
        best = k;
        least = distance;
      }
    }
    of[i] = best;
  }
}

/** An empty cluster keeps its centre. */
function average(values: Triples, of: Uint8Array, before: Triples): Triples {
  const sums = new Float64Array(before.length);
  const counts = new Uint32Array(before.length / 3);
  for (let i = 0; i < of.length; i++) {
    const k = of[i] as number;
    counts[k] = (counts[k] as number) + 1;
    for (let c = 0; c < 3; c++) sums[k * 3 + c] = (sums[k * 3 + c] as number) + (values[i * 3 + c] as number);
  }
  return Float32Array.from(before, (value, place) => {
    const count = counts[Math.floor(place / 3)] as number;
    return count === 0 ? value : (sums[place] as number) / count;
  });
}

function apart(some: Triples, index: number, others: Triples, other: number): number {
  const first = (some[index * 3] as number) - (others[other * 3] as number);
  const second = (some[index * 3 + 1] as number) - (others[other * 3 + 1] as number);
  const third = (some[index * 3 + 2] as number) - (others[other * 3 + 2] as number);
  return first * first + second * second + third * third;
}

const tripleOf = (values: Triples, index: number): Lab => [
  values[index * 3] as number,
  values[index * 3 + 1] as number,
  values[index * 3 + 2] as number,
];
