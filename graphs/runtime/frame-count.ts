/** Frames and stream time that the sources of a graph have produced, over all its pipelines. */
import type { Pipeline } from "../../native/pipeline.ts";

const PREFIX = "origin ";

interface Count {
  /** Of all sources. */
  readonly frames: number;
  /** Of the source with the most frames. */
  readonly most: number;
}

const NONE: Count = { frames: 0, most: 0 };

export class FrameCount {
  #pipeline: Pick<Pipeline, "meter" | "meters"> | null = null;
  #origins: readonly string[] = [];
  /** Of closed pipelines. */
  #before = NONE;
  #last = NONE;

  get frames(): number {
    return this.#before.frames + this.#last.frames;
  }

  get most(): number {
    return this.#before.most + this.#last.most;
  }

  /** Number of sources of the current or last pipeline. */
  get sources(): number {
    return this.#origins.length;
  }

  place(pipeline: Pick<Pipeline, "meter" | "meters">, origins: readonly string[]): void {
    this.#pipeline = pipeline;
    this.#origins = origins;
    for (const node of this.#origins) pipeline.meter(PREFIX + node, node, node);
  }

  read(): number {
    if (this.#pipeline === null) return this.frames;
    const readings = this.#pipeline.meters(this.#origins.map((node) => PREFIX + node));
    const counts = this.#origins.map((node) => readings[PREFIX + node]?.out ?? 0);
    this.#last = { frames: counts.reduce((sum, count) => sum + count, 0), most: Math.max(0, ...counts) };
    return this.frames;
  }

  /** Called before the pipeline closes. */
  keep(): void {
    this.read();
    this.#before = { frames: this.frames, most: this.most };
    this.#last = NONE;
    this.#pipeline = null;
  }
}

/** The stream time of the source that is furthest ahead. */
export class StreamTime {
  /** When the first frame came, by `performance.now()`; null before it. */
  beganMs: number | null = null;
  /** Of closed pipelines. */
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
        this.beganMs ??= performance.now();
        firstNs ??= ptsNs;
        const spentNs = ptsNs + (durationNs ?? 0n) - firstNs;
        if (spentNs > now.spentNs) now.spentNs = spentNs;
      });
    }
  }

  /** Called before the pipeline closes. */
  keep(): void {
    this.#beforeNs = this.spentNs;
    this.#now = { spentNs: 0n };
  }
}
