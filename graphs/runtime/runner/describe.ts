/** The running graph as JSON, DOT, Mermaid or a launch line, without credentials and paths of files. */
import { basename, isAbsolute } from "node:path";
import type { Json, JsonRecord } from "../../../schemas/json.ts";
import { maskCredentials } from "../../../schemas/mask.ts";
import type { RunnerJob, RunnerRequest } from "../../../schemas/runner.ts";
import type { GraphPlan, PlanSegment } from "../../compiler/plan.ts";
import { toDot, toMermaid } from "../../compiler/plan-to-diagram.ts";
import { gstLaunch } from "../../compiler/plan-to-text.ts";
import type { RunningGraph } from "../running-graph.ts";
import { StatsReader, type StepStats } from "../stats.ts";
import { isPath } from "./to-server.ts";

type Format = (RunnerRequest & { type: "describe" })["format"];

export class Description {
  readonly #graph: RunningGraph;
  readonly #job: RunnerJob;
  /** Created on the first request, as it meters every step. */
  #stats: StatsReader | null = null;

  constructor(graph: RunningGraph, job: RunnerJob) {
    this.#graph = graph;
    this.#job = job;
  }

  write(format: Format): Json {
    const [, ...branches] = this.#graph.segments();
    const plan = this.#hide({ ...this.#graph.plan, branches });
    switch (format) {
      case "json":
        return this.#writeJson(plan);
      case "dot":
        return toDot(plan);
      case "mermaid":
        return toMermaid(plan);
      case "launch":
        return gstLaunch(plan);
    }
  }

  #writeJson(plan: GraphPlan): JsonRecord {
    this.#stats ??= new StatsReader(this.#graph);
    const counters = new Map(this.#stats.read().map((step) => [step.step, step]));
    return {
      graph: plan.graph,
      about: plan.about,
      params: plan.params,
      live_params: plan.liveParams,
      offers: plan.offers,
      slots: Object.keys(plan.slots),
      segments: [plan.main, ...plan.branches].map((segment) => describeSegment(segment, counters)),
    };
  }

  #hide(plan: GraphPlan): GraphPlan {
    const { sourceUri, sourceLabel } = this.#job;
    const shown = isPath(sourceUri) ? basename(sourceUri) : (sourceLabel ?? maskCredentials(sourceUri));
    const hide = (_: string, value: unknown) => {
      if (typeof value !== "string") return value;
      // Such as the path of a recording.
      return isAbsolute(value) ? basename(value) : maskCredentials(value.replaceAll(sourceUri, shown));
    };
    return JSON.parse(JSON.stringify(plan, hide)) as GraphPlan;
  }
}

function describeSegment(
  { name, tee, nodes, links }: PlanSegment,
  counters: ReadonlyMap<string, StepStats>,
): JsonRecord {
  return {
    name,
    tee,
    nodes: nodes.map((node) => ({
      name: node.name,
      step: node.author,
      element: node.element,
      factory: node.factory,
      kind: node.kind,
      properties: node.properties,
    })),
    links: links.map(({ from, to }) => ({ from, to })),
    steps: [...new Set(nodes.map(({ author }) => author))].flatMap((author) => {
      const found = counters.get(author);
      if (found === undefined) return [];
      const { step, frames, fps, meanMs, p95Ms, queued, capacity, dropped } = found;
      const times = { fps: round(fps), mean_ms: round(meanMs), p95_ms: round(p95Ms) };
      return [{ step, frames, ...times, queued, capacity, dropped }];
    }),
  };
}

const round = (value: number): number => Math.round(value * 100) / 100;
