/**
 * When pictures are to be decoded, found from when they are shown. With a depth of d, at most d pictures come before one
 * that is shown earlier; so of the first n + 1 the n + 1 - d earliest are known for good, and the latest of those is a
 * time at which the n-th can be decoded: strictly later than the one before, and never after it is shown.
 */
export class Reorder {
  #depth = 0;
  /** Of the last pictures: those that may still be overtaken, earliest first. */
  #waiting: number[] = [];
  /** The first ones of a sequence have nothing before them to take their time from. */
  #ahead = 0;

  get depth(): number {
    return this.#depth;
  }

  /** Begins anew: with the next picture nothing that came before counts. */
  reset(): void {
    this.#waiting = [];
    this.#ahead = 0;
  }

  /** A depth that was too small is raised, at the cost of the next few times, which come out too late. */
  deepen(depth: number): void {
    this.#depth = Math.max(this.#depth, depth);
  }

  setDepth(depth: number): void {
    this.#depth = depth;
  }

  /** `stepUs`: from one picture to the next, a guess. */
  decodeAt(ptsUs: number, stepUs: number): number {
    const waiting = this.#waiting;
    if (waiting.length === 0) this.#ahead = this.#depth;
    let at = waiting.length;
    while (at > 0 && (waiting[at - 1] as number) > ptsUs) at--;
    waiting.splice(at, 0, ptsUs);
    if (waiting.length <= this.#depth && this.#ahead > 0) return (waiting[0] as number) - this.#ahead-- * stepUs;
    while (waiting.length > this.#depth + 1) waiting.shift();
    return waiting.length > this.#depth ? (waiting.shift() as number) : (waiting[0] as number);
  }
}
