/** Estimates camera motion from the common motion of the objects. Pure. */
import type { Sighting, TrackBox } from "./mot-tracker.ts";
import type { ObjectTrack } from "./object-track.ts";

/** Unpredicted camera motion per second, in lengths of the objects, and the share of it that persists. */
const DEVIATION = 0.35;
const LASTING = 0.4;
/** Time constant of camera motion. */
const UNREST_S = 0.5;
/** If a smaller share of the objects is matched, the camera may have jolted. */
const JOLT_SHARE = 0.7;

/** Pairs tracks with sightings: the column of each row or -1. */
type Pair = (tracks: readonly ObjectTrack[], sightings: readonly Sighting[]) => Int32Array;

/** Estimates camera motion from the common motion of the objects, where the image gives none. */
export class CameraFollower {
  /** Recent camera motion, in lengths of the objects per second. */
  #unrest = 0;

  /** Shifts `all` tracks with the camera. `witnesses` are those with a reliable state. */
  follow(
    all: readonly ObjectTrack[],
    witnesses: readonly ObjectTrack[],
    sightings: readonly Sighting[],
    seconds: number,
    pair: Pair,
  ): void {
    if (witnesses.length < MIN_MISSES || sightings.length < MIN_MISSES || !(seconds > 0)) return;
    let pairs = pair(witnesses, sightings);
    let shifted = 0;
    if (countPairs(pairs) < JOLT_SHARE * Math.min(witnesses.length, sightings.length)) {
      const jolt = findJolt(
        witnesses.map(({ filter }) => filter.box),
        sightings.map(({ box }) => box),
      );
      if (jolt !== null) {
        shift(all, jolt.right, jolt.down, 0);
        shifted = Math.hypot(jolt.right, jolt.down);
        pairs = pair(witnesses, sightings);
      }
    }
    const misses = listMisses(witnesses, sightings, pairs);
    if (misses.right.length < MIN_MISSES) return;
    const length = misses.meanLength * seconds;
    const deviation = length * (DEVIATION + this.#unrest);
    const right = estimateCommonMiss(misses.right, deviation);
    const down = estimateCommonMiss(misses.down, deviation);
    shift(all, right, down, LASTING / seconds);
    const unrest = (Math.hypot(right, down) + shifted) / length;
    this.#unrest += Math.min(1, seconds / UNREST_S) * (unrest - this.#unrest);
  }

  forget(): void {
    this.#unrest = 0;
  }
}

function shift(tracks: readonly ObjectTrack[], right: number, down: number, lasting: number): void {
  for (const { filter } of tracks) {
    filter.x.shift(right, right * lasting);
    filter.y.shift(down, down * lasting);
  }
}

function listMisses(tracks: readonly ObjectTrack[], sightings: readonly Sighting[], pairs: Int32Array) {
  const right: Miss[] = [];
  const down: Miss[] = [];
  let lengths = 0;
  tracks.forEach(({ filter, spread }, row) => {
    const sighting = sightings[pairs[row] as number];
    if (sighting === undefined) return;
    const [left, top, width, height] = sighting.box;
    right.push({ offset: left + width / 2 - filter.x.position, variance: spread.x });
    down.push({ offset: top + height / 2 - filter.y.position, variance: spread.y });
    lengths += filter.unit;
  });
  return { right, down, meanLength: lengths / Math.max(1, right.length) };
}

const countPairs = (pairs: Int32Array): number => pairs.reduce((count, column) => (column < 0 ? count : count + 1), 0);

/** Difference between the sighting of a track and its expected position, along one axis. */
export interface Miss {
  readonly offset: number;
  /** Of the offset. */
  readonly variance: number;
}

/** With fewer objects, the objects themselves may have moved. */
const MIN_MISSES = 3;
/** Iterations of reweighting outliers. */
const ROUNDS = 3;
const TAILS = 3;

/**
 * The common part of several misses, caused by the camera. Robust against outliers, and regularised towards 0 by
 * `deviation`, the standard deviation of unpredicted camera motion.
 */
export function estimateCommonMiss(misses: readonly Miss[], deviation: number): number {
  if (misses.length < MIN_MISSES || !(deviation > 0)) return 0;
  let estimate = findMedian(misses);
  for (let round = 0; round < ROUNDS; round++) {
    let sum = 0;
    let weights = 1 / (deviation * deviation);
    for (const { offset, variance } of misses) {
      const rest = offset - estimate;
      const weight = 1 / (variance + (rest * rest) / TAILS);
      sum += weight * offset;
      weights += weight;
    }
    estimate = sum / weights;
  }
  return estimate;
}

/** Median weighted by the inverse variance. */
function findMedian(misses: readonly Miss[]): number {
  const sorted = [...misses].sort((a, b) => a.offset - b.offset || a.variance - b.variance);
  let left = sorted.reduce((sum, { variance }) => sum + 1 / variance, 0) / 2;
  for (const { offset, variance } of sorted) {
    left -= 1 / variance;
    if (left <= 0) return offset;
  }
  return 0;
}

/** Number of objects used, and their maximum shift in their own lengths. */
const MAX_OBJECTS = 30;
const MIN_OBJECTS = 3;
const FURTHEST = 2.5;
/** Maximum ratio of the sizes of one object in two frames. */
const SIZE_RATIO = 1.25;
/** Objects that agree with a shift differ by less than this part of their length. */
const TOLERANCE = 0.15;
/** Share of the objects that must agree, and how many more than without a shift. */
const MIN_SHARE = 0.6;
const MIN_GAIN = 1.5;

interface Step {
  readonly object: number;
  readonly right: number;
  readonly down: number;
  readonly length: number;
}

/**
 * A sudden shift of the camera, too large to match objects at their expected positions: the shift that brings most of
 * them to a sighting. Null if none is much better than no shift.
 */
export function findJolt(
  expected: readonly TrackBox[],
  sightings: readonly TrackBox[],
): { readonly right: number; readonly down: number } | null {
  const objects = expected.slice(0, MAX_OBJECTS);
  if (objects.length < MIN_OBJECTS) return null;
  const steps = listSteps(objects, sightings);
  const least = Math.max(MIN_SHARE * objects.length, countAgreeing(steps, 0, 0) + MIN_GAIN);
  let best: Step | null = null;
  let bestCount = least;
  for (const step of steps) {
    const count = countAgreeing(steps, step.right, step.down);
    if (count > bestCount) {
      bestCount = count;
      best = step;
    }
  }
  return best;
}

function listSteps(objects: readonly TrackBox[], sightings: readonly TrackBox[]): readonly Step[] {
  const steps: Step[] = [];
  objects.forEach((from, object) => {
    const length = Math.max(from[2], from[3]);
    for (const to of sightings) {
      const right = to[0] + to[2] / 2 - from[0] - from[2] / 2;
      const down = to[1] + to[3] / 2 - from[1] - from[3] / 2;
      const ratio = to[3] / from[3];
      if (Math.abs(right) + Math.abs(down) > FURTHEST * length || ratio > SIZE_RATIO || ratio < 1 / SIZE_RATIO)
        continue;
      steps.push({ object, right, down, length });
    }
  });
  return steps;
}

/** Each object counts once, weighted by its distance. */
function countAgreeing(steps: readonly Step[], right: number, down: number): number {
  let count = 0;
  let object = -1;
  let nearest = 0;
  for (const step of steps) {
    if (step.object !== object) {
      count += nearest;
      nearest = 0;
      object = step.object;
    }
    const off = ((step.right - right) ** 2 + (step.down - down) ** 2) / (TOLERANCE * step.length) ** 2;
    if (1 - off > nearest) nearest = 1 - off;
  }
  return count + nearest;
}
