/**
 * Estimates the offset between two clocks by comparing the motion of the image with the motion predicted by telemetry.
 * Requires a camera that rotates with changing speed.
 */
import { PictureMotion } from "../../vision/picture-motion.ts";
import type { Frame } from "../element.ts";

/** Motion of the image from one frame to another, in heights of the frame. */
interface Sight {
  readonly fromMs: number;
  readonly toMs: number;
  readonly right: number;
  readonly down: number;
}

/** Motion of the image predicted by telemetry between two times; null if unknown. */
type Predict = (fromMs: number, toMs: number) => readonly [right: number, down: number] | null;

export interface Match {
  readonly offsetMs: number;
  /** One standard deviation. */
  readonly errorMs: number;
}

const WINDOW_MS = 12_000;
const MAX_SIGHTS = 160;
const MIN_SIGHTS = 40;
/** Maximum offset that is searched. */
const REACH_MS = 1500;
const STEP_MS = 20;
/** Time step of the predicted path: rotations take longer. */
const WAY_STEP_MS = 50;
/** Minimum standard deviation of the motion, in heights of the frame per second: less is noise. */
const MIN_MOTION = 0.03;
const MIN_LIKENESS = 0.8;
const WORST_ERROR_MS = 50;
/** Errors of consecutive observations are correlated. */
const CAUTION = 2;

export class TurnMatch {
  #sights: Sight[] = [];

  add(sight: Sight): void {
    this.#sights = this.#sights.filter(({ fromMs }) => sight.toMs - fromMs <= WINDOW_MS).slice(1 - MAX_SIGHTS);
    this.#sights.push(sight);
  }

  forget(): void {
    this.#sights = [];
  }

  /** `nearMs`: centre of the search. `covered`: time range of telemetry. Null if there is no reliable match. */
  find(nearMs: number, covered: { readonly fromMs: number; readonly toMs: number }, predict: Predict): Match | null {
    const sights = this.#sights.filter(
      ({ fromMs, toMs }) => fromMs - nearMs - REACH_MS >= covered.fromMs && toMs - nearMs + REACH_MS <= covered.toMs,
    );
    if (sights.length < MIN_SIGHTS || !isVaried(sights)) return null;
    const predicted = integrate(
      predict,
      Math.min(...sights.map((one) => one.fromMs)) - nearMs - REACH_MS,
      Math.max(...sights.map((one) => one.toMs)) - nearMs + REACH_MS,
    );
    if (predicted === null) return null;
    const count = Math.floor((2 * REACH_MS) / STEP_MS) + 1;
    const residuals = Array.from({ length: count }, (_, i) =>
      unexplained(sights, predicted, nearMs - REACH_MS + i * STEP_MS),
    );
    return findMinimum(residuals, nearMs - REACH_MS, sights.length);
  }
}

/** Predicted path of the middle of the image since `startMs`, at every step. */
interface Way {
  readonly startMs: number;
  readonly right: Float64Array;
  readonly down: Float64Array;
}

function integrate(predict: Predict, startMs: number, endMs: number): Way | null {
  const count = Math.ceil((endMs - startMs) / WAY_STEP_MS) + 2;
  const way = { startMs, right: new Float64Array(count), down: new Float64Array(count) };
  for (let i = 1; i < count; i++) {
    const step = predict(startMs + (i - 1) * WAY_STEP_MS, startMs + i * WAY_STEP_MS);
    if (step === null) return null;
    way.right[i] = (way.right[i - 1] as number) + step[0];
    way.down[i] = (way.down[i - 1] as number) + step[1];
  }
  return way;
}

function isVaried(sights: readonly Sight[]): boolean {
  const rates = sights.map(({ fromMs, toMs, right, down }) => {
    const seconds = (toMs - fromMs) / 1000;
    return [right / seconds, down / seconds] as const;
  });
  const mean = [0, 1].map((axis) => rates.reduce((sum, rate) => sum + (rate[axis] as number), 0) / rates.length);
  const square = rates.reduce(
    (sum, [right, down]) => sum + (right - (mean[0] as number)) ** 2 + (down - (mean[1] as number)) ** 2,
    0,
  );
  return Math.sqrt(square / rates.length) > MIN_MOTION;
}

/**
 * The share of the observed motion that an offset does not explain, from 0 to 1. Ignores the mean, since a steady pan
 * matches everywhere, and the scale, since the field of view may be inaccurate.
 */
function unexplained(sights: readonly Sight[], way: Way, offsetMs: number): number {
  const read = (path: Float64Array, timeMs: number): number => {
    const place = (timeMs - way.startMs) / WAY_STEP_MS;
    const i = Math.min(Math.max(Math.floor(place), 0), path.length - 2);
    return (path[i] as number) + ((path[i + 1] as number) - (path[i] as number)) * (place - i);
  };
  let [seen, expected, both] = [0, 0, 0];
  for (const [axis, path] of [
    ["right", way.right],
    ["down", way.down],
  ] as const) {
    let [sum, sumPredicted] = [0, 0];
    for (const sight of sights) {
      const moved = read(path, sight.toMs - offsetMs) - read(path, sight.fromMs - offsetMs);
      seen += sight[axis] ** 2;
      expected += moved ** 2;
      both += sight[axis] * moved;
      sum += sight[axis];
      sumPredicted += moved;
    }
    seen -= sum ** 2 / sights.length;
    expected -= sumPredicted ** 2 / sights.length;
    both -= (sum * sumPredicted) / sights.length;
  }
  return expected <= 1e-12 || both <= 0 ? 1 : 1 - both ** 2 / (seen * expected);
}

function findMinimum(residuals: readonly number[], startMs: number, sights: number): Match | null {
  const best = residuals.indexOf(Math.min(...residuals));
  // The curvature is measured over several steps: over one it is mostly noise.
  const wide = 3;
  const [low, least, high] = [residuals[best - wide], residuals[best], residuals[best + wide]];
  if (low === undefined || least === undefined || high === undefined) return null;
  const bend = low + high - 2 * least;
  if (bend <= 0 || 1 - least < MIN_LIKENESS ** 2) return null;
  const shift = Math.min(Math.max((low - high) / (2 * bend), -1), 1) * wide * STEP_MS;
  const curvature = bend / (wide * STEP_MS) ** 2;
  const errorMs = CAUTION * Math.sqrt((2 * least) / sights / curvature);
  return errorMs > WORST_ERROR_MS ? null : { offsetMs: startMs + best * STEP_MS + shift, errorMs };
}

/** Frequent enough to observe rotations, at low cost. */
const OBSERVE_EVERY_MS = 95;
const MATCH_EVERY_MS = 2000;
const LONGEST_STEP_MS = 500;

/** Observes some of the frames, and finds the offset at which telemetry explains their motion best. */
export class PictureTurns {
  readonly #motion = new PictureMotion();
  readonly #match = new TurnMatch();
  #seenMs: number | null = null;
  #matchedMs = Number.NEGATIVE_INFINITY;

  observe(frame: Pick<Frame, "format" | "planes" | "discontinuity">, frameMs: number): void {
    const { pixels, width, height } = frame.format;
    if (pixels !== "I420" && pixels !== "NV12") return;
    if (frame.discontinuity) this.forget();
    const lastMs = this.#seenMs;
    if (lastMs !== null && frameMs >= lastMs && frameMs - lastMs < OBSERVE_EVERY_MS) return;
    const plane = frame.planes[0];
    if (plane === undefined) return;
    this.#seenMs = frameMs;
    const motion = this.#motion.next(plane, []);
    if (motion === null || lastMs === null || frameMs <= lastMs || frameMs - lastMs > LONGEST_STEP_MS) return;
    const { a, b, right, down } = motion;
    const [x, y] = [width / height / 2, 0.5];
    this.#match.add({
      fromMs: lastMs,
      toMs: frameMs,
      right: a * x - b * y + right - x,
      down: b * x + a * y + down - y,
    });
  }

  isDue(frameMs: number): boolean {
    return frameMs < this.#matchedMs || frameMs - this.#matchedMs >= MATCH_EVERY_MS;
  }

  match(nearMs: number, covered: { readonly fromMs: number; readonly toMs: number }, predict: Predict): Match | null {
    this.#matchedMs = this.#seenMs ?? this.#matchedMs;
    return this.#match.find(nearMs, covered, predict);
  }

  forget(): void {
    this.#motion.forget();
    this.#match.forget();
    this.#seenMs = null;
  }
}
