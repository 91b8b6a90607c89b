import { type Judged, OVERLAPS } from "./match.ts";

export const RECALLS = 101;
const RECALL_STEP = 0.01;

/** Of one class, for each of `OVERLAPS`. */
export interface PrecisionCurves {
  readonly objects: number;
  /** Precision at the recalls 0, 0.01 … 1: the best that is reached there or beyond. */
  readonly curves: readonly Float64Array[];
  /** Share of the objects that was found at all. */
  readonly recalls: readonly number[];
}

/** Null where there is nothing to be found, and precision has no meaning. */
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
    // Rounded as COCO's own evaluation rounds it, so that a recall of exactly a step falls on the same side.
    while (at < recalls.length && (recalls[at] as number) < i * RECALL_STEP) at += 1;
    curve[i] = precisions[at] ?? 0;
  }
  return { curve, recall: right / objects };
}

export const mean = (values: ArrayLike<number>): number =>
  Array.from(values).reduce((sum, value) => sum + value, 0) / values.length;
