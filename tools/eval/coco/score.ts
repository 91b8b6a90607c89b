/** Average precision over a dataset. All scores are shares from 0 to 1. */

import type { Detection } from "../../../schemas/detections.ts";
import type { Picture } from "./dataset.ts";
import {
  type AreaRange,
  drawPrecision,
  type FoundObject,
  type Judged,
  matchPicture,
  mean,
  OVERLAPS,
  type PrecisionCurves,
} from "./match.ts";

const EVERYTHING = 1e10;
const RANGES = {
  all: { from: 0, to: EVERYTHING },
  small: { from: 0, to: 32 ** 2 },
  medium: { from: 32 ** 2, to: 96 ** 2 },
  large: { from: 96 ** 2, to: EVERYTHING },
} as const satisfies Readonly<Record<string, AreaRange>>;

/** Detections of an image, by class. */
export type Found = ReadonlyMap<string, readonly FoundObject[]>;

export interface ClassScores {
  readonly name: string;
  readonly objects: number;
  readonly ap: number;
  readonly ap50: number;
  readonly ap75: number;
  readonly curves: PrecisionCurves;
}

export interface CocoScores {
  /** The mean over classes and overlaps. */
  readonly ap: number;
  readonly ap50: number;
  readonly ap75: number;
  /** Share of the objects found, the mean over classes and overlaps. */
  readonly ar: number;
  /** Null without objects of that size. */
  readonly small: number | null;
  readonly medium: number | null;
  readonly large: number | null;
  /** Classes with objects. */
  readonly classes: readonly ClassScores[];
}

/** `found` has an entry per image. Classes without objects are ignored; null if there are no others. */
export function scoreCoco(
  pictures: readonly Picture[],
  found: readonly Found[],
  classNames: readonly string[],
): CocoScores | null {
  const scored = classNames.map((name) => ({ name, sheet: collectClass(pictures, found, name) }));
  const measure = (range: AreaRange) =>
    scored.flatMap(({ name, sheet }) => {
      const curves = measureClass(sheet, range);
      return curves === null ? [] : [{ name, curves }];
    });
  const meanAp = (range: AreaRange): number | null => {
    const measured = measure(range);
    return measured.length === 0 ? null : mean(measured.map(({ curves }) => apOf(curves)));
  };
  const classes = measure(RANGES.all).map(({ name, curves }): ClassScores => {
    const [ap50, ap75] = [0.5, 0.75].map((overlap) => apAt(curves, overlap));
    return { name, objects: curves.objects, ap: apOf(curves), ap50: ap50 ?? 0, ap75: ap75 ?? 0, curves };
  });
  if (classes.length === 0) return null;
  return {
    ap: mean(classes.map(({ ap }) => ap)),
    ap50: mean(classes.map(({ ap50 }) => ap50)),
    ap75: mean(classes.map(({ ap75 }) => ap75)),
    ar: mean(classes.map(({ curves }) => mean(curves.recalls))),
    small: meanAp(RANGES.small),
    medium: meanAp(RANGES.medium),
    large: meanAp(RANGES.large),
    classes,
  };
}

const apOf = ({ curves }: PrecisionCurves): number => mean(curves.map(mean));

const apAt = ({ curves }: PrecisionCurves, overlap: number): number => mean(curves[OVERLAPS.indexOf(overlap)] ?? []);

function collectClass(pictures: readonly Picture[], found: readonly Found[], className: string) {
  return pictures
    .map(({ truth }, index) => ({
      truth: truth.filter((object) => object.className === className),
      found: found[index]?.get(className) ?? [],
    }))
    .filter(({ truth, found: ofClass }) => truth.length > 0 || ofClass.length > 0);
}

function measureClass(sheet: ReturnType<typeof collectClass>, range: AreaRange): PrecisionCurves | null {
  const judged: Judged[] = [];
  let objects = 0;
  for (const { truth, found } of sheet) {
    const matched = matchPicture(truth, found, range);
    judged.push(...matched.judged);
    objects += matched.objects;
  }
  return drawPrecision(judged, objects);
}

/** Groups detections by class, with boxes in pixels. */
export function groupByClass(
  detections: readonly Detection[],
  { width, height }: Pick<Picture, "width" | "height">,
): Found {
  const found = new Map<string, FoundObject[]>();
  for (const { className, confidence, box } of detections) {
    const ofClass = found.get(className) ?? [];
    ofClass.push({ score: confidence, box: [box[0] * width, box[1] * height, box[2] * width, box[3] * height] });
    found.set(className, ofClass);
  }
  return found;
}
