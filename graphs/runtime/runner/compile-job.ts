/** From a job to a compiled graph. */
import type { AnyElement } from "../../../elements/element.ts";
import type { JsonRecord } from "../../../schemas/json.ts";
import type { LiveValues } from "../../../schemas/live-values.ts";
import type { Registry } from "../../../schemas/registry.ts";
import type { RunnerJob } from "../../../schemas/runner.ts";
import { type Compiled, compile } from "../../compiler/compile.ts";
import { GraphFaults } from "../../compiler/fault.ts";
import { InstalledGraphs } from "../../compiler/worker/installed.ts";
import { writeLive } from "./live-text.ts";

export interface Knowledge {
  readonly elements: ReadonlyMap<string, AnyElement>;
  readonly registry: Registry;
}

const INSTALLED = new InstalledGraphs(new URL("../../", import.meta.url));

/** Throws `GraphFaults`. Files come at the pace at which they would be shown. */
export function compileJob(job: RunnerJob, knowledge: Knowledge, live: LiveValues = {}): Compiled {
  const base = job.graphText === null ? INSTALLED.read(job.graph) : { file: job.graph, text: job.graphText };
  if (base === null) throw refuseName(job.graph);
  const load = (name: string) => (name === BASE ? base : INSTALLED.load(name));
  const isChanged = Object.keys(live).length > 0;
  const graph = isChanged ? { file: null, text: writeLive(job.graph, BASE, live) } : base;
  const compiled = compile(graph, {
    ...knowledge,
    load,
    params: job.params as JsonRecord,
    source: { uri: job.sourceUri, pace: "realtime" },
  });
  if (compiled.plan === null) throw new GraphFaults(compiled.faults);
  return compiled;
}

/** No name of a graph: it has a colon. */
const BASE = "started:";

const refuseName = (name: string): GraphFaults =>
  new GraphFaults([
    {
      code: "unknown_graph",
      at: { file: null, line: 1, column: 1 },
      message: `there is no graph "${name}"`,
      expected: "the name of an installed one",
    },
  ]);
