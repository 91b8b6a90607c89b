/** Other values for live properties while the graph runs: all of them, or none. */
import { type LiveValues, mergeLive } from "../../../schemas/live-values.ts";
import type { Compiled } from "../../compiler/compile.ts";
import { type Fault, GraphFaults } from "../../compiler/fault.ts";
import type { RunningGraph } from "../running-graph.ts";
import { findLive, pointTo } from "./live-text.ts";
import { Refusal, type RefusedPart } from "./requests.ts";

export interface LiveChange {
  readonly before: LiveValues;
  readonly given: LiveValues;
  /** The graph with such values. Throws `GraphFaults`. */
  compile(live: LiveValues): Compiled;
  /** The graph as it is. */
  readonly current: Compiled;
  /** With the values that are given in place of those that it has; null where that takes compiling. */
  patch(given: LiveValues): Compiled | null;
}

export interface LiveResult {
  /** The values that hold from now on. */
  readonly live: LiveValues;
  readonly compiled: Compiled;
}

type ChangedGraph = Pick<RunningGraph, "preview" | "apply">;

/** Throws `Refusal`; nothing has changed then. */
export async function setLive(graph: ChangedGraph, change: LiveChange): Promise<LiveResult> {
  const { before, given, compile, current } = change;
  const live = mergeLive(before, given);
  const next = change.patch(given) ?? compileLive(live, compile);
  if (findObstacles(graph, next).length > 0) throw refuse(UNCHANGEABLE, listObstacles(graph, next, change));
  try {
    await graph.apply(next);
  } catch (error) {
    await graph.apply(current).catch(() => {}); // what was changed before one refused
    throw new Refusal("invalid", (error as Error).message);
  }
  return { live, compiled: next };
}

const UNCHANGEABLE = "this cannot be changed while it runs: ";

function compileLive(live: LiveValues, compile: LiveChange["compile"]): Compiled {
  try {
    return compile(live);
  } catch (error) {
    if (!(error instanceof GraphFaults)) throw error;
    const parts = error.faults.map((fault) => ({ path: findLive(live, fault), message: sayFault(fault) }));
    throw refuse("", parts);
  }
}

const findObstacles = (graph: ChangedGraph, next: Compiled): readonly string[] =>
  graph.preview(next).flatMap((change) => {
    if (change.label === "live") return [];
    return change.label === "relaunch" ? [change.reason] : ["a part of the graph would come or go"];
  });

/** Each value is compiled alone to see what it does; of more than these, only all together. */
const MOST_ALONE = 20;

function listObstacles(
  graph: ChangedGraph,
  next: Compiled,
  { before, given, compile }: LiveChange,
): readonly RefusedPart[] {
  const alone = Object.entries(given).flatMap(([node, values]) =>
    Object.entries(values).map(([property, value]) => ({ node, property, value })),
  );
  const parts = alone.slice(0, alone.length > MOST_ALONE ? 0 : MOST_ALONE).flatMap(({ node, property, value }) => {
    const one = compileOrNull(mergeLive(before, { [node]: { [property]: value } }), compile);
    const reasons = one === null ? [] : findObstacles(graph, one);
    return reasons.length === 0 ? [] : [{ path: pointTo(node, property), message: reasons.join("; ") }];
  });
  return parts.length > 0 ? parts : [{ path: "/", message: findObstacles(graph, next).join("; ") }];
}

/** Null: good only together with others. */
function compileOrNull(live: LiveValues, compile: LiveChange["compile"]): Compiled | null {
  try {
    return compile(live);
  } catch {
    return null;
  }
}

const MOST_PARTS = 100;

const refuse = (words: string, parts: readonly RefusedPart[]): Refusal =>
  new Refusal("invalid", words + parts.map(({ message }) => message).join("\n"), parts.slice(0, MOST_PARTS));

/** Places in a text that nobody wrote are of no help. */
const sayFault = ({ message, expected, suggestion }: Fault): string => {
  if (suggestion !== undefined) return `${message}; did you mean "${suggestion}"?`;
  return expected === undefined ? message : `${message}; expected ${expected}`;
};

export const sayFaults = (faults: readonly Fault[]): string => faults.map(sayFault).join("\n");
