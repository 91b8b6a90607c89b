/** What messages that tell only a part have told so far, each with its own age. */

/** What was told longer ago is not known any more. */
const LONGEST_MS = 10_000;

interface Kept {
  readonly value: number;
  readonly timeMs: number;
}

export class Memory<Name extends string> {
  readonly #kept = new Map<Name, Kept>();
  readonly #lasting: ReadonlySet<Name>;
  #newestMs = Number.NEGATIVE_INFINITY;

  /** `lasting`: what changes only when somebody changes it, and holds until it is told anew. */
  constructor(lasting: readonly Name[] = []) {
    this.#lasting = new Set(lasting);
  }

  /** Messages may come out of order: what is newer stays. A clock that went back by much has been set: all is forgotten. */
  keep(timeMs: number, told: ReadonlyMap<Name, number>): void {
    // Forward it may be a gap as well: what ages has aged then, and what lasts still holds.
    if (this.#newestMs - timeMs > LONGEST_MS) {
      this.#kept.clear();
      this.#newestMs = timeMs;
    }
    this.#newestMs = Math.max(this.#newestMs, timeMs);
    for (const [name, value] of told)
      if (timeMs >= (this.#kept.get(name)?.timeMs ?? timeMs)) this.#kept.set(name, { value, timeMs });
  }

  /** What held at that time: what was told then, and what was told not too long before. */
  recall(timeMs: number, told: ReadonlyMap<Name, number>): ReadonlyMap<Name, number> {
    const known = new Map<Name, number>();
    for (const [name, kept] of this.#kept) {
      const ageMs = timeMs - kept.timeMs;
      if (ageMs >= 0 && (ageMs <= LONGEST_MS || this.#lasting.has(name))) known.set(name, kept.value);
    }
    for (const [name, value] of told) known.set(name, value);
    return known;
  }

  /** What was told after `untilMs` stays. */
  forget(names: readonly Name[], untilMs = Number.POSITIVE_INFINITY): void {
    for (const name of names) if ((this.#kept.get(name)?.timeMs ?? 0) <= untilMs) this.#kept.delete(name);
  }
}
