/** Chains → which step goes to which: names in `from:` and `to:` looked up, neighbours joined. */

import { suggest } from "../../schemas/suggest.ts";
import type { JoinStep } from "./document.ts";
import type { FaultList } from "./fault-list.ts";
import type { Position } from "./plan.ts";
import type { PreparedChain, PreparedStep } from "./prepare.ts";
import type { ResolvedStep } from "./resolved.ts";

export interface Edge {
  readonly from: ResolvedStep;
  readonly fromPad: string | null;
  /** Where the step it comes from was written. */
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

export interface Names {
  /** Nodes that can be joined, by the name the author knows. */
  readonly nodes: ReadonlyMap<string, ResolvedStep>;
  readonly leftOut: ReadonlySet<string>;
  /** Parts of the text could not be read: a name that is missing may be in them. */
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
      item.kind === "element" ? resolve(item) : item.kind === "unreadable" ? placeholder(item.at) : join(item, names);
    // A composite may stand for nothing at all; its neighbours are then neighbours of each other.
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
    faults.add("unknown_node", item.at, `\`${item.kind}:\` names "${item.node}", which its \`when:\` keeps out`, {
      expected: "the same `when:` for this chain",
    });
  } else if (!damaged) {
    faults.add("unknown_node", item.at, `\`${item.kind}:\` names "${item.node}", but no node has that name`, {
      expected: [...nodes.keys()].slice(0, 20).join(", ") || "the name of a node",
      suggestion: suggest(item.node, nodes.keys()),
    });
  }
  return placeholder(item.at);
}

/** Stands where something could not be read or found, so that what is around it is not blamed. */
function placeholder(at: Position): ResolvedStep {
  return { name: "", element: "", at, definition: null, parts: [], broken: true, driver: null, prefer: [] };
}
