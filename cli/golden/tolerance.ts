/**
 * How much two runs may differ and still be the same.
 *
 * One kind of machine that runs one network gives the same numbers every time: `same`. Only what the run-time of the
 * language rounds, such as a power, may be off by the last digits that are written.
 *
 * A processor of another kind rounds the last bit of a layer otherwise, and an int8 model passes that on as a step or two
 * of its output scale: `other`. For the default model a step is 1.5 to 2.4 points of confidence and about 2 % of a box.
 * Measured between arm64 and an emulated x86-64, single detections of 37 frames: 270 above 30 %, no bias, 2 points at the
 * 95th percentile, overlaps of 0.92 at the 5th. Above the model's threshold at most 4.2 points, and an overlap of 0.65 at
 * the worst, where another of two boxes as sure survives. Kernels that are not fused are rougher: 6.5 points.
 *
 * Limits as wide as that for one object would hide a change that all of them share; so the means over the run, where
 * rounding cancels out, have limits of their own (with noise of one level on the pixels of a clip: 0.2 points, 0.7 % and
 * 0.94). And an object whose confidence lies that near to a threshold is seen by
 * one machine and not by the other: its track may begin, end or pause a few frames apart, or be missing. That is excused
 * for a small share of all objects.
 */
import { didYouMean } from "../../schemas/suggest.ts";
import { UsageFault } from "../command.ts";
import type { GoldenHeader } from "./golden.ts";

export interface Tolerance {
  /** Boxes are the same from this overlap on (intersection over union) … */
  readonly iou: number;
  /** … or when no edge is further apart than this. */
  readonly pixels: number;
  /** Points of confidence, of 100. */
  readonly points: number;
  /** Over all objects of the run; null where the limits of one object are tighter than any mean. */
  readonly mean: MeanTolerance | null;
  /** Frames by which a track may begin, end or pause apart. With 0 every id must be the same. */
  readonly frames: number;
  /** Percent of all objects that may be on one side only, for the reasons above. */
  readonly share: number;
  /** Of all other numbers, relative to themselves. */
  readonly relative: number;
}

export interface MeanTolerance {
  /** Of confidence, up or down. */
  readonly points: number;
  /** By which an edge is off, of the width or height of its box. */
  readonly percent: number;
  /** At least. */
  readonly iou: number;
}

export const LEVELS = {
  /** Every byte alike: the lines are compared too. */
  exact: { iou: 1, pixels: 0, points: 0, mean: null, frames: 0, share: 0, relative: 0 },
  same: { iou: 0.999, pixels: 0.05, points: 0.05, mean: null, frames: 0, share: 0, relative: 1e-6 },
  other: {
    iou: 0.65,
    pixels: 2,
    points: 7,
    mean: { points: 1, percent: 2, iou: 0.9 },
    frames: 5,
    share: 5,
    relative: 0.001,
  },
} as const satisfies Readonly<Record<string, Tolerance>>;
export type Level = keyof typeof LEVELS;

const isLevel = (name: string): name is Level => Object.hasOwn(LEVELS, name);

/** Null when nothing is said. Throws `UsageFault`. */
export function readLevel(text: string | undefined): Level | null {
  if (text === undefined || isLevel(text)) return text ?? null;
  const names = Object.keys(LEVELS);
  throw new UsageFault(`--tolerance is "${text}"; expected ${names.join(", ")}${didYouMean(text, names)}`);
}

/** `same` where the same kind of machine runs the same networks. */
export function chooseLevel(was: GoldenHeader, is: GoldenHeader): Level {
  const networks = ({ models }: GoldenHeader) => models.map(({ network }) => network).join();
  return was.machine === is.machine && networks(was) === networks(is) ? "same" : "other";
}
