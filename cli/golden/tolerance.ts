/**
 * How much two runs may differ and still be the same.
 *
 * A machine that runs the same network gives the same numbers every time: `same`. Only what the run-time of the language
 * rounds, such as a power, may be off by the last digits that are written.
 *
 * Another kind of processor runs the network with other kernels, or with weights stored for them: `other`. Each layer of
 * an int8 model then rounds some values to the neighbouring step, and the output is a step or two higher or lower. What a
 * user would call the same is still the same: objects the model is confident of are there, where they were, of the same
 * class, and keep their id from frame to frame. So only those are compared: confident in one of the runs by `margin`
 * points more than the model asks for. Below that, rounding decides whether an object is seen at all, and, where one hides
 * another, which of them keeps its id.
 *
 * Measured on up to three clips of 100 frames (on arm64 two), about 1060 confident objects. The limits were chosen after
 * these runs, so they describe them and are not tested by them. Largest change of confidence, mean one, mean overlap,
 * objects beyond the limits of one object, objects of one track in both runs; each of the worst clip:
 *
 *   arm64 and x86-64                                    4 points   0.1   0.98   0.4 %    93 %
 *   arm64 and x86-64 without VNNI, weights narrowed    14 points   0.3   0.98   0.4 %   100 %
 *   x86-64 with and without VNNI, weights narrowed      7 points   0.3   0.98   0.9 %    93 %
 *   the same network on AVX2, AVX-512 and VNNI         byte for byte the same
 *   layers not fused, which no session here asks for   33 points   0.1   0.97   3.3 %    87 %   reported on one clip of three
 *   int8 that saturates, which is a fault              49 points   2.7   0.94    17 %    89 %   reported on every clip
 *
 * VNNI and AVX-512 were hidden from the processor's own answer (cpuid) on a machine that has them.
 *
 * Limits for one object as wide as rounding needs would hide a small change that all objects share; over all objects
 * rounding cancels out, so the means have narrow limits of their own.
 */
import { didYouMean } from "../../schemas/suggest.ts";
import { UsageFault } from "../command.ts";
import type { GoldenHeader } from "./golden.ts";

export interface Tolerance {
  /** Points of confidence, of 100, above the threshold of the model from which objects are compared; null: all are. */
  readonly margin: number | null;
  /** Boxes are the same from this overlap on (intersection over union) … */
  readonly iou: number;
  /** … or when no edge is further apart than this. */
  readonly pixels: number;
  /** Points of confidence. */
  readonly points: number;
  /** Percent of the compared objects that may be missing, extra or beyond the limits above … */
  readonly share: number;
  /** … for this many frames of one track in a row. */
  readonly frames: number;
  /** Over all objects of the run; null where every object and every id must be the same. */
  readonly overall: OverallTolerance | null;
  /** Of all other numbers, relative to themselves. */
  readonly relative: number;
}

export interface OverallTolerance {
  /** Mean change of confidence, up or down. */
  readonly points: number;
  /** Mean by which an edge is off in one direction, percent of the width or height of its box. */
  readonly percent: number;
  /** Least mean overlap. */
  readonly iou: number;
  /** Least percent of objects that are of one track in both runs. */
  readonly identity: number;
  /** Percent by which the highest id may differ; a difference of 2 is always allowed. */
  readonly ids: number;
}

export const LEVELS = {
  /** Every byte alike: the lines are compared too. */
  exact: { margin: null, iou: 1, pixels: 0, points: 0, share: 0, frames: 0, overall: null, relative: 0 },
  same: { margin: null, iou: 0.999, pixels: 0.05, points: 0.05, share: 0, frames: 0, overall: null, relative: 1e-6 },
  other: {
    margin: 10,
    iou: 0.8,
    pixels: 2,
    points: 8,
    share: 2,
    frames: 5,
    overall: { points: 1, percent: 1, iou: 0.95, identity: 85, ids: 25 },
    relative: 0.001,
  },
} as const satisfies Readonly<Record<string, Tolerance>>;
export type Level = keyof typeof LEVELS;

const isLevel = (name: string): name is Level => Object.hasOwn(LEVELS, name);

/** Null when none is given. Throws `UsageFault`. */
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
