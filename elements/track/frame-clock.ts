import type { Frame } from "../element.ts";

/**
 * The time by which objects move: that of the stream, which is smooth, and after a gap that of the world, as a stream that
 * was cut off and comes back may go on as if nothing had been.
 */
export class FrameClock {
  #timeNs = 0n;
  #last: { readonly ptsNs: bigint; readonly captureNs: bigint } | null = null;

  read({ ptsNs, captureNs, discontinuity }: Pick<Frame, "ptsNs" | "captureNs" | "discontinuity">): bigint {
    const now = { ptsNs: ptsNs ?? captureNs, captureNs };
    if (this.#last !== null) {
      const streamNs = now.ptsNs - this.#last.ptsNs;
      const worldNs = captureNs - this.#last.captureNs;
      this.#timeNs += discontinuity && worldNs > streamNs ? worldNs : streamNs;
    }
    this.#last = now;
    return this.#timeNs;
  }

  restart(): void {
    this.#last = null;
  }
}
