/** Every Nth frame of the source, where some of its frames are not decoded. */
import type { Frame } from "../element.ts";

type TimedFrame = Pick<Frame, "ptsNs" | "durationNs">;

/**
 * Counts frames that are missing by the time between two frames. Where the Nth frame is missing, the next one is due, so
 * that as many frames are due as if none were missing. Depends on the frames only: no clock.
 */
export class EveryNth {
  readonly #every: number;
  #number = -1;
  #ptsNs: bigint | null = null;

  constructor(every: number) {
    this.#every = every;
  }

  /** Call for every frame, in order. */
  isDue({ ptsNs, durationNs }: TimedFrame): boolean {
    const before = this.#number;
    this.#number += this.#countSince(ptsNs, durationNs);
    this.#ptsNs = ptsNs;
    return Math.floor(this.#number / this.#every) > Math.floor(before / this.#every);
  }

  /** Frames from the last one to this one. */
  #countSince(ptsNs: bigint | null, durationNs: bigint | null): number {
    if (ptsNs === null || this.#ptsNs === null || durationNs === null || durationNs <= 0n) return 1;
    return Math.max(1, Math.round(Number(ptsNs - this.#ptsNs) / Number(durationNs)));
  }
}
