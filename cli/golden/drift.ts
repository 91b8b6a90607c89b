/** Decisions about all differences together: the average drift, and which differences rounding explains. Pure. */

import type { Difference } from "./difference.ts";
import { edgesOf, overlap } from "./frames.ts";
import { LEAST_OVERLAP, type Pair } from "./pairs.ts";
import type { OverallTolerance, Tolerance } from "./tolerance.ts";

/** A mean of fewer is not significant. */
const LEAST_PAIRS = 20;
const EDGES = ["left", "top", "right", "bottom"] as const;

/** Finds a small change that all objects share. One sentence for every mean beyond its limit. */
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

const OF_ONE_OBJECT: ReadonlySet<Difference["kind"]> = new Set(["missing", "extra", "class", "box", "confidence"]);

/** Differences that rounding explains: few of all `objects`, and never for long in one track. */
export function findExcused(
  differences: readonly Difference[],
  objects: number,
  { frames, share }: Pick<Tolerance, "frames" | "share">,
): ReadonlySet<Difference> {
  const excused = groupByTrack(differences.filter(({ kind }) => OF_ONE_OBJECT.has(kind)))
    .flatMap(splitRuns)
    .filter((run) => lengthOf(run) <= frames)
    .flat();
  return new Set(excused.length <= Math.ceil((objects * share) / 100) ? excused : []);
}

function groupByTrack(differences: readonly Difference[]): readonly (readonly Difference[])[] {
  const tracks = new Map<string, Difference[]>();
  for (const difference of differences) {
    // The id of an extra object is from the other run.
    const key = `${difference.kind === "extra"} ${difference.track}`;
    tracks.set(key, [...(tracks.get(key) ?? []), difference]);
  }
  return [...tracks.values()];
}

/** One frame in between, without confidence in either run, does not end a series. */
const MOST_APART = 2;

/** `differences` are sorted by frame. */
function splitRuns(differences: readonly Difference[]): readonly (readonly Difference[])[] {
  const runs: Difference[][] = [];
  for (const difference of differences) {
    const run = runs.at(-1);
    const last = run?.at(-1);
    if (run === undefined || frameOf(difference) - frameOf(last) > MOST_APART) runs.push([difference]);
    else run.push(difference);
  }
  return runs;
}

const frameOf = (difference: Difference | undefined): number => difference?.frame ?? 0;

/** In frames. */
const lengthOf = (run: readonly Difference[]): number => frameOf(run.at(-1)) - frameOf(run[0]) + 1;
