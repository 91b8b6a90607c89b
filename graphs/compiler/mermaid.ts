/** A plan as a Mermaid flowchart: a box for each step as its author wrote it, a frame around each branch. */
import type { GraphPlan, PlanSegment } from "./plan.ts";

export function toMermaid(plan: GraphPlan): string {
  const segments = [plan.main, ...plan.branches];
  const steps = new Map(segments.flatMap(({ nodes }) => nodes).map((node) => [node.name, node.author]));
  const links = segments
    .flatMap((segment) => segment.links)
    .map(({ from, to }) => [steps.get(from) ?? from, steps.get(to) ?? to] as const)
    .filter(([from, to]) => from !== to);
  const ids = new Map([...new Set(steps.values())].map((step, index) => [step, `n${index}`]));
  const arrows = new Set(links.map(([from, to]) => `  ${ids.get(from) ?? from} --> ${ids.get(to) ?? to}`));
  const ours = segments.flatMap(({ nodes }) => nodes).filter(({ kind }) => kind === "typescript");
  return [
    "flowchart LR",
    ...segments.flatMap((segment, index) => writeSegment(segment, index, ids)),
    ...arrows,
    ...writeSlots(plan, ids, steps),
    "  classDef ours fill:#ffe08a,stroke:#44546a,color:#1b2430",
    "  classDef slot fill:#ffffff,stroke:#44546a,color:#1b2430,stroke-dasharray:4",
    ...[...new Set(ours.map(({ author }) => author))].map((step) => `  class ${ids.get(step)} ours`),
    "",
  ].join("\n");
}

function writeSegment(segment: PlanSegment, index: number, ids: ReadonlyMap<string, string>): readonly string[] {
  const titles = new Map(
    segment.nodes.map(({ author, element }) => [author, author === element ? author : `${author}: ${element}`]),
  );
  return [
    `  subgraph s${index}[${quote(segment.name)}]`,
    ...[...titles].map(([step, title]) => `    ${ids.get(step)}[${quote(title)}]`),
    "  end",
  ];
}

function writeSlots(
  plan: GraphPlan,
  ids: ReadonlyMap<string, string>,
  steps: ReadonlyMap<string, string>,
): readonly string[] {
  return Object.keys(plan.slots).flatMap((slot, index) => {
    const tee = plan.slotTees[slot] ?? "";
    const from = ids.get(steps.get(tee) ?? tee);
    const id = `slot${index}`;
    return [
      `  ${id}[${quote(`slot ${slot}`)}]`,
      ...(from === undefined ? [] : [`  ${from} -.-> ${id}`]),
      `  class ${id} slot`,
    ];
  });
}

/** Mermaid has no escape for quotation marks but that of HTML. */
const quote = (text: string): string =>
  `"${text.replaceAll("&", "#amp;").replaceAll('"', "#quot;").replaceAll("<", "#lt;").replaceAll("\n", " ")}"`;
