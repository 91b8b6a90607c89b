/** Where in a graph video frames come from. */
import type { Registry } from "../../schemas/registry.ts";
import type { PlanNode, PlanSegment } from "../compiler/plan.ts";

/**
 * Behind each source, the first node that gives decoded frames: packets are neither in the order of their frames nor as
 * many. Where nothing is decoded, what gives access units, else the source itself.
 */
export function findOrigins(segments: readonly PlanSegment[], registry: Pick<Registry, "get">): readonly string[] {
  const nodes = segments.flatMap((segment) => segment.nodes);
  const links = segments.flatMap((segment) => segment.links);
  const lasts = new Map(nodes.map((node) => [node.author, node.name]));
  const fed = new Set(links.map((link) => link.to));
  const roots = nodes.filter((node) => !fed.has(node.name));
  // With a `source`, what else has no input (a logo, a clock) is not what the graph is about.
  const sources = roots.filter((node) => node.element === "source");
  const origins = (sources.length > 0 ? sources : roots).map((root) => {
    const path = followLinks(root, nodes, links);
    const found =
      path.find((node) => node.element === "decode" || isVideo(node, registry, "Decoder")) ??
      path.find((node) => isVideo(node, registry, "Parser") && node.element !== "source") ??
      path.find((node) => isVideo(node, registry, "Depayloader"));
    return lasts.get((found ?? root).author) ?? root.name;
  });
  return [...new Set(origins)];
}

/** The node and all that it leads to, nearest first. */
function followLinks(root: PlanNode, nodes: readonly PlanNode[], links: PlanSegment["links"]): readonly PlanNode[] {
  const byName = new Map(nodes.map((node) => [node.name, node]));
  const path = [root];
  for (const node of path)
    for (const { from, to } of links) {
      const next = byName.get(to);
      if (from === node.name && next !== undefined && !path.includes(next)) path.push(next);
    }
  return path;
}

/** By its class in the registry, such as `Codec/Decoder/Video` or `Generic/Bin/Decoder`. */
function isVideo({ kind, factory }: PlanNode, registry: Pick<Registry, "get">, role: string): boolean {
  const words = kind === "native" ? (registry.get(factory)?.klass.split("/") ?? []) : [];
  return words.includes(role) && !words.includes("Audio") && !words.includes("Subtitle");
}
