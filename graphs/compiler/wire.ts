/** Prepared chains of one scope (the graph's own, or one slot's) → connected, ordered, linked and checked. */
import type { Caps } from "./caps.ts";
import { type ConnectedChain, connect } from "./connect.ts";
import { checkEnds } from "./ends.ts";
import type { FaultList } from "./fault-list.ts";
import { MAX_NODES } from "./limits.ts";
import { type Linked, link } from "./link.ts";
import { type Available, followMetadata } from "./metadata.ts";
import { orderSteps } from "./order.ts";
import type { Prepared, PreparedStep } from "./prepare.ts";
import { resolveStep } from "./resolve.ts";
import type { Resolution, ResolvedStep } from "./resolved.ts";

export interface WireRequest {
  readonly prepared: Prepared;
  readonly resolution: Resolution;
  /** Nodes of the graph that a slot may hang on; empty for the graph itself. */
  readonly outside: ReadonlyMap<string, ResolvedStep>;
  readonly outsideLeftOut: ReadonlySet<string>;
  readonly outsideFlows: ReadonlyMap<ResolvedStep, Caps>;
  readonly outsideMetadata: ReadonlyMap<ResolvedStep, Available>;
  readonly slotTees: ReadonlySet<string>;
  readonly damaged: boolean;
  readonly faults: FaultList;
}

export interface Wired {
  readonly chains: readonly ConnectedChain[];
  /** By the author's name. */
  readonly nodes: ReadonlyMap<string, ResolvedStep>;
  readonly linked: Linked;
  readonly metadata: ReadonlyMap<ResolvedStep, Available>;
}

/** Null when there are more nodes than a graph may have. */
export function wire(request: WireRequest): Wired | null {
  const { prepared, resolution, faults } = request;
  const own = resolveAll(prepared, resolution, faults);
  if (own === null) return null;
  const nodes = new Map(request.outside);
  for (const [step, resolved] of own) nodes.set(step.name, resolved);
  let unresolved = false;
  const chains = prepared.chains.map((chain) => {
    const resolve = (step: PreparedStep) => own.get(step) as ResolvedStep;
    const leftOut = new Set([...request.outsideLeftOut, ...prepared.leftOut]);
    const connected = connect(chain, resolve, { nodes, leftOut, damaged: request.damaged, faults });
    unresolved ||= connected.from?.broken === true || connected.to?.broken === true;
    return connected;
  });
  const edges = chains.flatMap((chain) => chain.edges);
  const steps = new Set([...chains.flatMap((chain) => chain.steps), ...edges.flatMap((edge) => [edge.from, edge.to])]);
  const ordered = orderSteps(steps, edges, faults);
  const isPartial =
    request.damaged || unresolved || prepared.leftOut.size > 0 || [...steps].some((step) => step.broken);
  const linked = link({ ordered, given: request.outsideFlows, encoded: resolution.encoded, isPartial, faults });
  if (!request.damaged) checkEnds({ chains, slotTees: request.slotTees, unresolved, faults });
  const metadata = followMetadata({
    ordered,
    given: request.outsideMetadata,
    elements: resolution.elements,
    registry: resolution.registry,
    faults,
  });
  return { chains, nodes, linked, metadata };
}

function resolveAll(
  prepared: Prepared,
  resolution: Resolution,
  faults: FaultList,
): Map<PreparedStep, ResolvedStep> | null {
  const resolved = new Map<PreparedStep, ResolvedStep>();
  let parts = 0;
  for (const step of prepared.chains.flatMap((chain) => chain.items)) {
    if (step.kind !== "element") continue;
    const result = resolveStep(step, resolution);
    resolved.set(step, result);
    parts += Math.max(1, result.parts.length);
    if (parts <= MAX_NODES) continue;
    faults.add("yaml_too_complex", step.at, `the graph has more than ${MAX_NODES} nodes`, {
      expected: `at most ${MAX_NODES}`,
    });
    return null;
  }
  return resolved;
}
