/** Other values for live properties and parameters while the graph runs: all of them, or none. */
import type { Json, JsonRecord } from "../../../schemas/json.ts";
import { type LiveValues, mergeLive } from "../../../schemas/live-values.ts";
import type { Compiled } from "../../compiler/compile.ts";
import { type Fault, GraphFaults } from "../../compiler/fault.ts";
import type { RunningGraph } from "../running-graph.ts";
import { findLive, pointTo } from "./live-text.ts";
import { Refusal, type RefusedPart } from "./requests.ts";

export interface LiveChange {
  readonly before: LiveValues;
  readonly given: LiveValues;
  /** Of the graph's parameters, those that change. */
  readonly params: JsonRecord;
  /** The graph with such values, parameters in place of those that it has. Throws `GraphFaults`. */
  compile(live: LiveValues, params: JsonRecord): Compiled;
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
  const { before, given, params, current } = change;
  const live = mergeLive(before, given);
  const next = (Object.keys(params).length === 0 ? change.patch(given) : null) ?? compileLive(live, change);
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

function compileLive(live: LiveValues, { compile, params }: LiveChange): Compiled {
  try {
    return compile(live, params);
  } catch (error) {
    if (!(error instanceof GraphFaults)) throw error;
    const parts = error.faults.map((fault) => ({
      path: fault.at.file === null ? findLive(live, fault) : findParam(params, fault),
      message: sayFault(fault),
    }));
    throw refuse("", parts);
  }
}

/** The graph itself was sound: what is wrong with it now comes of a parameter. */
function findParam(params: JsonRecord, { message }: Fault): string {
  const names = Object.keys(params);
  const named = names.find((name) => message.includes(`"${name}"`));
  const found = named ?? (names.length === 1 ? names[0] : undefined);
  return found === undefined ? "/" : pointTo(PARAMS, found);
}

const PARAMS = "params";

const findObstacles = (graph: ChangedGraph, next: Compiled): readonly string[] =>
  graph.preview(next).flatMap((change) => {
    if (change.label === "live") return [];
    return change.label === "relaunch" ? [change.reason] : ["a part of the graph would come or go"];
  });

/** Each value is compiled alone to see what it does; of more than these, only all together. */
const MOST_ALONE = 20;

function listObstacles(graph: ChangedGraph, next: Compiled, change: LiveChange): readonly RefusedPart[] {
  const { before, given, params, compile } = change;
  const alone = [
    ...Object.entries(given).flatMap(([node, values]) =>
      Object.entries(values).map(([property, value]) => ({
        path: pointTo(node, property),
        compile: () => compile(mergeLive(before, { [node]: { [property]: value } }), {}),
      })),
    ),
    ...Object.entries(params).map(([name, value]: [string, Json]) => ({
      path: pointTo(PARAMS, name),
      compile: () => compile(before, { [name]: value }),
    })),
  ];
  const parts = alone.slice(0, alone.length > MOST_ALONE ? 0 : MOST_ALONE).flatMap(({ path, compile }) => {
    const one = orNull(compile);
    const reasons = one === null ? [] : findObstacles(graph, one);
    return reasons.length === 0 ? [] : [{ path, message: reasons.join("; ") }];
  });
  return parts.length > 0 ? parts : [{ path: "/", message: findObstacles(graph, next).join("; ") }];
}

/** Null: good only together with others. */
function orNull(compile: () => Compiled): Compiled | null {
  try {
    return compile();
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
