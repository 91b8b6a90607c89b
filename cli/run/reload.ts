/** --watch: applies a saved graph file to the running graph, changing only what differs. */
import { existsSync } from "node:fs";
import type { Compiled } from "../../graphs/compiler/compile.ts";
import { GraphFaults } from "../../graphs/compiler/fault.ts";
import type { PlanChange } from "../../graphs/compiler/plan.ts";
import type { RunningGraph } from "../../graphs/runtime/running-graph.ts";
import type { Json } from "../../schemas/json.ts";
import { showFaults, type TextOf } from "../faults.ts";
import { expectSourceFiles } from "../files.ts";
import type { Terminal } from "../terminal.ts";
import type { Reporter } from "./reporter.ts";

/** Where the graph comes from. It is compiled again whenever one of its files is saved. */
export interface GraphOrigin {
  /** Throws `GraphFaults` for a file that cannot be read. */
  compile(): Compiled;
  readonly textOf: TextOf;
  files(): readonly string[];
  /** Receives the lines that the graph prints; default: standard output. */
  print?(line: string): Promise<void>;
}

/** Never rejects. The running graph is not touched unless the new one compiles and its files exist. */
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
    const missing = findMissingFile(error);
    if (error instanceof GraphFaults && missing === null) showFaults(error.faults, origin.textOf, terminal);
    const found = error instanceof GraphFaults ? "the graph has faults" : (error as Error).message;
    const reason = missing === null ? found : `the file ${missing} is missing`;
    reporter.warn(`not applied: ${reason}; the graph continues unchanged`, { type: "not-changed", reason });
    return;
  }
  try {
    const changes = await graph.apply(next);
    if (changes.length === 0) reporter.note("saved: no changes", { type: "changed", changes: [] });
    for (const change of changes) reporter.note(formatChange(change), { type: "changed", ...change } as never);
  } catch (error) {
    reportFailedChange(graph, (error as Error).message, reporter);
  }
}

function findMissingFile(error: unknown): string | null {
  const file = error instanceof GraphFaults ? error.faults[0]?.at.file : null;
  return file && !existsSync(file) ? file : null;
}

function compileStartable(origin: GraphOrigin): Compiled {
  const next = origin.compile();
  if (next.plan === null) throw new GraphFaults(next.faults);
  expectSourceFiles(next.plan);
  return next;
}

/** A failed change may have been applied in part. */
function reportFailedChange({ state }: Pick<RunningGraph, "state">, reason: string, reporter: Reporter): void {
  const record = { type: "change-failed", reason };
  if (state === "running" || state === "paused")
    reporter.warn(`change failed, possibly in part: ${reason}; fix and save the file, or restart`, record);
  else if (state === "failed")
    reporter.warn("relaunch failed: the old graph is closed, and the new one does not start", record);
}

/** `live detect.confidence 0.4 → 0.5` */
export function formatChange(change: PlanChange): string {
  switch (change.label) {
    case "live":
      return `live ${change.author}.${change.property} ${show(change.from)} → ${show(change.to)}`;
    case "branch":
      return `${change.action} ${change.segment}`;
    case "relaunch":
      return `relaunch: ${change.reason}`;
  }
}

const show = (value: Json | undefined): string =>
  value === undefined ? "(default)" : typeof value === "string" && value !== "" ? value : JSON.stringify(value);
