/** A file of the graph was saved: only what changed is changed. */
import { existsSync, unwatchFile, watchFile } from "node:fs";
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

// What was done to a running graph, in a line each.
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

// --watch: notices that files were saved, however the editor does it.
/** Asked again and again rather than told: works for replaced files, mounted folders and files that are gone for a moment. */
const LOOK_EVERY_MS = 200;
/** An editor that truncates and then writes is not read in between. */
const SETTLE_MS = 100;

export class FileWatch {
  readonly #changed: () => void;
  readonly #paths = new Set<string>();
  #timer: NodeJS.Timeout | undefined;

  constructor(changed: () => void) {
    this.#changed = changed;
  }

  /** Watches these files and no others. */
  follow(paths: readonly string[]): void {
    for (const path of [...this.#paths]) if (!paths.includes(path)) this.#leave(path);
    for (const path of paths) {
      if (this.#paths.has(path)) continue;
      this.#paths.add(path);
      watchFile(path, { interval: LOOK_EVERY_MS, persistent: false }, this.#notice);
    }
  }

  close(): void {
    clearTimeout(this.#timer);
    for (const path of [...this.#paths]) this.#leave(path);
  }

  #notice = (): void => {
    clearTimeout(this.#timer);
    this.#timer = setTimeout(this.#changed, SETTLE_MS);
  };

  #leave(path: string): void {
    this.#paths.delete(path);
    unwatchFile(path, this.#notice);
  }
}
