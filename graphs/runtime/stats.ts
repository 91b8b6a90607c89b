/** Statistics of a running graph for each step of its author. */
import { type Metered, type MeteredStep, StepMeters } from "./step-meters.ts";

export interface StepStats extends MeteredStep {
  /** Frames since the start, and the rate since a reading at least half a second ago. */
  readonly frames: number;
  readonly fps: number;
  /** From the step's input to its output, over recent frames; 0 for sources and sinks. */
  readonly meanMs: number;
  readonly p95Ms: number;
  /** Of queues: their level and size in frames. */
  readonly queued: number | null;
  readonly capacity: number | null;
  readonly dropped: number;
}

/** Readings of several clients share the counters; a rate over less time would be noise. */
const MIN_INTERVAL_MS = 500;

export class StatsReader {
  readonly #meters: StepMeters;
  readonly #before = new Map<string, { frames: number; atMs: number; fps: number }>();

  constructor(graph: Metered) {
    this.#meters = new StepMeters(graph, "");
    this.#meters.place();
  }

  /** In graph order. Steps of branches that were attached since the last reading start at zero. */
  read(nowMs = performance.now()): readonly StepStats[] {
    const { steps, isRelaunched } = this.#meters.place();
    if (isRelaunched) this.#before.clear();
    const readings = this.#meters.pipeline.meters(steps.map((step) => this.#meters.nameOf(step)));
    return steps.flatMap((step) => {
      const reading = readings[this.#meters.nameOf(step)];
      if (reading === undefined) return [];
      const { meanMs, p95Ms, queued = null, capacity = null, dropped } = reading;
      const frames = Math.max(reading.in, reading.out);
      const fps = this.#rate(step.step, frames, nowMs);
      return [{ ...step, frames, fps, meanMs, p95Ms, queued, capacity, dropped }];
    });
  }

  #rate(step: string, frames: number, nowMs: number): number {
    const before = this.#before.get(step);
    const passedMs = before === undefined ? 0 : nowMs - before.atMs;
    if (before !== undefined && passedMs < MIN_INTERVAL_MS) return before.fps;
    const fps = before === undefined ? 0 : ((frames - before.frames) * 1000) / passedMs;
    this.#before.set(step, { frames, atMs: nowMs, fps });
    return fps;
  }
}
