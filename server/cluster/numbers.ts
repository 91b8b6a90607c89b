/** Numbers of the nodes, for metrics. */
import type { NodeRow } from "../store/nodes.ts";

export const NODE_STATES = ["live", "draining", "lost"] as const;
export type NodeState = (typeof NODE_STATES)[number];

export function stateOf({ isLive, drainsUntil }: Pick<NodeRow, "isLive" | "drainsUntil">): NodeState {
  if (!isLive) return "lost";
  return drainsUntil === null ? "live" : "draining";
}

export interface NodeNumbers {
  /** Processes that no node has room for. */
  readonly waiting: number;
  readonly states: Readonly<Record<NodeState, number>>;
  /** Of the node that answers. */
  readonly processes: number;
  readonly reservedCores: number;
  /** Null: not limited. */
  readonly capacityCores: number | null;
}

export function countNodes(nodes: readonly NodeRow[], ownUuid: string, waiting: number): NodeNumbers {
  const count = (state: NodeState): number => nodes.filter((node) => stateOf(node) === state).length;
  const own = nodes.find(({ uuid }) => uuid === ownUuid);
  return {
    waiting,
    states: { live: count("live"), draining: count("draining"), lost: count("lost") },
    processes: own?.processes ?? 0,
    reservedCores: own?.reservedCores ?? 0,
    capacityCores: own?.cores ?? null,
  };
}
