/**
 * Estimates decoding timestamps from presentation timestamps. With a reorder depth of d, at most d pictures precede one
 * that is displayed earlier. So of the first n + 1 pictures the n + 1 - d earliest are final, and the latest of those is a
 * valid DTS of the n-th: strictly after the previous DTS and not after its PTS.
 */
export class DtsEstimator {
  #depth = 0;
  /** PTS of the pictures that later ones may still precede, earliest first. */
  #pending: number[] = [];
  /** Pictures at the start of a sequence whose DTS is extrapolated, because none precedes them. */
  #ahead = 0;

  get depth(): number {
    return this.#depth;
  }

  /** Starts a new sequence: earlier pictures no longer count. */
  reset(): void {
    this.#pending = [];
    this.#ahead = 0;
  }

  /** Raises a depth that was too small. The next few timestamps are too late. */
  deepen(depth: number): void {
    this.#depth = Math.max(this.#depth, depth);
  }

  setDepth(depth: number): void {
    this.#depth = depth;
  }

  /** `stepUs`: the estimated frame duration. */
  estimate(ptsUs: number, stepUs: number): number {
    const pending = this.#pending;
    if (pending.length === 0) this.#ahead = this.#depth;
    let at = pending.length;
    while (at > 0 && (pending[at - 1] as number) > ptsUs) at--;
    pending.splice(at, 0, ptsUs);
    if (pending.length <= this.#depth && this.#ahead > 0) return (pending[0] as number) - this.#ahead-- * stepUs;
    while (pending.length > this.#depth + 1) pending.shift();
    return pending.length > this.#depth ? (pending.shift() as number) : (pending[0] as number);
  }
}
