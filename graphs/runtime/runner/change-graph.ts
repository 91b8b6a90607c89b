/** Changes a running graph to another text of it while PLAYING: all or nothing. A relaunch is left to the server. */
import { setTimeout as wait } from "node:timers/promises";
import { RequestRejected } from "../../../ipc/channel.ts";
import type { JsonRecord } from "../../../schemas/json.ts";
import { type LiveValues, mergeLive } from "../../../schemas/live-values.ts";
import type { GraphChange, RunnerJob } from "../../../schemas/runner.ts";
import type { Compiled } from "../../compiler/compile.ts";
import { GraphFaults } from "../../compiler/fault.ts";
import type { GraphPlan, PlanChange } from "../../compiler/plan.ts";
import { findElementProperty } from "../../compiler/properties.ts";
import type { RunningGraph } from "../running-graph.ts";
import { compileJob, type Knowledge } from "./compile-job.ts";
import { describeFaults, patchPlan } from "./live-values.ts";
import { hideSource } from "./to-server.ts";

interface ChangeOrder {
  /** With the text and the parameters of the next graph. */
  readonly job: RunnerJob;
  /** Values that clients have set: those whose property the next graph has, too, stay. */
  readonly live: LiveValues;
  /** Values that the service supplies for the next graph. */
  readonly supplied: LiveValues;
  readonly isDryRun: boolean;
}

interface Changed {
  readonly changes: readonly GraphChange[];
  /** Of `live`, what stays. */
  readonly kept: LiveValues;
  /** The next graph with all its live values; null: nothing was changed. */
  readonly next: { readonly compiled: Compiled; readonly uses: Compiled["paramUses"] } | null;
}

/** Throws `RequestRejected` without any change; of kind `failed` when the change has ended the graph. */
export async function changeGraph(
  graph: Pick<RunningGraph, "preview" | "apply" | "plan" | "ended" | "state">,
  current: Compiled,
  { job, live, supplied, isDryRun }: ChangeOrder,
  knowledge: Knowledge,
): Promise<Changed> {
  const { base, kept, compiled } = compileNext(graph.plan, job, live, supplied, knowledge);
  const changes = graph.preview(compiled);
  const shown = changes.map((change) => showChange(change, job));
  if (isDryRun || changes.some(({ label }) => label === "relaunch")) return { changes: shown, kept, next: null };
  try {
    await graph.apply(compiled);
  } catch (error) {
    await graph.apply(current).catch(() => {}); // undo the changes before the failure
    throw new RequestRejected("pipeline", hideSource((error as Error).message, job));
  }
  if (changes.length > 0 && graph.state === "running") await expectFlow(graph, job);
  return { changes: shown, kept, next: { compiled, uses: base.paramUses } };
}

/** A value that an element accepts may still fail with the next frames. */
const CONFIRM_MS = 1_000;

/** Throws `RequestRejected` of kind `failed`: the graph has ended. */
async function expectFlow({ ended }: Pick<RunningGraph, "ended">, job: RunnerJob): Promise<void> {
  const waiting = new AbortController();
  const waited = wait(CONFIRM_MS, null, { signal: waiting.signal }).catch(() => null);
  const result = await Promise.race([ended, waited]);
  waiting.abort();
  if (result?.error != null) throw new RequestRejected("failed", hideSource(result.error.message, job));
}

function compileNext(
  plan: GraphPlan,
  job: RunnerJob,
  live: LiveValues,
  supplied: LiveValues,
  knowledge: Knowledge,
): { readonly base: Compiled; readonly kept: LiveValues; readonly compiled: Compiled } {
  try {
    const base = compileJob(job, knowledge);
    const kept = keepLive(live, plan, base.plan, knowledge);
    const all = mergeLive(kept, supplied);
    const compiled = patchPlan(base, all, knowledge.elements) ?? compileJob(job, knowledge, all);
    return { base, kept, compiled };
  } catch (error) {
    if (!(error instanceof GraphFaults)) throw error;
    throw new RequestRejected("graph", describeFaults(error.faults));
  }
}

/** Values of nodes that both graphs have, with the same element. */
function keepLive(live: LiveValues, before: GraphPlan, after: GraphPlan | null, { elements }: Knowledge): LiveValues {
  if (after === null) return {};
  const [was, is] = [listElements(before), listElements(after)];
  return Object.fromEntries(
    Object.entries(live).flatMap(([node, values]) => {
      const element = is.get(node);
      if (element === undefined || element !== was.get(node)) return [];
      const definition = elements.get(element);
      const kept = Object.entries(values).filter(
        ([property]) => definition === undefined || findElementProperty(definition, property) !== undefined,
      );
      return kept.length === 0 ? [] : [[node, Object.fromEntries(kept)] as const];
    }),
  );
}

const listElements = ({ main, branches }: GraphPlan): ReadonlyMap<string, string> =>
  new Map([main, ...branches].flatMap(({ nodes }) => nodes.map(({ author, element }) => [author, element] as const)));

/** Without credentials and paths of files. */
function showChange(change: PlanChange, job: RunnerJob): GraphChange {
  const text = JSON.stringify(change.label === "live" ? showLive(change) : change, (_, value) =>
    typeof value === "string" ? hideSource(value, job) : value,
  );
  return JSON.parse(text) as GraphChange;
}

const showLive = ({ label, author, property, from, to }: Extract<PlanChange, { label: "live" }>): JsonRecord => ({
  ...{ label, node: author, property },
  ...(from !== undefined && { from }),
  ...(to !== undefined && { to }),
});
