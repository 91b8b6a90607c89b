/** A plan as Graphviz DOT: a cluster for each segment, TypeScript and native elements told apart by colour. */
import type { GraphPlan, PlanLink, PlanNode, PlanSegment } from "./plan.ts";

/** Dark text on light fills, and different in lightness as well as hue, so that they differ without colour vision. */
const FILL = { typescript: "#ffe08a", native: "#e8f1fb" } as const;
const MAX_VALUE_CHARS = 48;
/** Whoever draws the SVG has another font than whoever measured it; all fixed-width ones are equally wide. */
const FONT = "Courier";

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
  // A template such as src_%u is what any link to a tee has; nothing is stated by it.
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
