/** A plan as a diagram: Graphviz DOT with all nodes, or a Mermaid flowchart with the author's steps. */
import type { GraphPlan, PlanLink, PlanNode, PlanSegment } from "./plan.ts";

/** The fills differ in lightness as well as hue, for readers without colour vision. */
const FILL = { typescript: "#ffe08a", native: "#e8f1fb" } as const;
const MAX_VALUE_CHARS = 48;
/** Fixed width: the SVG may be shown with another font than it was laid out with. */
const FONT = "Courier";

/** A cluster for each segment, a colour for each kind of element. */
export function toDot(plan: GraphPlan): string {
  const segments = [plan.main, ...plan.branches];
  const lines = [
    `digraph ${quote(plan.graph)} {`,
    "  rankdir=LR;",
    `  graph [fontname="${FONT}", fontsize=12, labeljust=l, labelloc=t, color="#8a97a6", bgcolor=white];`,
    `  node [fontname="${FONT}", fontsize=11, shape=box, style="rounded,filled", color="#44546a", fontcolor="#1b2430"];`,
    `  edge [fontname="${FONT}", fontsize=9, color="#44546a", fontcolor="#44546a"];`,
    `  label=${quote(plan.about === "" ? plan.graph : `${plan.graph}: ${plan.about}`)};`,
    ...segments.flatMap(writeSegment),
    ...segments.flatMap((segment) => segment.links).map(writeLink),
    ...writeSlots(plan),
    "}",
  ];
  return `${lines.join("\n")}\n`;
}

function writeSegment(segment: PlanSegment, index: number): readonly string[] {
  const title = segment.tee === null ? segment.name : `${segment.name} (branch)`;
  return [
    `  subgraph cluster_${index} {`,
    `    label=${quote(title)};`,
    `    style=${quote(segment.tee === null ? "rounded" : "rounded,dashed")};`,
    ...segment.nodes.map((node) => `    ${writeNode(node)}`),
    "  }",
  ];
}

function writeNode(node: PlanNode): string {
  const title = node.name === node.factory ? node.name : `${node.name}\n${node.factory}`;
  const properties = Object.entries(node.properties).map(([name, value]) => {
    const text = typeof value === "string" ? value : JSON.stringify(value);
    return `${name} = ${text.length > MAX_VALUE_CHARS ? `${text.slice(0, MAX_VALUE_CHARS - 1)}…` : text}`;
  });
  const label = [title, ...properties].join("\n");
  const tooltip = node.at.file === null ? `column ${node.at.column}` : `${node.at.file}:${node.at.line}`;
  return `${quote(node.name)} [label=${quote(label)}, fillcolor="${FILL[node.kind]}", tooltip=${quote(tooltip)}];`;
}

function writeLink(link: PlanLink): string {
  // Templates such as src_%u are not worth a label.
  const parts = [link.fromPad, link.caps, link.toPad].filter((part) => part !== undefined && !part.includes("%"));
  const label = parts.length === 0 ? "" : ` [label=${quote(parts.join("\n"))}]`;
  return `  ${quote(link.from)} -> ${quote(link.to)}${label};`;
}

function writeSlots(plan: GraphPlan): readonly string[] {
  return Object.keys(plan.slots).flatMap((name) => {
    const slot = quote(`slot ${name}`);
    return [
      `  ${slot} [label=${slot}, shape=note, style=dashed, fillcolor=white];`,
      `  ${quote(plan.slotTees[name] ?? plan.main.name)} -> ${slot} [style=dashed];`,
    ];
  });
}

const quote = (text: string): string =>
  `"${text.replace(/[\\"]/g, "\\$&").replaceAll("\n", "\\n").replaceAll("\r", "")}"`;

/** A box for each step of the author, a frame around each branch. */
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
    ...segments.flatMap((segment, index) => frameSegment(segment, index, ids)),
    ...arrows,
    ...boxSlots(plan, ids, steps),
    "  classDef ours fill:#ffe08a,stroke:#44546a,color:#1b2430",
    "  classDef slot fill:#ffffff,stroke:#44546a,color:#1b2430,stroke-dasharray:4",
    ...[...new Set(ours.map(({ author }) => author))].map((step) => `  class ${ids.get(step)} ours`),
    "",
  ].join("\n");
}

function frameSegment(segment: PlanSegment, index: number, ids: ReadonlyMap<string, string>): readonly string[] {
  const titles = new Map(
    segment.nodes.map(({ author, element }) => [author, author === element ? author : `${author}: ${element}`]),
  );
  return [
    `  subgraph s${index}[${quoteMermaid(segment.name)}]`,
    ...[...titles].map(([step, title]) => `    ${ids.get(step)}[${quoteMermaid(title)}]`),
    "  end",
  ];
}

function boxSlots(
  plan: GraphPlan,
  ids: ReadonlyMap<string, string>,
  steps: ReadonlyMap<string, string>,
): readonly string[] {
  return Object.keys(plan.slots).flatMap((slot, index) => {
    const tee = plan.slotTees[slot] ?? "";
    const from = ids.get(steps.get(tee) ?? tee);
    const id = `slot${index}`;
    return [
      `  ${id}[${quoteMermaid(`slot ${slot}`)}]`,
      ...(from === undefined ? [] : [`  ${from} -.-> ${id}`]),
      `  class ${id} slot`,
    ];
  });
}

/** Mermaid only has HTML escapes. */
const quoteMermaid = (text: string): string =>
  `"${text.replaceAll("&", "#amp;").replaceAll('"', "#quot;").replaceAll("<", "#lt;").replaceAll("\n", " ")}"`;
