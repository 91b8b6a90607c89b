/**
 * The offset between two clocks by what both saw: how the picture moved, and how it should have moved by telemetry. Only a
 * camera that turns now and then, and not always alike, tells it.
 */
import { PictureMotion } from "../../vision/picture-motion.ts";
import type { Frame } from "../element.ts";

/** What the picture did from one frame to another, in heights of the frame. */
interface Sight {
  readonly fromMs: number;
  readonly toMs: number;
  readonly right: number;
  readonly down: number;
}

/** How the picture should move from one time of telemetry to another; null where it does not tell. */
export type Foresee = (fromMs: number, toMs: number) => readonly [right: number, down: number] | null;

export interface Match {
  readonly offsetMs: number;
  /** One standard deviation. */
  readonly errorMs: number;
}

const WINDOW_MS = 12_000;
const MAX_SIGHTS = 160;
const MIN_SIGHTS = 40;
/** How far off the clocks may be. */
export const REACH_MS = 1500;
const STEP_MS = 20;
/** The way by telemetry is reckoned at these steps: turns take longer. */
const WAY_STEP_MS = 50;
/** Mean square of how the motion differs from its mean, in heights of the frame a second: less is noise. */
const MIN_MOTION = 0.03;
const MIN_LIKENESS = 0.8;
const WORST_ERROR_MS = 50;
/** What is wrong with one sight is often wrong with the next, too. */
const CAUTION = 2;

export class TurnMatch {
  #sights: Sight[] = [];

  see(sight: Sight): void {
    this.#sights = this.#sights.filter(({ fromMs }) => sight.toMs - fromMs <= WINDOW_MS).slice(1 - MAX_SIGHTS);
    this.#sights.push(sight);
  }

  forget(): void {
    this.#sights = [];
  }

  /** `nearMs`: about where to look. `told`: from when to when telemetry tells. Null when nothing is sure. */
  find(nearMs: number, told: { readonly fromMs: number; readonly toMs: number }, foresee: Foresee): Match | null {
    const sights = this.#sights.filter(
      ({ fromMs, toMs }) => fromMs - nearMs - REACH_MS >= told.fromMs && toMs - nearMs + REACH_MS <= told.toMs,
    );
    if (sights.length < MIN_SIGHTS || !isLively(sights)) return null;
    const foreseen = sumUp(
      foresee,
      Math.min(...sights.map((one) => one.fromMs)) - nearMs - REACH_MS,
      Math.max(...sights.map((one) => one.toMs)) - nearMs + REACH_MS,
    );
    if (foreseen === null) return null;
    const count = Math.floor((2 * REACH_MS) / STEP_MS) + 1;
    const misses = Array.from({ length: count }, (_, i) => miss(sights, foreseen, nearMs - REACH_MS + i * STEP_MS));
    return judge(misses, nearMs - REACH_MS, sights.length);
  }
}

/** The way that the middle of the picture should have gone since `startMs`, at every step. */
interface Way {
  readonly startMs: number;
  readonly right: Float64Array;
  readonly down: Float64Array;
}

function sumUp(foresee: Foresee, startMs: number, endMs: number): Way | null {
  const count = Math.ceil((endMs - startMs) / WAY_STEP_MS) + 2;
  const way = { startMs, right: new Float64Array(count), down: new Float64Array(count) };
  for (let i = 1; i < count; i++) {
    const step = foresee(startMs + (i - 1) * WAY_STEP_MS, startMs + i * WAY_STEP_MS);
    if (step === null) return null;
    way.right[i] = (way.right[i - 1] as number) + step[0];
    way.down[i] = (way.down[i - 1] as number) + step[1];
  }
  return way;
}

function isLively(sights: readonly Sight[]): boolean {
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
 * The share of the motion seen that an offset leaves unexplained, from 0 to 1. Means do not count, for a steady pan fits
 * everywhere; nor does size, for a field of view may be a little off.
 */
function miss(sights: readonly Sight[], way: Way, offsetMs: number): number {
  const read = (path: Float64Array, timeMs: number): number => {
    const place = (timeMs - way.startMs) / WAY_STEP_MS;
    const i = Math.min(Math.max(Math.floor(place), 0), path.length - 2);
    return (path[i] as number) + ((path[i + 1] as number) - (path[i] as number)) * (place - i);
  };
  let [seen, told, both] = [0, 0, 0];
  for (const [axis, path] of [
    ["right", way.right],
    ["down", way.down],
  ] as const) {
    let [sum, sumTold] = [0, 0];
    for (const sight of sights) {
      const moved = read(path, sight.toMs - offsetMs) - read(path, sight.fromMs - offsetMs);
      seen += sight[axis] ** 2;
      told += moved ** 2;
      both += sight[axis] * moved;
      sum += sight[axis];
      sumTold += moved;
    }
    seen -= sum ** 2 / sights.length;
    told -= sumTold ** 2 / sights.length;
    both -= (sum * sumTold) / sights.length;
  }
  return told <= 1e-12 || both <= 0 ? 1 : 1 - both ** 2 / (seen * told);
}

function judge(misses: readonly number[], startMs: number, sights: number): Match | null {
  const best = misses.indexOf(Math.min(...misses));
  // The curve is looked at over some steps on both sides: over one, noise is most of it.
  const wide = 3;
  const [low, least, high] = [misses[best - wide], misses[best], misses[best + wide]];
  if (low === undefined || least === undefined || high === undefined) return null;
  const bend = low + high - 2 * least;
  if (bend <= 0 || 1 - least < MIN_LIKENESS ** 2) return null;
  const shift = Math.min(Math.max((low - high) / (2 * bend), -1), 1) * wide * STEP_MS;
  const curvature = bend / (wide * STEP_MS) ** 2;
  const errorMs = CAUTION * Math.sqrt((2 * least) / sights / curvature);
  return errorMs > WORST_ERROR_MS ? null : { offsetMs: startMs + best * STEP_MS + shift, errorMs };
}

/** So often is enough to see a camera turn, and costs little. */
const LOOK_EVERY_MS = 95;
const MATCH_EVERY_MS = 2000;
const LONGEST_STEP_MS = 500;

/** Looks at some frames, and tells by which offset telemetry explains best how they moved. */
export class PictureTurns {
  readonly #motion = new PictureMotion();
  readonly #match = new TurnMatch();
  #seenMs: number | null = null;
  #matchedMs = Number.NEGATIVE_INFINITY;

  look(frame: Pick<Frame, "format" | "planes" | "discontinuity">, frameMs: number): void {
    const { pixels, width, height } = frame.format;
    if (pixels !== "I420" && pixels !== "NV12") return;
    if (frame.discontinuity) this.forget();
    const lastMs = this.#seenMs;
    if (lastMs !== null && frameMs >= lastMs && frameMs - lastMs < LOOK_EVERY_MS) return;
    const plane = frame.planes[0];
    if (plane === undefined) return;
    this.#seenMs = frameMs;
    const motion = this.#motion.next(plane, []);
    if (motion === null || lastMs === null || frameMs <= lastMs || frameMs - lastMs > LONGEST_STEP_MS) return;
    const { a, b, right, down } = motion;
    const [x, y] = [width / height / 2, 0.5];
    this.#match.see({
      fromMs: lastMs,
      toMs: frameMs,
      right: a * x - b * y + right - x,
      down: b * x + a * y + down - y,
    });
  }

  isDue(frameMs: number): boolean {
    return frameMs < this.#matchedMs || frameMs - this.#matchedMs >= MATCH_EVERY_MS;
  }

  match(nearMs: number, told: { readonly fromMs: number; readonly toMs: number }, foresee: Foresee): Match | null {
    this.#matchedMs = this.#seenMs ?? this.#matchedMs;
    return this.#match.find(nearMs, told, foresee);
  }

  forget(): void {
    this.#motion.forget();
    this.#match.forget();
    this.#seenMs = null;
  }
}
