/** Values ordered by time, and their interpolation. */

export interface Timed<T> {
  readonly timeMs: number;
  readonly value: T;
}

/** The values around a time, or null on a side without one. A value at exactly that time is `before`. */
interface Around<T> {
  readonly before: Timed<T> | null;
  readonly after: Timed<T> | null;
}

export class Series<T> {
  readonly #entries: Timed<T>[] = [];
  readonly #most: number;

  constructor(most: number) {
    this.#most = most;
  }

  get size(): number {
    return this.#entries.length;
  }

  get first(): Timed<T> | null {
    return this.#entries[0] ?? null;
  }

  get last(): Timed<T> | null {
    return this.#entries.at(-1) ?? null;
  }

  /** Late values are inserted in order; a value at the same time is replaced. Beyond the limit the oldest is dropped. */
  put(timeMs: number, value: T): void {
    const place = this.#count(timeMs);
    if (this.#entries[place - 1]?.timeMs === timeMs) this.#entries[place - 1] = { timeMs, value };
    else this.#entries.splice(place, 0, { timeMs, value });
    if (this.#entries.length > this.#most) this.#entries.shift();
  }

  /** Drops older values. */
  cut(timeMs: number): void {
    if ((this.#entries[0]?.timeMs ?? timeMs) < timeMs) this.#entries.splice(0, this.#countBefore(timeMs));
  }

  clear(): void {
    this.#entries.length = 0;
  }

  find(timeMs: number): Around<T> {
    const place = this.#count(timeMs);
    return { before: this.#entries[place - 1] ?? null, after: this.#entries[place] ?? null };
  }

  /** The newest value at or before a time, otherwise the first. */
  findBefore(timeMs: number): Timed<T> | null {
    const place = this.#count(timeMs);
    return this.#entries[Math.max(0, place - 1)] ?? null;
  }

  /** The oldest value at or after a time, otherwise the last. */
  findAfter(timeMs: number): Timed<T> | null {
    const place = this.#countBefore(timeMs);
    return this.#entries[Math.min(place, this.#entries.length - 1)] ?? null;
  }

  #countBefore(timeMs: number): number {
    const place = this.#count(timeMs);
    return this.#entries[place - 1]?.timeMs === timeMs ? place - 1 : place;
  }

  /** Number of values at or before a time. Optimised for access at the end. */
  #count(timeMs: number): number {
    if ((this.#entries.at(-1)?.timeMs ?? Number.NEGATIVE_INFINITY) <= timeMs) return this.#entries.length;
    let low = 0;
    let high = this.#entries.length;
    while (low < high) {
      const middle = (low + high) >> 1;
      if ((this.#entries[middle] as Timed<T>).timeMs <= timeMs) low = middle + 1;
      else high = middle;
    }
    return low;
  }
}

/** How a kind of value changes. */
export interface Motion<T> {
  /** Interpolates: 0 is `from`, 1 is `to`; extrapolates beyond. */
  move(from: T, to: T, share: number): T;
  /** Distance, in the unit of the rates. */
  measure(from: T, to: T): number;
  /** Maximum rate per second: a higher one is a jump, which is not extrapolated. */
  readonly fastest: number;
}

export interface Joined<T> {
  readonly value: T;
  readonly method: "between" | "beyond";
  /** Time to the nearest sample. */
  readonly ageMs: number;
  /** Time between the two samples used; null if there is only one. */
  readonly gapMs: number | null;
  /** Rate in the unit of `measure` per second; 0 if unknown. */
  readonly rate: number;
}

/** Minimum baseline of rates: shorter ones are mostly noise. */
const BASELINE_MS = 250;
/** Maximum baseline of rates: longer ones are outdated. */
const LONGEST_BASELINE_MS = 5000;

/** Null if the nearest value is farther away than `reachMs`. */
export function join<T>(series: Series<T>, timeMs: number, reachMs: number, motion: Motion<T>): Joined<T> | null {
  const { before, after } = series.find(timeMs);
  if (before !== null && after !== null) return joinBetween(before, after, timeMs, reachMs, motion);
  if (before !== null)
    return extrapolate(before, series.findBefore(before.timeMs - BASELINE_MS), timeMs - before.timeMs, reachMs, motion);
  if (after !== null)
    return extrapolate(after, series.findAfter(after.timeMs + BASELINE_MS), after.timeMs - timeMs, reachMs, motion);
  return null;
}

/** The last value before a time, unchanged. */
export function takeLatest<T>(series: Series<T>, timeMs: number, reachMs: number, motion: Motion<T>): Joined<T> | null {
  const { before } = series.find(timeMs);
  if (before === null || timeMs - before.timeMs > reachMs) return null;
  const earlier = series.findBefore(before.timeMs - BASELINE_MS);
  const rate = earlier === null ? 0 : findRate(earlier, before, motion);
  return { value: before.value, method: "beyond", ageMs: timeMs - before.timeMs, gapMs: null, rate };
}

function joinBetween<T>(
  before: Timed<T>,
  after: Timed<T>,
  timeMs: number,
  reachMs: number,
  motion: Motion<T>,
): Joined<T> | null {
  const gapMs = after.timeMs - before.timeMs;
  const ageMs = Math.min(timeMs - before.timeMs, after.timeMs - timeMs);
  if (ageMs > reachMs) return null;
  const value =
    timeMs === before.timeMs ? before.value : motion.move(before.value, after.value, (timeMs - before.timeMs) / gapMs);
  return { value, method: "between", ageMs, gapMs, rate: findRate(before, after, motion) };
}

/** Extrapolates from `earlier` over `near` to `byMs` beyond it, in either direction of time. */
function extrapolate<T>(
  near: Timed<T>,
  earlier: Timed<T> | null,
  byMs: number,
  reachMs: number,
  motion: Motion<T>,
): Joined<T> | null {
  if (byMs > reachMs) return null;
  const method = byMs === 0 ? "between" : "beyond";
  const held = { value: near.value, method, ageMs: byMs, gapMs: null, rate: 0 } as const;
  const gapMs = earlier === null ? 0 : Math.abs(near.timeMs - earlier.timeMs);
  if (earlier === null || gapMs === 0 || gapMs > LONGEST_BASELINE_MS) return held;
  const rate = findRate(earlier, near, motion);
  if (rate > motion.fastest) return held;
  const value = byMs === 0 ? near.value : motion.move(earlier.value, near.value, 1 + byMs / gapMs);
  return { ...held, value, gapMs, rate };
}

const findRate = <T>(from: Timed<T>, to: Timed<T>, motion: Motion<T>): number =>
  from.timeMs === to.timeMs ? 0 : (motion.measure(from.value, to.value) * 1000) / Math.abs(to.timeMs - from.timeMs);
