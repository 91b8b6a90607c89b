/** Values by time, in order: what comes late is put where it belongs, and what comes twice replaces what was there. */

export interface Timed<T> {
  readonly timeMs: number;
  readonly value: T;
}

/** The values around a time; one of the two is null where there is none on that side. At a value's own time it is `before`. */
export interface Around<T> {
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

  /** What is one too many is the oldest. */
  put(timeMs: number, value: T): void {
    const place = this.#count(timeMs);
    if (this.#entries[place - 1]?.timeMs === timeMs) this.#entries[place - 1] = { timeMs, value };
    else this.#entries.splice(place, 0, { timeMs, value });
    if (this.#entries.length > this.#most) this.#entries.shift();
  }

  /** Forgets what is older. */
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

  /** The newest one at or before a time, else the first. */
  findBefore(timeMs: number): Timed<T> | null {
    const place = this.#count(timeMs);
    return this.#entries[Math.max(0, place - 1)] ?? null;
  }

  /** The oldest one at or after a time, else the last. */
  findAfter(timeMs: number): Timed<T> | null {
    const place = this.#countBefore(timeMs);
    return this.#entries[Math.min(place, this.#entries.length - 1)] ?? null;
  }

  #countBefore(timeMs: number): number {
    const place = this.#count(timeMs);
    return this.#entries[place - 1]?.timeMs === timeMs ? place - 1 : place;
  }

  /** How many are at or before a time. Most are asked for and put at the end. */
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

/** What held at a time, of values that are known at others. */
/** How a kind of value moves. */
export interface Motion<T> {
  /** From one to the other: 0 is `from`, 1 is `to`, beyond that it goes on. */
  move(from: T, to: T, share: number): T;
  /** In the unit of the rates. */
  measure(from: T, to: T): number;
  /** Rates a second: what flies does no more, and what says so is a fault of the sensor. */
  readonly fastest: number;
}

export interface Joined<T> {
  readonly value: T;
  readonly method: "between" | "beyond";
  /** From the nearest sample. */
  readonly ageMs: number;
  /** Between the samples that it rests on: those around it, or the two by which it goes on; null when there is but one. */
  readonly gapMs: number | null;
  /** How fast it moves, in the unit of `measure` a second; 0 when it is not known. */
  readonly rate: number;
}

/** Rates are taken over at least this, where samples are that close: over less, noise is most of them. */
const BASELINE_MS = 250;
/** Over more, they say little of what happens now. */
const LONGEST_BASELINE_MS = 5000;

/** Null where the nearest value is further away than `reachMs`. */
export function join<T>(series: Series<T>, timeMs: number, reachMs: number, motion: Motion<T>): Joined<T> | null {
  const { before, after } = series.find(timeMs);
  if (before !== null && after !== null) return joinBetween(before, after, timeMs, reachMs, motion);
  if (before !== null)
    return goOn(before, series.findBefore(before.timeMs - BASELINE_MS), timeMs - before.timeMs, reachMs, motion);
  if (after !== null)
    return goOn(after, series.findAfter(after.timeMs + BASELINE_MS), after.timeMs - timeMs, reachMs, motion);
  return null;
}

/** The last value before a time, as it is. */
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

/** From `earlier` over `near` to `byMs` beyond it, in either direction of time. */
function goOn<T>(
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
  const brake = rate > motion.fastest ? motion.fastest / rate : 1;
  const value = byMs === 0 ? near.value : motion.move(earlier.value, near.value, 1 + (brake * byMs) / gapMs);
  return { ...held, value, gapMs, rate: rate * brake };
}

const findRate = <T>(from: Timed<T>, to: Timed<T>, motion: Motion<T>): number =>
  from.timeMs === to.timeMs ? 0 : (motion.measure(from.value, to.value) * 1000) / Math.abs(to.timeMs - from.timeMs);
