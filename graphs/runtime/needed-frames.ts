/** Which decoders may leave frames out: those from which no sink that needs all frames can be reached. Pure. */
import { type AnyElement, SKIP_FRAMES } from "../../elements/element.ts";
import type { GraphPlan, PlanNode, PlanSegment } from "../compiler/plan.ts";
import { completeProperties } from "../compiler/properties.ts";

const isSkipping = ({ factory }: PlanNode): boolean => factory === SKIP_FRAMES;

export const skipsFrames = ({ main, branches }: Pick<GraphPlan, "main" | "branches">): boolean =>
  [main, ...branches].some(({ nodes }) => nodes.some(isSkipping));

/** Native nodes that end a chain without reading frames; a tee does while nothing is attached to it. */
const READING_NOTHING = new Set(["fakesink", "tee"]);

/** For each node that leaves frames out, whether all frames are needed behind it now. */
export function findNeeds(
  segments: readonly PlanSegment[],
  elements: ReadonlyMap<string, AnyElement>,
): ReadonlyMap<string, boolean> {
  const nodes = segments.flatMap((segment) => segment.nodes);
  const next = new Map<string, string[]>();
  for (const { from, to } of segments.flatMap(({ links }) => links)) next.set(from, [...(next.get(from) ?? []), to]);
  const needing = new Set(
    nodes.filter((node) => !next.has(node.name) && needsAll(node, elements)).map(({ name }) => name),
  );
  const reach = (name: string): boolean => {
    const reached = new Set([name]);
    for (const at of reached) for (const to of next.get(at) ?? []) reached.add(to);
    return [...reached].some((at) => needing.has(at));
  };
  return new Map(nodes.filter(isSkipping).map(({ name }) => [name, reach(name)]));
}

function needsAll(
  { kind, factory, element, properties }: PlanNode,
  elements: ReadonlyMap<string, AnyElement>,
): boolean {
  if (kind === "native") return !READING_NOTHING.has(factory);
  const definition = elements.get(element);
  if (definition?.kind !== "sink" || definition.needsAllFrames === undefined) return true;
  return definition.needsAllFrames(completeProperties(definition, properties));
}
