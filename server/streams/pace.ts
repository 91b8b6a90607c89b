/** Beyond so many times the limit a second, reading pauses: TCP then holds the sender back. */
const FLOOD = 10;

export type Verdict = "take" | "refuse" | "pause";

/** How much a client may send: so many messages in each second. */
export class Pace {
  readonly #most: number;
  readonly #now: () => number;
  #secondBeganMs: number;
  #count = 0;

  constructor(most: number, now: () => number = () => performance.now()) {
    this.#most = most;
    this.#now = now;
    this.#secondBeganMs = now();
  }

  get secondEndsInMs(): number {
    return Math.max(0, this.#secondBeganMs + 1000 - this.#now());
  }

  /** One more has come. */
  count(): Verdict {
    if (this.secondEndsInMs === 0) {
      this.#secondBeganMs = this.#now();
      this.#count = 0;
    }
    this.#count += 1;
    if (this.#count <= this.#most) return "take";
    return this.#count <= this.#most * FLOOD ? "refuse" : "pause";
  }
}
