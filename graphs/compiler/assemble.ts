/** Resolved and linked chains → a segment of the plan. */
import type { ConnectedChain } from "./connect.ts";
import type { Linked } from "./link.ts";
import type { PlanNode, PlanSegment } from "./plan.ts";
import type { Part, ResolvedStep } from "./resolved.ts";

export interface SegmentRequest {
  readonly name: string;
  readonly tee: ResolvedStep | null;
  readonly chains: readonly ConnectedChain[];
  readonly linked: Linked;
  /** Tees on which branches come and go. */
  readonly openTees: ReadonlySet<ResolvedStep>;
}

export function assembleSegment({ name, tee, chains, linked, openTees }: SegmentRequest): PlanSegment {
  const steps = chains.flatMap((chain) => chain.steps);
  const links = chains.flatMap((chain) => [
    ...chain.edges.flatMap((edge) => linked.byEdge.get(edge) ?? []),
    ...chain.steps.flatMap((step) => linked.inside.get(step) ?? []),
  ]);
  const teeName = tee?.parts[0]?.name ?? null;
  // A segment's own chains can be written before the one that hangs on the tee.
  const entry = links.findIndex((link) => link.from === teeName);
  return {
    name,
    tee: teeName,
    nodes: steps.flatMap((step) => step.parts.map((part) => makeNode(step, part, openTees.has(step)))),
    links: entry > 0 ? [...links.slice(entry, entry + 1), ...links.slice(0, entry), ...links.slice(entry + 1)] : links,
    drivers: steps.flatMap((step) => step.driver ?? []),
  };
}

function makeNode(step: ResolvedStep, part: Part, isOpenTee: boolean): PlanNode {
  // Without it a tee stops the stream at the moment its last branch is taken off.
  const open = isOpenTee && part.properties["allow-not-linked"] === undefined ? { "allow-not-linked": true } : {};
  return {
    name: part.name,
    author: step.name,
    element: step.element,
    kind: part.kind,
    factory: part.factory,
    properties: { ...part.properties, ...open },
    origins: part.origins,
    at: step.at,
  };
}

export function deepFreeze<T>(value: T): T {
  if (typeof value !== "object" || value === null || Object.isFrozen(value)) return value;
  for (const inner of Object.values(value)) deepFreeze(inner);
  return Object.freeze(value);
}
