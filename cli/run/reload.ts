/** A file of the graph was saved: only what changed is changed. */
import { existsSync } from "node:fs";
import type { Compiled } from "../../graphs/compiler/compile.ts";
import { GraphFaults } from "../../graphs/compiler/fault.ts";
import type { RunningGraph } from "../../graphs/runtime/running-graph.ts";
import { showFaults } from "../show-faults.ts";
import type { Terminal } from "../terminal.ts";
import { formatChange } from "./changes.ts";
import type { GraphOrigin } from "./graph-origin.ts";
import type { Reporter } from "./reporter.ts";
import { expectSourceFiles } from "./source-file.ts";

/** Never rejects. Nothing is touched before the new graph is known to be one that can be started. */
export async function reload(
  graph: Pick<RunningGraph, "apply" | "state">,
  origin: GraphOrigin,
  reporter: Reporter,
  terminal: Terminal,
): Promise<void> {
  let next: Compiled;
  try {
    next = compileStartable(origin);
  } catch (error) {
    const gone = findGoneFile(error);
    if (error instanceof GraphFaults && gone === null) showFaults(error.faults, origin.textOf, terminal);
    const found = error instanceof GraphFaults ? "the graph has faults" : (error as Error).message;
    const reason = gone === null ? found : `the file ${gone} is gone`;
    reporter.warn(`not changed: ${reason}; it goes on as it was`, { type: "not-changed", reason });
    return;
  }
  try {
    const changes = await graph.apply(next);
    if (changes.length === 0) reporter.note("saved: nothing to change", { type: "changed", changes: [] });
    for (const change of changes) reporter.note(formatChange(change), { type: "changed", ...change } as never);
  } catch (error) {
    reportFailedChange(graph, (error as Error).message, reporter);
  }
}

function findGoneFile(error: unknown): string | null {
  const file = error instanceof GraphFaults ? error.faults[0]?.at.file : null;
  return file && !existsSync(file) ? file : null;
}

function compileStartable(origin: GraphOrigin): Compiled {
  const next = origin.compile();
  if (next.plan === null) throw new GraphFaults(next.faults);
  expectSourceFiles(next.plan);
  return next;
}

/** A change that comes half of its way stays there: what is said of it must be true of both halves. */
function reportFailedChange({ state }: Pick<RunningGraph, "state">, reason: string, reporter: Reporter): void {
  const record = { type: "change-failed", reason };
  if (state === "running" || state === "paused")
    reporter.warn(`changed in part at most: ${reason}; mend and save it, or start it again`, record);
  else if (state === "failed")
    reporter.warn("relaunch failed: the graph as it was is closed, as it is now it does not start", record);
}
