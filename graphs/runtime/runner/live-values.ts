/** Sets live properties and parameters while PLAYING: all or nothing. */

import type { AnyElement } from "../../../elements/element.ts";
import { RequestRejected } from "../../../ipc/channel.ts";
import type { InputFault } from "../../../schemas/bounded-check.ts";
import type { Json, JsonRecord } from "../../../schemas/json.ts";
import { type LiveValues, mergeLive } from "../../../schemas/live-values.ts";
import type { Compiled } from "../../compiler/compile.ts";
import { type Fault, GraphFaults } from "../../compiler/fault.ts";
import type { GraphPlan, PlanNode, PlanSegment } from "../../compiler/plan.ts";
import { findElementProperty, isLiveProperty } from "../../compiler/properties.ts";
import { validate } from "../../compiler/schema-check.ts";
import type { RunningGraph } from "../running-graph.ts";

interface LiveChange {
  readonly before: LiveValues;
  readonly given: LiveValues;
  /** Parameters of the graph that change. */
  readonly params: JsonRecord;
  /** Compiles the graph with these values and parameters. Throws `GraphFaults`. */
  compile(live: LiveValues, params: JsonRecord): Compiled;
  readonly current: Compiled;
  /** `current` with the given values; null when they require a compilation. */
  patch(given: LiveValues): Compiled | null;
}

interface LiveResult {
  /** The values from now on. */
  readonly live: LiveValues;
  readonly compiled: Compiled;
}

type ChangedGraph = Pick<RunningGraph, "preview" | "apply">;

/** Throws `RequestRejected` without any change. */
export async function setLive(graph: ChangedGraph, change: LiveChange): Promise<LiveResult> {
  const { before, given, params, current } = change;
  const live = mergeLive(before, given);
  const next = (Object.keys(params).length === 0 ? change.patch(given) : null) ?? compileLive(live, change);
  if (findObstacles(graph, next).length > 0) throw rejectAt(listObstacles(graph, next, change));
  try {
    await graph.apply(next);
  } catch (error) {
    await graph.apply(current).catch(() => {}); // undo the changes before the failure
    throw new RequestRejected("invalid", (error as Error).message);
  }
  return { live, compiled: next };
}

function compileLive(live: LiveValues, { compile, params }: LiveChange): Compiled {
  try {
    return compile(live, params);
  } catch (error) {
    if (!(error instanceof GraphFaults)) throw error;
    const faults = error.faults.map((fault) => ({
      path: fault.at.file === null ? findLive(live, fault) : findParam(params, fault),
      message: describeFault(fault),
    }));
    throw reject(
      faults.map(({ message }) => message),
      faults,
    );
  }
}

/** The graph compiled before, so a fault in it comes from a parameter. */
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
    return change.label === "relaunch" ? [change.reason] : ["it would attach or detach a branch"];
  });

/** Up to this many values are compiled one by one to find the one at fault. */
const MAX_SINGLE = 20;

function listObstacles(graph: ChangedGraph, next: Compiled, change: LiveChange): readonly InputFault[] {
  const { before, given, params, compile } = change;
  const single = [
    ...Object.entries(given).flatMap(([node, values]) =>
      Object.entries(values).map(([property, value]) => ({
        path: pointTo(node, property),
        limit: "cannot be changed while the process runs",
        compile: () => compile(mergeLive(before, { [node]: { [property]: value } }), {}),
      })),
    ),
    ...Object.entries(params).map(([name, value]: [string, Json]) => ({
      path: pointTo(PARAMS, name),
      limit: "can only be set at the start of a process",
      compile: () => compile(before, { [name]: value }),
    })),
  ];
  const faults = (single.length > MAX_SINGLE ? [] : single).flatMap(({ path, limit, compile }) => {
    const reasons = obstaclesOf(graph, compile);
    return reasons.length === 0 ? [] : [{ path, message: `${limit}: ${reasons.join("; ")}` }];
  });
  if (faults.length > 0) return faults;
  return [{ path: "/", message: `cannot be changed while the process runs: ${findObstacles(graph, next).join("; ")}` }];
}

/** Empty for a value that only compiles together with others. */
function obstaclesOf(graph: ChangedGraph, compile: () => Compiled): readonly string[] {
  let compiled: Compiled;
  try {
    compiled = compile();
  } catch {
    return [];
  }
  return findObstacles(graph, compiled);
}

const MAX_FAULTS = 100;

const reject = (messages: readonly string[], faults: readonly InputFault[]): RequestRejected =>
  new RequestRejected("invalid", messages.join("\n"), faults.slice(0, MAX_FAULTS));

const rejectAt = (faults: readonly InputFault[]): RequestRejected =>
  reject(
    faults.map(({ path, message }) => `${path} ${message}`),
    faults,
  );

/** Without the position in the generated text. */
const describeFault = ({ message, expected, suggestion }: Fault): string => {
  if (suggestion !== undefined) return `${message}; did you mean "${suggestion}"?`;
  return expected === undefined ? message : `${message}; expected ${expected}`;
};

export const describeFaults = (faults: readonly Fault[]): string => faults.map(describeFault).join("\n");

/**
 * Sets live properties of TypeScript elements without compiling, which would block frames: only their own schema applies,
 * and nothing else in the plan depends on them. Null when a compilation is needed, also to report faults.
 */
export function patchPlan(
  compiled: Compiled,
  given: LiveValues,
  elements: ReadonlyMap<string, AnyElement>,
): Compiled | null {
  const { plan } = compiled;
  if (plan === null || Object.keys(given).some((node) => !mayPatch(plan, node, given, elements))) return null;
  const patch = (segment: PlanSegment): PlanSegment =>
    Object.freeze({ ...segment, nodes: Object.freeze(segment.nodes.map((node) => patchNode(node, given))) });
  const patched = Object.freeze({ ...plan, main: patch(plan.main), branches: Object.freeze(plan.branches.map(patch)) });
  const asLive = () => patchPlan(compiled.asLive(), given, elements) ?? compiled.asLive();
  return { ...compiled, plan: patched, asLive };
}

function mayPatch(
  { main, branches }: GraphPlan,
  name: string,
  given: LiveValues,
  elements: ReadonlyMap<string, AnyElement>,
): boolean {
  const nodes = [main, ...branches].flatMap((segment) => segment.nodes).filter(({ author }) => author === name);
  const [node] = nodes;
  const element = node === undefined ? undefined : elements.get(node.element);
  if (nodes.length !== 1 || node?.kind !== "typescript" || element === undefined || element.kind === "composite")
    return false;
  return Object.entries(given[name] ?? {}).every(([property, value]) => {
    const schema = findElementProperty(element, property);
    return schema !== undefined && isLiveProperty(element, property) && validate(schema, value).length === 0;
  });
}

function patchNode(node: PlanNode, given: LiveValues): PlanNode {
  const values = given[node.author];
  return values === undefined ? node : Object.freeze({ ...node, properties: { ...node.properties, ...values } });
}

/** Live values as a graph that extends the running one (JSON is YAML): one property per line, to locate faults. */
export function writeLive(graph: string, base: string, live: LiveValues): string {
  const head = JSON.stringify({ graph, about: "", extends: base }).slice(0, -1);
  return [`${head}, "set": {`, ...listLines(live).map(({ text }) => text), "}}"].join("\n");
}

/** A JSON pointer to the value of a fault; `/` when it concerns none of them. */
function findLive(live: LiveValues, { at: { file, line } }: Fault): string {
  // The generated text has no file, and its first line is the head.
  return (file === null ? listLines(live)[line - 2]?.path : undefined) ?? "/";
}

interface Line {
  readonly text: string;
  readonly path: string;
}

const listLines = (live: LiveValues): readonly Line[] =>
  Object.entries(live).flatMap(([node, values], index, nodes) => {
    const path = pointTo(node);
    return [
      { text: `${JSON.stringify(node)}: {`, path },
      ...Object.entries(values).map(([property, value], place, all) => ({
        text: `${JSON.stringify(property)}: ${writeValue(value)}${place < all.length - 1 ? "," : ""}`,
        path: pointTo(node, property),
      })),
      { text: index < nodes.length - 1 ? "}," : "}", path },
    ];
  });

/** A client's value is never a reference to a parameter. */
const writeValue = (value: unknown): string =>
  JSON.stringify(value, (_, inner) => (typeof inner === "string" ? inner.replaceAll("$", "$$$$") : inner));

const pointTo = (...keys: readonly string[]): string =>
  keys.map((key) => `/${key.replaceAll("~", "~0").replaceAll("/", "~1")}`).join("");
