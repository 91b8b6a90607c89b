/** Resolved and linked chains → a segment of the plan. */
import type { ConnectedChain } from "./connect.ts";
import type { Linked } from "./link.ts";
import type { PlanLink, PlanNode, PlanSegment } from "./plan.ts";
import type { Part, ResolvedStep } from "./resolved.ts";
import { isTee } from "./segments.ts";

export interface SegmentRequest {
  readonly name: string;
  readonly tee: ResolvedStep | null;
  readonly chains: readonly ConnectedChain[];
  readonly linked: Linked;
}

export function assembleSegment({ name, tee, chains, linked }: SegmentRequest): PlanSegment {
  const steps = chains.flatMap((chain) => chain.steps);
  const links = chains.flatMap((chain) => linksOf(chain, linked));
  const teeName = tee?.parts[0]?.name ?? null;
  // A segment's own chains can be written before the one that hangs on the tee.
  const entry = links.findIndex((link) => link.from === teeName);
  return {
    name,
    tee: teeName,
    nodes: steps.flatMap((step) => step.parts.map((part) => makeNode(step, part, linked))),
    links: entry > 0 ? [...links.slice(entry, entry + 1), ...links.slice(0, entry), ...links.slice(entry + 1)] : links,
    drivers: steps.flatMap((step) => step.driver ?? []),
  };
}

/** In the order frames take. */
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

function makeNode(step: ResolvedStep, part: Part, { unlinked }: Linked): PlanNode {
  // Without it a tee stops the stream at the moment its last branch is taken off. Every tee has it: one that got it with
  // its first branch would have to be launched anew for it.
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
  };
}

export function deepFreeze<T>(value: T): T {
  if (typeof value !== "object" || value === null || Object.isFrozen(value)) return value;
  for (const inner of Object.values(value)) deepFreeze(inner);
  return Object.freeze(value);
}
