/** Where in a graph frames come from. */
import type { PlanNode, PlanSegment } from "../compiler/plan.ts";

/**
 * The last node of each `source`, or of the `decode` that follows it, since packets are neither in the order of their
 * frames nor as many; without a source, the nodes that nothing leads to.
 */
export function findOrigins(segments: readonly PlanSegment[]): readonly string[] {
  const nodes = segments.flatMap((segment) => segment.nodes);
  const links = segments.flatMap((segment) => segment.links);
  const sources = nodes.filter((node) => node.element === "source");
  if (sources.length === 0) {
    const fed = new Set(links.map((link) => link.to));
    return nodes.filter((node) => !fed.has(node.name)).map((node) => node.name);
  }
  const decoders = nodes.filter((node) => node.element === "decode");
  return [...lastOfEach(sources).values()].map((source) => {
    const next = links.find((link) => link.from === source)?.to;
    const decoder = decoders.find((node) => node.name === next);
    return (decoder && lastOfEach(decoders).get(decoder.author)) ?? source;
  });
}

const lastOfEach = (nodes: readonly PlanNode[]): ReadonlyMap<string, string> =>
  new Map(nodes.map((node) => [node.author, node.name]));
