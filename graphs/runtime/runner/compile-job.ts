/** From a job to a compiled graph. */
import type { AnyElement } from "../../../elements/element.ts";
import type { JsonRecord } from "../../../schemas/json.ts";
import type { Registry } from "../../../schemas/registry.ts";
import type { RunnerJob } from "../../../schemas/runner.ts";
import { type Compiled, compile } from "../../compiler/compile.ts";
import type { GraphText } from "../../compiler/extend.ts";
import { GraphFaults } from "../../compiler/fault.ts";
import { InstalledGraphs } from "../../compiler/worker/installed.ts";

export interface Knowledge {
  readonly elements: ReadonlyMap<string, AnyElement>;
  readonly registry: Registry;
}

/** Values of live properties that were set while it ran, by node. */
export type LiveValues = Readonly<Record<string, JsonRecord>>;

const INSTALLED = new InstalledGraphs(new URL("../../", import.meta.url));

/** Throws `GraphFaults`. Files come at the pace at which they would be shown. */
export function compileJob(job: RunnerJob, knowledge: Knowledge, live: LiveValues = {}): Compiled {
  const base = job.graphText === null ? INSTALLED.read(job.graph) : { file: job.graph, text: job.graphText };
  if (base === null) throw refuseName(job.graph);
  const load = (name: string) => (name === BASE ? base : INSTALLED.load(name));
  const isChanged = Object.keys(live).length > 0;
  const compiled = compile(isChanged ? changed(job.graph, live) : base, {
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

/** The graph as it was started with other values: JSON is YAML. */
const changed = (graph: string, set: LiveValues): GraphText => ({
  file: null,
  text: JSON.stringify({ graph, about: "", extends: BASE, set: escapeDollars(set as JsonRecord) }),
});

/** What a client sends is a value, never a reference to a parameter. */
function escapeDollars(value: JsonRecord): JsonRecord {
  const json = JSON.stringify(value, (_, inner) => (typeof inner === "string" ? inner.replaceAll("$", "$$$$") : inner));
  return JSON.parse(json) as JsonRecord;
}

const refuseName = (name: string): GraphFaults =>
  new GraphFaults([
    {
      code: "unknown_graph",
      at: { file: null, line: 1, column: 1 },
      message: `there is no graph "${name}"`,
      expected: "the name of an installed one",
    },
  ]);
