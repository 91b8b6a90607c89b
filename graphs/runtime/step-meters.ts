/** Meters for every step of a running graph: the measuring points of statistics and traces. */
import type { Pipeline } from "../../native/pipeline.ts";
import type { PlanSegment } from "../compiler/plan.ts";
import type { BuiltGraph } from "./run-options.ts";

export interface MeteredStep {
  readonly segment: string;
  readonly step: string;
  readonly element: string;
  readonly kind: "native" | "typescript";
}

/** With its first and last native node. */
type Step = MeteredStep & { readonly first: string; readonly last: string };

export type Metered = Pick<BuiltGraph, "pipeline" | "segments">;

/** Costs a probe per pad, so create it on demand. */
export class StepMeters {
  readonly #graph: Metered;
  readonly #prefix: string;
  #pipeline: Pipeline | null = null;
  readonly #metered = new Set<string>();

  /** @param prefix of the meters' names: two readers of a graph must not share meters */
  constructor(graph: Metered, prefix: string) {
    this.#graph = graph;
    this.#prefix = prefix;
  }

  get pipeline(): Pipeline {
    return this.#graph.pipeline;
  }

  nameOf({ step }: MeteredStep): string {
    return this.#prefix + step;
  }

  /** Adds meters for new steps; for all steps after a relaunch, which it reports. In graph order. */
  place(): { readonly steps: readonly MeteredStep[]; readonly isRelaunched: boolean } {
    const { pipeline } = this;
    const isRelaunched = pipeline !== this.#pipeline;
    if (isRelaunched) this.#metered.clear();
    this.#pipeline = pipeline;
    const steps = this.#graph.segments().flatMap(stepsOf);
    const names = new Set(steps.map(({ step }) => step));
    for (const name of this.#metered) if (!names.has(name)) this.#metered.delete(name);
    for (const { step, first, last } of steps) {
      if (this.#metered.has(step)) continue;
      pipeline.meter(this.#prefix + step, first, last);
      this.#metered.add(step);
    }
    return { steps: steps.map(({ first: _, last: __, ...step }) => step), isRelaunched };
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
