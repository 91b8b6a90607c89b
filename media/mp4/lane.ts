/**
 * The samples of one track on their way into fragments. How long a sample lasts is known when the next one comes: the
 * last one waits for it.
 */
import type { Unit } from "../unit.ts";
import type { Sample } from "./fragment.ts";
import { toTicks } from "./timing.ts";

export interface LaneOptions {
  readonly scale: number;
  /** What a sample lasts if nothing else is known. */
  readonly usualTicks: number;
  /** A sample this near to where the one before it should end is put there: times that were rounded on the way. */
  readonly snapTicks: number;
  /** What is longer is a gap, in which nothing is shown. */
  readonly longestTicks: number;
}

type Waiting = Omit<Sample, "duration">;

export class Lane {
  readonly #options: LaneOptions;
  #ready: Sample[] = [];
  #readyTicks = 0;
  /** The one that waits. */
  #last: Waiting | null = null;
  #lastTime: number | null = null;
  #step: number;

  constructor(options: LaneOptions) {
    this.#options = options;
    this.#step = options.usualTicks;
  }

  /** How long the ready ones last. */
  get readyTicks(): number {
    return this.#readyTicks;
  }

  /** What the last one will probably last. */
  get stepTicks(): number {
    return this.#step;
  }

  get isEmpty(): boolean {
    return this.#ready.length === 0 && this.#last === null;
  }

  /** Where the next one should begin; null before the first. */
  get nextTicks(): number | null {
    return this.#lastTime === null ? null : this.#lastTime + this.#step;
  }

  /** `zeroUs` is where the file begins. */
  add(unit: Unit, parts: readonly Uint8Array[], zeroUs: number): void {
    const { scale, snapTicks, usualTicks } = this.#options;
    const told = toTicks(unit.dtsUs - zeroUs, scale);
    const last = this.#lastTime;
    const expected = last === null ? told : last + usualTicks;
    const snapped = Math.abs(told - expected) <= snapTicks ? expected : told;
    // Rounding may bring two together.
    const time = last === null ? snapped : Math.max(snapped, last + 1);
    this.#learnStep(time);
    if (this.#last !== null) this.#push(this.#last, this.#step);
    const offset = Math.max(toTicks(unit.ptsUs - zeroUs, scale) - told, 0);
    this.#last = { time, offset, isKey: unit.isKey, parts };
    this.#lastTime = time;
  }

  /** The ready ones, but for so many of the newest. */
  take(except = 0): readonly Sample[] {
    const samples = this.#ready.splice(0, Math.max(this.#ready.length - except, 0));
    this.#readyTicks = this.#ready.reduce((sum, { duration }) => sum + duration, 0);
    return samples;
  }

  /** Makes the last one ready too, with the duration that it will probably have. */
  settle(): void {
    if (this.#last === null) return;
    this.#push(this.#last, this.#step);
    this.#last = null;
  }

  /** A gap teaches nothing. */
  #learnStep(time: number): void {
    const step = this.#lastTime === null ? this.#step : time - this.#lastTime;
    if (step <= this.#options.longestTicks) this.#step = step;
  }

  #push(sample: Waiting, duration: number): void {
    this.#ready.push({ ...sample, duration });
    this.#readyTicks += duration;
  }
}
