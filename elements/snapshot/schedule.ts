export interface Moments {
  /** Seconds into the stream. */
  readonly at: readonly number[];
  /** Every so many seconds from 0 on; null for never. */
  readonly every: number | null;
}

/** Says which frames are to be kept: the first at or after each moment. Moments already past share one frame. */
export class Schedule {
  #moments: Moments;
  #lastNs: bigint | null = null;

  constructor(moments: Moments) {
    this.#moments = moments;
  }

  /** Goes on from where the stream is, with other moments. */
  change(moments: Moments): void {
    this.#moments = moments;
  }

  isDue(ptsNs: bigint): boolean {
    const afterNs = this.#lastNs;
    if (afterNs !== null && ptsNs <= afterNs) return false;
    this.#lastNs = ptsNs;
    const isReached = (momentNs: bigint): boolean => momentNs <= ptsNs && (afterNs === null || momentNs > afterNs);
    return this.#moments.at.some((second) => isReached(toNs(second))) || isReached(this.#lastTickNs(ptsNs));
  }

  /** The stream jumped: what counts as past is unknown. */
  restart(): void {
    this.#lastNs = null;
  }

  #lastTickNs(ptsNs: bigint): bigint {
    const everyNs = this.#moments.every === null ? 0n : toNs(this.#moments.every);
    return everyNs > 0n ? ptsNs - (ptsNs % everyNs) : ptsNs + 1n;
  }
}

const toNs = (seconds: number): bigint => BigInt(Math.round(seconds * 1e9));
