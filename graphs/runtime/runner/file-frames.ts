/** Frames of a file that were skipped as it was resumed, and those that are still to come. */
import type { TappedBuffer } from "../../../native/addon.ts";
import type { Pipeline } from "../../../native/pipeline.ts";

export class FileFrames {
  #fromNs: bigint | null = null;
  #lastsNs: bigint | null = null;
  #frameNs: bigint | null = null;
  #framesLost = 0;
  #pipeline: Pick<Pipeline, "duration"> | null = null;

  /** The pipeline is about to play a file from there on. */
  place(pipeline: Pick<Pipeline, "duration">, fromNs: bigint): void {
    this.#pipeline = pipeline;
    this.#fromNs = fromNs;
  }

  /** Between where it was to resume and where it did. */
  get framesLost(): number {
    return this.#framesLost;
  }

  /** The first frame has been decoded. */
  begin({ ptsNs, durationNs }: Pick<TappedBuffer, "ptsNs" | "durationNs">): void {
    if (this.#fromNs === null || this.#pipeline === null) return;
    this.#frameNs = durationNs !== null && durationNs > 0n ? durationNs : null;
    if (this.#fromNs > 0n && ptsNs !== null) this.#framesLost = this.#count(ptsNs - this.#fromNs);
    this.#pipeline.duration().then(
      (lastsNs) => {
        this.#lastsNs = lastsNs;
      },
      () => {},
    );
  }

  /** Nothing where the length or the rate is not known. */
  leftAt(positionNs: bigint): { readonly framesLeft?: number } {
    return this.#lastsNs === null || this.#frameNs === null
      ? {}
      : { framesLeft: this.#count(this.#lastsNs - positionNs) };
  }

  #count(spanNs: bigint): number {
    return this.#frameNs === null ? 0 : Math.max(0, Math.round(Number(spanNs) / Number(this.#frameNs)));
  }
}
