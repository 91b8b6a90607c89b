/** Stream time that has come out of the sources of a graph, over all its pipelines; the most of any of them. */
import type { Pipeline } from "../../native/pipeline.ts";

export class StreamTime {
  /** Of pipelines that are closed. */
  #beforeNs = 0n;
  #now = { spentNs: 0n };

  get spentNs(): bigint {
    return this.#beforeNs + this.#now.spentNs;
  }

  place(pipeline: Pick<Pipeline, "tap">, origins: readonly string[]): void {
    const now = { spentNs: 0n };
    this.#now = now;
    for (const node of origins) {
      let firstNs: bigint | null = null;
      pipeline.tap(node, ({ ptsNs, durationNs }) => {
        if (ptsNs === null) return;
        firstNs ??= ptsNs;
        const spentNs = ptsNs + (durationNs ?? 0n) - firstNs;
        if (spentNs > now.spentNs) now.spentNs = spentNs;
      });
    }
  }

  /** Before the pipeline closes. */
  keep(): void {
    this.#beforeNs = this.spentNs;
    this.#now = { spentNs: 0n };
  }
}
