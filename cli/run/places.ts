/** Which node of a running graph is meant. */
import type { PlanSegment } from "../../graphs/compiler/plan.ts";
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
