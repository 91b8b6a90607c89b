/** Statistics of a running graph for each step of its author. */
import type { Pipeline } from "../../native/pipeline.ts";
import type { PlanSegment } from "../compiler/plan.ts";
import type { BuiltGraph } from "./run-options.ts";

export interface StepStats {
  readonly segment: string;
  readonly step: string;
  readonly element: string;
  readonly kind: "native" | "typescript";
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

/** With its first and last native node. */
type Step = Pick<StepStats, "segment" | "step" | "element" | "kind"> & {
  readonly first: string;
  readonly last: string;
};

type Metered = Pick<BuiltGraph, "pipeline" | "segments">;

/** Meters every step. Costs a probe per pad, so create it on demand. */
export class StatsReader {
  readonly #graph: Metered;
  #pipeline: Pipeline | null = null;
  readonly #metered = new Set<string>();
  readonly #before = new Map<string, { frames: number; atMs: number; fps: number }>();

  constructor(graph: Metered) {
    this.#graph = graph;
    this.#meter();
  }

  /** In graph order. Steps of branches that were attached since the last reading start at zero. */
  read(nowMs = performance.now()): readonly StepStats[] {
    const steps = this.#meter();
    const readings = this.#graph.pipeline.meters(steps.map(({ step }) => step));
    return steps.flatMap(({ first: _, last: __, ...step }) => {
      const reading = readings[step.step];
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

  /** Adds meters for new steps; for all steps after a relaunch. */
  #meter(): readonly Step[] {
    const { pipeline } = this.#graph;
    if (pipeline !== this.#pipeline) {
      this.#pipeline = pipeline;
      this.#metered.clear();
      this.#before.clear();
    }
    const steps = this.#graph.segments().flatMap(stepsOf);
    const names = new Set(steps.map(({ step }) => step));
    for (const name of this.#metered) if (!names.has(name)) this.#metered.delete(name);
    for (const { step, first, last } of steps) {
      if (this.#metered.has(step)) continue;
      pipeline.meter(step, first, last);
      this.#metered.add(step);
    }
    return steps;
  }
}

function stepsOf(segment: PlanSegment): readonly Step[] {
  const steps = new Map<string, Step>();
  for (const { name, author, element, kind } of segment.nodes) {
    const first = steps.get(author)?.first ?? name;
    steps.set(author, { segment: segment.name, step: author, element, kind, ...steps.get(author), first, last: name });
  }
  return [...steps.values()];
}
