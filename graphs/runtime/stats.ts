/** Numbers of a running graph, per step as its author wrote it. */
import type { Pipeline } from "../../native/pipeline.ts";
import type { PlanSegment } from "../compiler/plan.ts";
import type { RunningGraph } from "./running-graph.ts";

export interface StepStats {
  readonly segment: string;
  readonly step: string;
  readonly element: string;
  readonly kind: "native" | "typescript";
  /** Frames since the start, and per second over the time since a reading that is half a second old at least. */
  readonly frames: number;
  readonly fps: number;
  /** From the step's input to its output, over the last frames; 0 where it has only one of them. */
  readonly meanMs: number;
  readonly p95Ms: number;
  /** Of queues: frames waiting, and how many may. */
  readonly queued: number | null;
  readonly capacity: number | null;
  readonly dropped: number;
}

/** Over less, a rate says little: two who look at one graph would each see what came since the other looked. */
const LEAST_MS = 500;

interface Step {
  readonly segment: string;
  readonly name: string;
  readonly element: string;
  readonly kind: "native" | "typescript";
  readonly first: string;
  readonly last: string;
}

/** Meters every step. Costs a probe a pad, so it is made only when somebody wants to look. */
export class StatsReader {
  readonly #graph: RunningGraph;
  #pipeline: Pipeline | null = null;
  readonly #metered = new Set<string>();
  readonly #before = new Map<string, { frames: number; atMs: number; fps: number }>();

  constructor(graph: RunningGraph) {
    this.#graph = graph;
    this.#meter();
  }

  /** Readings in the order of the graph. Steps of branches that came since the last reading start at zero. */
  read(nowMs = performance.now()): readonly StepStats[] {
    const steps = this.#meter();
    const readings = this.#graph.pipeline.meters(steps.map((step) => step.name));
    return steps.flatMap((step) => {
      const reading = readings[step.name];
      if (reading === undefined) return [];
      const frames = Math.max(reading.in, reading.out);
      return [
        {
          segment: step.segment,
          step: step.name,
          element: step.element,
          kind: step.kind,
          frames,
          fps: this.#rate(step.name, frames, nowMs),
          meanMs: reading.meanMs,
          p95Ms: reading.p95Ms,
          queued: reading.queued ?? null,
          capacity: reading.capacity ?? null,
          dropped: reading.dropped,
        },
      ];
    });
  }

  #rate(step: string, frames: number, nowMs: number): number {
    const before = this.#before.get(step);
    const passedMs = before === undefined ? 0 : nowMs - before.atMs;
    if (before !== undefined && passedMs < LEAST_MS) return before.fps;
    const fps = before === undefined ? 0 : ((frames - before.frames) * 1000) / passedMs;
    this.#before.set(step, { frames, atMs: nowMs, fps });
    return fps;
  }

  /** Adds meters for steps that have none yet; after a relaunch that is all of them. */
  #meter(): readonly Step[] {
    const { pipeline } = this.#graph;
    if (pipeline !== this.#pipeline) {
      this.#pipeline = pipeline;
      this.#metered.clear();
      this.#before.clear();
    }
    const steps = this.#graph.segments().flatMap(stepsOf);
    const names = new Set(steps.map((step) => step.name));
    for (const name of this.#metered) if (!names.has(name)) this.#metered.delete(name);
    for (const step of steps) {
      if (this.#metered.has(step.name)) continue;
      pipeline.meter(step.name, step.first, step.last);
      this.#metered.add(step.name);
    }
    return steps;
  }
}

export function stepsOf(segment: PlanSegment): readonly Step[] {
  const steps = new Map<string, Step>();
  for (const node of segment.nodes) {
    const known = steps.get(node.author);
    if (known !== undefined) steps.set(node.author, { ...known, last: node.name });
    else
      steps.set(node.author, {
        segment: segment.name,
        name: node.author,
        element: node.element,
        kind: node.kind,
        first: node.name,
        last: node.name,
      });
  }
  return [...steps.values()];
}
