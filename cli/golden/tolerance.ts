/**
 * How much two runs may differ and still count as the same.
 *
 * `same`: a machine that runs the same network gives the same numbers every time. Only values that the JavaScript runtime
 * rounds, such as powers, may differ in the last written digits.
 *
 * `other`: another kind of processor runs the network with other kernels, or with weights converted for them. Each layer
 * of an int8 model then rounds some values to the neighbouring step, and the output differs by a step or two. The result
 * is still the same to a user: confident objects exist at the same place, with the same class, and keep their id from
 * frame to frame. So only objects are compared whose confidence, in one of the runs, is `margin` points above the
 * threshold of the model. Below that, rounding decides whether an object is detected at all and, where one hides another,
 * which of them keeps its id.
 *
 * Measured on up to three clips of 100 frames (on arm64 two), about 1060 confident objects. The limits were chosen after
 * these runs, so they describe them and are not validated by them. Columns: largest change of confidence, mean change,
 * mean overlap, objects beyond the limits of one object, objects in the same track in both runs; each of the worst clip:
 *
 *   arm64 and x86-64                                    4 points   0.1   0.98   0.4 %    93 %
 *   arm64 and x86-64 without VNNI, weights narrowed    14 points   0.3   0.98   0.4 %   100 %
 *   x86-64 with and without VNNI, weights narrowed      7 points   0.3   0.98   0.9 %    93 %
 *   the same network on AVX2, AVX-512 and VNNI         byte for byte the same
 *   layers not fused, which no session here asks for   33 points   0.1   0.97   3.3 %    87 %   reported on one clip of three
 *   int8 that saturates, which is a fault              49 points   2.7   0.94    17 %    89 %   reported on every clip
 *
 * VNNI and AVX-512 were masked in cpuid on a machine that has them.
 *
 * Limits for one object as wide as rounding needs would hide a small change that all objects share. Over all objects
 * rounding cancels out, so the means have narrow limits of their own.
 */
import { didYouMean } from "../../schemas/suggest.ts";
import { UsageFault } from "../command.ts";
import type { GoldenHeader } from "./golden.ts";

export interface Tolerance {
  /** Objects are compared from this many points of confidence (of 100) above the model threshold; null: all are. */
  readonly margin: number | null;
  /** Boxes match from this overlap (intersection over union) … */
  readonly iou: number;
  /** … or if no edges are further apart. */
  readonly pixels: number;
  /** Points of confidence. */
  readonly points: number;
  /** Percent of the compared objects that may be missing, extra or beyond these limits … */
  readonly share: number;
  /** … for up to this many consecutive frames of one track. */
  readonly frames: number;
  /** Over all objects of the run; null if every object and every id must match. */
  readonly overall: OverallTolerance | null;
  /** Relative difference of numbers in detection messages that are computed from boxes, such as speeds. */
  readonly computed: number;
  /** Of the events of alerts in milliseconds; null if they are compared as all other messages. */
  readonly eventsApartMs: number | null;
  /** Relative difference of all other numbers. */
  readonly relative: number;
}

export interface OverallTolerance {
  /** Mean change of confidence, up or down. */
  readonly points: number;
  /** Mean offset of an edge, in percent of the width or height of its box. */
  readonly percent: number;
  /** Minimum mean overlap. */
  readonly iou: number;
  /** Minimum percent of objects in the same track in both runs. */
  readonly identity: number;
  /** Percent by which the highest id may differ; a difference of 2 is always allowed. */
  readonly ids: number;
}

export const LEVELS = {
  /** The lines are compared too. */
  exact: {
    ...{ margin: null, iou: 1, pixels: 0, points: 0, share: 0, frames: 0, overall: null },
    ...{ computed: 0, eventsApartMs: null, relative: 0 },
  },
  same: {
    ...{ margin: null, iou: 0.999, pixels: 0.05, points: 0.05, share: 0, frames: 0, overall: null },
    ...{ computed: 1e-6, eventsApartMs: null, relative: 1e-6 },
  },
  other: {
    margin: 10,
    iou: 0.8,
    pixels: 2,
    points: 8,
    share: 2,
    frames: 5,
    overall: { points: 1, percent: 1, iou: 0.95, identity: 85, ids: 25 },
    computed: 0.05,
    eventsApartMs: 500,
    relative: 0.001,
  },
} as const satisfies Readonly<Record<string, Tolerance>>;
export type Level = keyof typeof LEVELS;

const isLevel = (name: string): name is Level => Object.hasOwn(LEVELS, name);

/** Null without `text`. Throws `UsageFault`. */
export function readLevel(text: string | undefined): Level | null {
  if (text === undefined || isLevel(text)) return text ?? null;
  const names = Object.keys(LEVELS);
  throw new UsageFault(`--tolerance is "${text}"; expected ${names.join(", ")}${didYouMean(text, names)}`);
}

/** `same` if the same kind of machine runs the same networks. */
export function chooseLevel(was: GoldenHeader, is: GoldenHeader): Level {
  const networks = ({ models }: GoldenHeader) => models.map(({ network }) => network).join();
  return was.machine === is.machine && networks(was) === networks(is) ? "same" : "other";
}
