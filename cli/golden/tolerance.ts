/**
 * How much two runs may differ and still be the same.
 *
 * One machine gives the same bytes every time. A processor of another kind may not: its integer kernels round the last
 * bit of a layer otherwise, and an int8 model passes that on as a step or two of its output scale. For the default model
 * a step is 1.5 to 2.4 points of confidence and about 2 % of a box. Measured between arm64 and an emulated x86-64, single
 * detections of 37 frames: 270 above 30 %, no bias, 2 points at the 95th percentile, overlaps of 0.92 at the 5th. Above
 * the model's threshold at most 4.2 points, and an overlap of 0.65 at the worst, where another of two boxes as sure
 * survives; below it single ones are further off (17 points, 0.49). Kernels that are not fused are rougher: 6.5 points.
 *
 * An object whose confidence lies that near to a threshold is seen by one machine and not by the other; so its track may
 * begin, end or pause a few frames apart, or be missing. That is excused, but only for a small share of all objects: a
 * change that shifts every track is found. Objects that appear at about the same time may have swapped their ids.
 */
import { didYouMean } from "../../schemas/suggest.ts";
import { UsageFault } from "../command.ts";

export interface Tolerance {
  /** Boxes are the same from this overlap on (intersection over union) … */
  readonly iou: number;
  /** … or when no edge is further apart than this. */
  readonly pixels: number;
  /** Points of confidence, of 100. */
  readonly points: number;
  /** Frames by which a track may begin, end or pause apart. */
  readonly frames: number;
  /** Percent of all objects that may be on one side only, for the reasons above. */
  readonly share: number;
  /** Of all other numbers, relative to themselves. */
  readonly relative: number;
}

export const DEFAULT_TOLERANCE: Tolerance = { iou: 0.65, pixels: 2, points: 7, frames: 5, share: 5, relative: 0.001 };

/** Every byte alike. */
export const EXACT: Tolerance = { iou: 1, pixels: 0, points: 0, frames: 0, share: 0, relative: 0 };

const RANGES: Readonly<Record<keyof Tolerance, readonly [number, number]>> = {
  iou: [0, 1],
  pixels: [0, 10_000],
  points: [0, 100],
  frames: [0, 10_000],
  share: [0, 100],
  relative: [0, 1],
};

const isName = (name: string): name is keyof Tolerance => Object.hasOwn(RANGES, name);

/** `exact`, or `iou=0.9,points=3`: what is not named stays at its default. Throws `UsageFault`. */
export function readTolerance(text: string | undefined): Tolerance {
  if (text === undefined) return DEFAULT_TOLERANCE;
  if (text === "exact") return EXACT;
  const given = text.split(",").map((part) => {
    const [name = "", value = ""] = part.split("=").map((word) => word.trim());
    if (!isName(name)) {
      const names = Object.keys(RANGES);
      const hint = didYouMean(name, [...names, "exact"]);
      throw new UsageFault(`--tolerance has "${name}"; expected exact, or some of ${names.join(", ")}${hint}`);
    }
    const [least, most] = RANGES[name];
    const number = value === "" ? Number.NaN : Number(value);
    if (number >= least && number <= most) return [name, number] as const;
    throw new UsageFault(`--tolerance has ${name}=${value}; expected a number from ${least} to ${most}`);
  });
  return { ...DEFAULT_TOLERANCE, ...Object.fromEntries(given) };
}
