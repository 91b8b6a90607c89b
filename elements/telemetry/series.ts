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
