/** Prepared chains → connected, linked and checked → segments of the plan. One scope at a time: the graph, or a slot. */
import type { Prepared, PreparedStep } from "./apply-params.ts";
import { type ConnectedChain, checkEnds, connect, orderSteps } from "./connect-chains.ts";
import type { FaultList } from "./fault.ts";
import { MAX_EXPRESSIONS, MAX_NODES } from "./limits.ts";
import { type Linked, link } from "./link-pads.ts";
import { type Available, followMetadata } from "./metadata.ts";
import type { PlanLink, PlanNode, PlanSegment } from "./plan.ts";
import { type Part, type Resolution, type ResolvedStep, resolveStep } from "./resolve-steps.ts";

interface WireRequest {
  readonly prepared: Prepared;
  readonly resolution: Resolution;
  /** Names of the nodes that slots are attached to. */
  readonly slotTees: ReadonlySet<string>;
  readonly damaged: boolean;
  readonly faults: FaultList;
  /** Of a slot: the graph it is attached to. */
  readonly outside?: Outside;
}

interface Outside {
  /** The tee by its name; null when it could not be found. */
  readonly name: string;
  readonly tee: ResolvedStep | null;
  /** Names of the graph's nodes that `when:` leaves out. */
  readonly leftOut: ReadonlySet<string>;
  readonly wired: Wired;
}

export interface Wired {
  readonly chains: readonly ConnectedChain[];
  /** By the author's name. */
  readonly nodes: ReadonlyMap<string, ResolvedStep>;
  readonly linked: Linked;
  readonly metadata: ReadonlyMap<ResolvedStep, Available>;
}

/** Null when the graph has more nodes than allowed. */
export function wire(request: WireRequest): Wired | null {
  const { prepared, resolution, faults, outside } = request;
  const own = resolveAll(prepared, resolution, faults);
  if (own === null) return null;
  const tee = outside?.tee ?? null;
  const nodes = new Map(outside && tee ? [[outside.name, tee]] : []);
  for (const [step, resolved] of own) nodes.set(step.name, resolved);
  let unresolved = false;
  const chains = prepared.chains.map((chain) => {
    const resolve = (step: PreparedStep) => own.get(step) as ResolvedStep;
    const leftOut = new Set([...(outside?.leftOut ?? []), ...prepared.leftOut]);
    const connected = connect(chain, resolve, { nodes, leftOut, damaged: request.damaged, faults });
    unresolved ||= connected.from?.broken === true || connected.to?.broken === true;
    return connected;
  });
  const edges = chains.flatMap((chain) => chain.edges);
  const steps = new Set([...chains.flatMap((chain) => chain.steps), ...edges.flatMap((edge) => [edge.from, edge.to])]);
  const ordered = orderSteps(steps, edges, faults);
  const isPartial =
    request.damaged || unresolved || prepared.leftOut.size > 0 || [...steps].some((step) => step.broken);
  const linked = link({
    ordered,
    given: pick(outside?.wired.linked.flows, tee),
    encoded: resolution.encoded,
    isPartial,
    faults,
  });
  if (!request.damaged) checkEnds(chains, request.slotTees, unresolved, faults);
  const metadata = followMetadata(ordered, pick(outside?.wired.metadata, tee), resolution);
  return { chains, nodes, linked, metadata };
}

const pick = <T>(all: ReadonlyMap<ResolvedStep, T> | undefined, tee: ResolvedStep | null) =>
  new Map([...(all ?? [])].filter(([step]) => step === tee));

function resolveAll(
  prepared: Prepared,
  resolution: Resolution,
  faults: FaultList,
): Map<PreparedStep, ResolvedStep> | null {
  const resolved = new Map<PreparedStep, ResolvedStep>();
  let parts = 0;
  let expressions = 0;
  for (const step of prepared.chains.flatMap((chain) => chain.items)) {
    if (step.kind === "from" || step.kind === "to") continue;
    const result = step.kind === "element" ? resolveStep(step, resolution) : null;
    if (step.kind === "element" && result !== null) resolved.set(step, result);
    parts += Math.max(1, result?.parts.length ?? 0);
    expressions += result?.expressions.length ?? 0;
    const [what, most] = parts > MAX_NODES ? ["nodes", MAX_NODES] : ["expressions", MAX_EXPRESSIONS];
    if (parts <= MAX_NODES && expressions <= MAX_EXPRESSIONS) continue;
    faults.add("yaml_too_complex", step.at, `the graph has more than ${most} ${what}`, { expected: `at most ${most}` });
    return null;
  }
  return resolved;
}

export interface Segment {
  readonly name: string;
  /** Null for main. */
  readonly tee: ResolvedStep | null;
  readonly chains: readonly ConnectedChain[];
}

export const isTee = (step: ResolvedStep): boolean => step.parts.length === 1 && step.parts[0]?.factory === "tee";

/**
 * Main first, then the branches in the order written. A branch starts at a tee of main and does not lead back into it, so
 * it can be detached and attached while main is PLAYING. Chains that start in a branch belong to it; all others are main.
 */
export function partition(chains: readonly ConnectedChain[]): readonly Segment[] {
  const owner = new Map<ResolvedStep, ConnectedChain>();
  for (const chain of chains) for (const step of chain.steps) owner.set(step, chain);
  const parentOf = (chain: ConnectedChain) => (chain.from === null ? undefined : owner.get(chain.from));
  const main = new Set(chains.filter((chain) => chain.name === "main" || parentOf(chain) === undefined));

  /** The chain at the root of the branch, or undefined for a chain of main. */
  const rootOf = (chain: ConnectedChain): ConnectedChain | undefined => {
    const seen = new Set<ConnectedChain>();
    let current = chain;
    while (!main.has(current)) {
      const parent = parentOf(current);
      if (parent === undefined || seen.has(current)) return undefined;
      if (main.has(parent) && current.from !== null && isTee(current.from)) return current;
      seen.add(current);
      current = parent;
    }
    return undefined;
  };

  let settled = false;
  while (!settled) {
    settled = true;
    for (const chain of chains) {
      const parent = parentOf(chain);
      const startsInMain =
        !main.has(chain) && parent !== undefined && main.has(parent) && chain.from !== null && !isTee(chain.from);
      if (startsInMain) settled = !addTo(main, chain) && settled;
      if (main.has(chain) && parent !== undefined) settled = !addTo(main, parent) && settled;
      const target = chain.to === null ? undefined : owner.get(chain.to);
      // A chain that joins two segments merges both into main: only main may have several inputs.
      if (target === undefined || rootOf(chain) === rootOf(target)) continue;
      settled = !(addTo(main, chain) || addTo(main, target)) && settled;
    }
  }
  const roots = chains.filter((chain) => rootOf(chain) === chain);
  const branches = roots.map((root) => ({
    name: root.name,
    tee: root.from,
    chains: chains.filter((chain) => rootOf(chain) === root),
  }));
  return [{ name: "main", tee: null, chains: chains.filter((chain) => rootOf(chain) === undefined) }, ...branches];
}

function addTo<T>(set: Set<T>, item: T): boolean {
  if (set.has(item)) return false;
  set.add(item);
  return true;
}

/** Linked chains → a segment of the plan. */
export function assembleSegment({ name, tee, chains }: Segment, { linked, metadata }: Wired): PlanSegment {
  const steps = chains.flatMap((chain) => chain.steps);
  const links = chains.flatMap((chain) => linksOf(chain, linked));
  const teeName = tee?.parts[0]?.name ?? null;
  // The link from the tee comes first, even if its chain is not written first.
  const entry = links.findIndex((link) => link.from === teeName);
  return {
    name,
    tee: teeName,
    nodes: steps.flatMap((step) => step.parts.map((part) => makeNode(step, part, linked, metadata.get(step)))),
    links: entry > 0 ? [...links.slice(entry, entry + 1), ...links.slice(0, entry), ...links.slice(entry + 1)] : links,
    drivers: steps.flatMap((step) => step.driver ?? []),
  };
}

/** In stream order. */
function linksOf({ steps, edges }: ConnectedChain, { byEdge, inside }: Linked): readonly PlanLink[] {
  const first = steps[0];
  const reached = new Set(edges.map((edge) => edge.to));
  const insideOf = (step: ResolvedStep) => (steps.includes(step) ? (inside.get(step) ?? []) : []);
  const along = edges.flatMap((edge) => [
    ...(byEdge.has(edge) ? [byEdge.get(edge) as PlanLink] : []),
    ...insideOf(edge.to),
  ]);
  return first === undefined || reached.has(first) ? along : [...insideOf(first), ...along];
}

function makeNode(step: ResolvedStep, part: Part, { unlinked }: Linked, available: Available | undefined): PlanNode {
  const variables = available === "unknown" ? undefined : available?.variables;
  // Without `allow-not-linked` a tee stops the stream when its last branch is detached. Set on every tee, because it
  // cannot be set later, when the first branch is attached.
  const open = isTee(step) && part.properties["allow-not-linked"] === undefined ? { "allow-not-linked": true } : {};
  const absent = unlinked.get(part);
  const keep = <T>(record: Readonly<Record<string, T>>): Readonly<Record<string, T>> =>
    absent === undefined ? record : Object.fromEntries(Object.entries(record).filter(([key]) => !absent.has(key)));
  return {
    name: part.name,
    author: step.name,
    element: step.element,
    kind: part.kind,
    factory: part.factory,
    properties: { ...keep(part.properties), ...open },
    origins: keep(part.origins),
    at: step.at,
    ...(variables && { variables }),
  };
}
