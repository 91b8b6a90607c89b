/** Matches the detections of an image by COCO's rules, one class at a time, and draws precision curves. */
import type { PixelBox, TrueObject } from "./dataset.ts";

/** Overlap thresholds: 0.50, 0.55 … 0.95. */
export const OVERLAPS: readonly number[] = Array.from({ length: 10 }, (_, i) => (50 + 5 * i) / 100);

/** As in COCO: the most confident detections per class and image. */
const MOST_A_PICTURE = 100;
/** Accepts an overlap of exactly the threshold despite rounding. */
const SLACK = 1e-10;

/** In square pixels, inclusive. Objects of other areas count neither way. */
export interface AreaRange {
  readonly from: number;
  readonly to: number;
}

export interface FoundObject {
  readonly box: PixelBox;
  readonly score: number;
}

/** A detection, and for each of `OVERLAPS` whether it is right (1), wrong (0) or does not count (-1). */
export interface Judged {
  readonly score: number;
  readonly outcomes: Int8Array;
}

/** Returns the detections by confidence, and the number of objects to find. */
export function matchPicture(
  truth: readonly TrueObject[],
  found: readonly FoundObject[],
  range: AreaRange,
): { readonly judged: readonly Judged[]; readonly objects: number } {
  const counts = ({ area, isCrowd }: TrueObject) => !isCrowd && isWithin(area, range);
  // Counted objects first: a detection matches another one only if none of these is free.
  const objects = [...truth.filter(counts), ...truth.filter((object) => !counts(object))];
  const counted = truth.filter(counts).length;
  const sorted = [...found].sort((a, b) => b.score - a.score).slice(0, MOST_A_PICTURE);
  const overlaps = sorted.map(({ box }) => objects.map((object) => overlapOf(box, object)));
  const judged = sorted.map(({ score }) => ({ score, outcomes: new Int8Array(OVERLAPS.length) }));
  for (const [step, least] of OVERLAPS.entries()) {
    const taken = new Set<number>();
    for (const [index, { outcomes }] of judged.entries()) {
      const match = chooseObject(overlaps[index] ?? [], objects, counted, taken, least);
      if (match >= 0) taken.add(match);
      const [, , width, height] = sorted[index]?.box ?? [0, 0, 0, 0];
      if (match < 0) outcomes[step] = isWithin(width * height, range) ? 0 : -1;
      else outcomes[step] = match < counted ? 1 : -1;
    }
  }
  return { judged, objects: counted };
}

/** The free object with the greatest overlap, or -1. Crowds match any number of detections. */
function chooseObject(
  overlaps: readonly number[],
  objects: readonly TrueObject[],
  counted: number,
  taken: ReadonlySet<number>,
  least: number,
): number {
  let best = -1;
  let most = Math.min(least, 1 - SLACK);
  for (const [index, overlap] of overlaps.entries()) {
    if (taken.has(index) && objects[index]?.isCrowd !== true) continue;
    if (best >= 0 && best < counted && index >= counted) break;
    if (overlap < most) continue;
    most = overlap;
    best = index;
  }
  return best;
}

const isWithin = (area: number, { from, to }: AreaRange): boolean => area >= from && area <= to;

/** Intersection over union; for a crowd, over the area of the detection. */
export function overlapOf(found: PixelBox, { box, isCrowd }: Pick<TrueObject, "box" | "isCrowd">): number {
  const width = Math.min(found[0] + found[2], box[0] + box[2]) - Math.max(found[0], box[0]);
  const height = Math.min(found[1] + found[3], box[1] + box[3]) - Math.max(found[1], box[1]);
  if (width <= 0 || height <= 0) return 0;
  const shared = width * height;
  const area = found[2] * found[3];
  return shared / (isCrowd ? area : area + box[2] * box[3] - shared);
}

export const RECALLS = 101;
const RECALL_STEP = 0.01;

/** Of one class, for each of `OVERLAPS`. */
export interface PrecisionCurves {
  readonly objects: number;
  /** Precision at the recalls 0, 0.01 … 1: the best at that recall or above. */
  readonly curves: readonly Float64Array[];
  /** Share of the objects found. */
  readonly recalls: readonly number[];
}

/** Null without objects. */
export function drawPrecision(judged: readonly Judged[], objects: number): PrecisionCurves | null {
  if (objects === 0) return null;
  const sorted = [...judged].sort((a, b) => b.score - a.score);
  const steps = OVERLAPS.map((_, step) => drawCurve(sorted, step, objects));
  return { objects, curves: steps.map(({ curve }) => curve), recalls: steps.map(({ recall }) => recall) };
}

function drawCurve(
  sorted: readonly Judged[],
  step: number,
  objects: number,
): { readonly curve: Float64Array; readonly recall: number } {
  const precisions: number[] = [];
  const recalls: number[] = [];
  let right = 0;
  for (const { outcomes } of sorted) {
    const outcome = outcomes[step] ?? -1;
    if (outcome < 0) continue;
    right += outcome;
    precisions.push(right / (precisions.length + 1));
    recalls.push(right / objects);
  }
  for (let i = precisions.length - 2; i >= 0; i--)
    precisions[i] = Math.max(precisions[i] as number, precisions[i + 1] as number);
  const curve = new Float64Array(RECALLS);
  for (let i = 0, at = 0; i < RECALLS; i++) {
    // Computed as in COCO's own evaluation, so that rounding is the same.
    while (at < recalls.length && (recalls[at] as number) < i * RECALL_STEP) at += 1;
    curve[i] = precisions[at] ?? 0;
  }
  return { curve, recall: right / objects };
}

export const mean = (values: ArrayLike<number>): number =>
  Array.from(values).reduce((sum, value) => sum + value, 0) / values.length;
