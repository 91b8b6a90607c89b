/** Where in a running graph something is to be looked at. */
import type { PlanNode, PlanSegment } from "../../graphs/compiler/plan.ts";
import { didYouMean } from "../../schemas/suggest.ts";
import { UsageFault } from "../command.ts";

/** The node that a name means: itself, or the last of the step that the author calls so. */
export function findNode(name: string, segments: readonly PlanSegment[]): string | undefined {
  const nodes = segments.flatMap((segment) => segment.nodes);
  return (nodes.find((node) => node.name === name) ?? nodes.findLast((node) => node.author === name))?.name;
}

export function expectNode(option: string, name: string, segments: readonly PlanSegment[]): string {
  const found = findNode(name, segments);
  if (found !== undefined) return found;
  const nodes = segments.flatMap((segment) => segment.nodes);
  const steps = [...new Set(nodes.map((node) => node.author))];
  const inside = nodes.map((node) => node.name).filter((node) => !steps.includes(node));
  throw new UsageFault(
    [
      `--${option} names "${name}", and the graph has no such node${didYouMean(name, [...steps, ...inside])}`,
      `  steps: ${steps.join(", ")}`,
      ...(inside.length === 0 ? [] : [`  inside them: ${inside.join(", ")}`]),
    ].join("\n"),
  );
}

/**
 * Where frames come from: the last node of each `source`, or of the `decode` that follows it, since packets are neither
 * in the order of their frames nor as many; without a source, the nodes that nothing leads to.
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
