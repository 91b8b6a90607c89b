/** Frames that have come out of the sources of a graph, over all its pipelines. */
import type { PlanSegment } from "../../graphs/compiler/plan.ts";
import type { Pipeline } from "../../native/pipeline.ts";
import { findOrigins } from "./places.ts";

const PREFIX = "origin ";

export class FrameCount {
  #pipeline: Pipeline | null = null;
  #origins: readonly string[] = [];
  /** Of pipelines that are closed. */
  #before = 0;
  #last = 0;

  get frames(): number {
    return this.#before + this.#last;
  }

  place(pipeline: Pipeline, segments: readonly PlanSegment[]): void {
    this.#pipeline = pipeline;
    this.#origins = findOrigins(segments);
    for (const node of this.#origins) pipeline.meter(PREFIX + node, node, node);
  }

  read(): number {
    if (this.#pipeline === null) return this.frames;
    const readings = this.#pipeline.meters(this.#origins.map((node) => PREFIX + node));
    this.#last = this.#origins.reduce((sum, node) => sum + (readings[PREFIX + node]?.out ?? 0), 0);
    return this.frames;
  }

  /** Before the pipeline closes. */
  keep(): void {
    this.#before = this.read();
    this.#last = 0;
    this.#pipeline = null;
  }
}
