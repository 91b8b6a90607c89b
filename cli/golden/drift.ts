/** What the limits of one object are too wide to show: a change that all objects have in common. Pure. */
import { edgesOf, overlap } from "./frames.ts";
import { LEAST_OVERLAP, type Pair } from "./pair-objects.ts";
import type { OverallTolerance } from "./tolerance.ts";

/** Of fewer, a mean says nothing. */
const LEAST_PAIRS = 20;
const EDGES = ["left", "top", "right", "bottom"] as const;

/** One sentence for every mean that is beyond its limit. */
export function findDrift(pairs: readonly Pair[], limits: OverallTolerance): readonly string[] {
  const near = pairs.filter(([was, is]) => overlap(was.box, is.box) >= LEAST_OVERLAP);
  if (near.length < LEAST_PAIRS) return [];
  const mean = (measure: (pair: Pair) => number): number =>
    near.reduce((sum, pair) => sum + measure(pair), 0) / near.length;
  const points = mean(([was, is]) => is.confidence - was.confidence);
  const iou = mean(([was, is]) => overlap(was.box, is.box));
  const edges = EDGES.map((name, edge) => ({ name, percent: mean((pair) => percentOff(pair, edge)) }));
  return [
    ...(Math.abs(points) > limits.points ? [`confidence ${sign(points)} points`] : []),
    ...edges
      .filter(({ percent }) => Math.abs(percent) > limits.percent)
      .map(({ name, percent }) => `${name} edge ${sign(percent)} % of the box`),
    ...(iou < limits.iou ? [`IoU ${iou.toFixed(2)}`] : []),
  ].map((what) => `over ${near.length} objects, on average: ${what}`);
}

/** Positive to the right and down. */
function percentOff([was, is]: Pair, edge: number): number {
  const off = (edgesOf(is.box)[edge] ?? 0) - (edgesOf(was.box)[edge] ?? 0);
  const size = was.box[edge % 2 === 0 ? 2 : 3];
  return size > 0 ? (off / size) * 100 : 0;
}

const sign = (value: number): string => `${value > 0 ? "+" : ""}${value.toFixed(1)}`;
