/** A file of the graph was saved: only what changed is changed. */
import { GraphFaults } from "../../graphs/compiler/fault.ts";
import type { RunningGraph } from "../../graphs/runtime/running-graph.ts";
import { showFaults } from "../show-faults.ts";
import type { Terminal } from "../terminal.ts";
import { formatChange } from "./changes.ts";
import type { GraphOrigin } from "./graph-origin.ts";
import type { Reporter } from "./reporter.ts";

/** Never rejects: whatever is wrong with the new text, the old graph goes on. */
export async function reload(
  graph: RunningGraph,
  origin: GraphOrigin,
  reporter: Reporter,
  terminal: Terminal,
): Promise<void> {
  try {
    const next = origin.compile();
    if (next.plan === null) throw new GraphFaults(next.faults);
    const changes = await graph.apply(next);
    if (changes.length === 0) reporter.note("saved: nothing to change", { type: "changed", changes: [] });
    for (const change of changes) reporter.note(formatChange(change), { type: "changed", ...change } as never);
  } catch (error) {
    if (error instanceof GraphFaults) showFaults(error.faults, origin.textOf, terminal);
    const reason = error instanceof GraphFaults ? "the graph has faults" : (error as Error).message;
    if (graph.state === "running")
      reporter.warn(`not changed: ${reason}; it goes on as it was`, { type: "not-changed", reason });
  }
}
