/** Chains → edges between steps: neighbours, and the nodes that `from:` and `to:` name; then steps in stream order. */
import { suggest } from "../../schemas/suggest.ts";
import type { PreparedChain, PreparedStep } from "./apply-params.ts";
import type { JoinStep } from "./document.ts";
import type { FaultList } from "./fault.ts";
import type { Position } from "./plan.ts";
import { brokenStep, type ResolvedStep } from "./resolve-steps.ts";

export interface Edge {
  readonly from: ResolvedStep;
  readonly fromPad: string | null;
  /** Position of the step it comes from. */
  readonly fromAt: Position;
  readonly to: ResolvedStep;
  readonly toPad: string | null;
  readonly at: Position;
}

export interface ConnectedChain {
  readonly name: string;
  readonly at: Position;
  /** Steps of the chain itself. */
  readonly steps: readonly ResolvedStep[];
  /** Steps of other chains that it joins. */
  readonly from: ResolvedStep | null;
  readonly to: ResolvedStep | null;
  readonly edges: readonly Edge[];
}

interface Names {
  /** By the author's name. */
  readonly nodes: ReadonlyMap<string, ResolvedStep>;
  readonly leftOut: ReadonlySet<string>;
  /** Parts of the text could not be read; a missing name may be in them. */
  readonly damaged: boolean;
  readonly faults: FaultList;
}

export function connect(
  chain: PreparedChain,
  resolve: (step: PreparedStep) => ResolvedStep,
  names: Names,
): ConnectedChain {
  const edges: Edge[] = [];
  const steps: ResolvedStep[] = [];
  let from: ResolvedStep | null = null;
  let to: ResolvedStep | null = null;
  let last: { step: ResolvedStep; pad: string | null; at: Position } | null = null;
  for (const item of chain.items) {
    const step =
      item.kind === "element" ? resolve(item) : item.kind === "unreadable" ? brokenStep(item.at) : join(item, names);
    // A composite may expand into nothing; its neighbours are then linked to each other.
    if (item.kind === "element" && step.parts.length === 0 && !step.broken) continue;
    const pad = item.kind === "from" || item.kind === "to" ? item.pad : null;
    if (last !== null) {
      const toPad = item.kind === "to" ? pad : null;
      edges.push({ from: last.step, fromPad: last.pad, fromAt: last.at, to: step, toPad, at: item.at });
    }
    last = { step, pad: item.kind === "from" ? pad : null, at: item.at };
    if (item.kind === "from") from = step;
    else if (item.kind === "to") to = step;
    else steps.push(step);
  }
  return { name: chain.name, at: chain.at, steps, from, to, edges };
}

function join(item: JoinStep, { nodes, leftOut, damaged, faults }: Names): ResolvedStep {
  const found = nodes.get(item.node);
  if (found !== undefined) return found;
  if (leftOut.has(item.node)) {
    faults.add("unknown_node", item.at, `\`${item.kind}:\` names "${item.node}", which its \`when:\` leaves out`, {
      expected: "the same `when:` for this chain",
    });
  } else if (!damaged) {
    faults.add("unknown_node", item.at, `\`${item.kind}:\` names "${item.node}", but no node has that name`, {
      expected: [...nodes.keys()].slice(0, 20).join(", ") || "the name of a node",
      suggestion: suggest(item.node, nodes.keys()),
    });
  }
  return brokenStep(item.at);
}

export interface Ordered {
  readonly steps: readonly ResolvedStep[];
  readonly edges: readonly Edge[];
}

/**
 * Steps in stream order; a cycle is a fault and the edge that closes it is left out. Of two steps that could come next the
 * one written first does, so that of two conflicting links the second one is reported.
 */
export function orderSteps(steps: ReadonlySet<ResolvedStep>, edges: readonly Edge[], faults: FaultList): Ordered {
  const closing = findClosing(steps, edges, faults);
  const forward = edges.filter((edge) => !closing.has(edge));
  const outgoing = groupBy(forward, (edge) => edge.from);
  const waiting = new Map([...steps].map((step) => [step, 0]));
  for (const edge of forward) waiting.set(edge.to, (waiting.get(edge.to) ?? 0) + 1);
  const order: ResolvedStep[] = [];
  while (waiting.size > 0) {
    const next = [...waiting].find(([, inputs]) => inputs === 0)?.[0];
    if (next === undefined) break;
    waiting.delete(next);
    order.push(next);
    for (const edge of outgoing.get(next) ?? []) waiting.set(edge.to, (waiting.get(edge.to) ?? 0) - 1);
  }
  return { steps: order, edges: forward };
}

/** Edges that close a cycle. */
function findClosing(steps: ReadonlySet<ResolvedStep>, edges: readonly Edge[], faults: FaultList): ReadonlySet<Edge> {
  const outgoing = groupBy(edges, (edge) => edge.from);
  const done = new Set<ResolvedStep>();
  const path: ResolvedStep[] = [];
  const closing = new Set<Edge>();
  const visit = (step: ResolvedStep): void => {
    if (done.has(step)) return;
    path.push(step);
    for (const edge of outgoing.get(step) ?? []) {
      const start = path.indexOf(edge.to);
      if (start < 0) {
        visit(edge.to);
        continue;
      }
      closing.add(edge);
      const cycle = [...path.slice(start), edge.to].map((node) => node.name);
      faults.add("cycle", edge.at, `the links form a cycle: ${cycle.join(" → ")}`, {
        expected: "chains that only lead forward",
      });
    }
    path.pop();
    done.add(step);
  };
  for (const step of steps) visit(step);
  return closing;
}

export function groupBy<T, K>(items: readonly T[], keyOf: (item: T) => K): ReadonlyMap<K, readonly T[]> {
  const groups = new Map<K, T[]>();
  for (const item of items) {
    const group = groups.get(keyOf(item));
    if (group === undefined) groups.set(keyOf(item), [item]);
    else group.push(item);
  }
  return groups;
}

/**
 * Every chain needs an input and an output. `unresolved`: a `from:` or `to:` names an unknown node and may have meant any
 * of the open ends.
 */
export function checkEnds(
  chains: readonly ConnectedChain[],
  slotTees: ReadonlySet<string>,
  unresolved: boolean,
  faults: FaultList,
): void {
  const edges = chains.flatMap((chain) => chain.edges);
  const reached = new Set(edges.map((edge) => edge.to));
  const continued = new Set(edges.map((edge) => edge.from));
  for (const { name, steps } of chains) {
    const [first] = steps;
    const last = steps.at(-1);
    if (first !== undefined && !first.broken && !reached.has(first)) {
      const sinks = first.parts[0]?.pads.filter((pad) => pad.direction === "sink") ?? [];
      const mayBeReached = unresolved && !sinks.some((pad) => pad.presence === "always");
      if (sinks.length > 0 && !mayBeReached) {
        const found = `chain "${name}" begins with "${first.name}", which needs an input`;
        const expected = "`source`, another source element, or `from: node` before it";
        faults.add("chain_from_nowhere", first.at, found, { expected });
      }
    }
    if (last === undefined || last.broken || continued.has(last) || slotTees.has(last.name)) continue;
    const end = last.parts.at(-1);
    if (end === undefined || !end.pads.some((pad) => pad.direction === "src")) continue;
    if (end.factory !== "tee") {
      const found = `chain "${name}" ends in "${last.name}", whose output is not linked`;
      const expected = "a sink such as `print` or `fakesink` after it, or `to: node`";
      faults.add("not_linkable", last.at, found, { expected });
    } else if (!unresolved) {
      const found = `chain "${name}" ends in the tee "${last.name}", which has no branches`;
      const expected = `a chain or slot that begins with \`from: ${last.name}\``;
      faults.add("not_linkable", last.at, found, { expected });
    }
  }
}
