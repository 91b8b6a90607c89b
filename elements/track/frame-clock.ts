import type { Frame } from "../element.ts";

/**
 * The time by which objects move: that of the stream, which is smooth, and after a gap that of the world, as a stream that
 * was cut off and comes back may go on as if nothing had been. Also that of the world where one of two frames has no other.
 */
export class FrameClock {
  #timeNs = 0n;
  #last: Pick<Frame, "ptsNs" | "captureNs"> | null = null;

  read({ ptsNs, captureNs, discontinuity }: Pick<Frame, "ptsNs" | "captureNs" | "discontinuity">): bigint {
    if (this.#last !== null) {
      const worldNs = captureNs - this.#last.captureNs;
      if (ptsNs === null || this.#last.ptsNs === null) this.#timeNs += worldNs > 0n ? worldNs : 0n;
      else {
        const streamNs = ptsNs - this.#last.ptsNs;
        this.#timeNs += discontinuity && worldNs > streamNs ? worldNs : streamNs;
      }
    }
    this.#last = { ptsNs, captureNs };
    return this.#timeNs;
  }

  restart(): void {
    this.#last = null;
  }
}
