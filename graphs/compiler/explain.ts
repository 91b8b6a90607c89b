/** A plan for people: what will run, with which properties, and where each was written. */
import type { Json, JsonRecord } from "../../schemas/json.ts";
import { kebab } from "../../schemas/names.ts";
import { gstLaunch, isForeign } from "./gst-launch.ts";
import type { GraphPlan, PlanDriver, PlanLink, PlanNode, PlanSegment, Position } from "./plan.ts";

export function explain(plan: GraphPlan): string {
  const parts = [
    explainHead(plan),
    explainParams(plan),
    ...[plan.main, ...plan.branches].map((segment) => explainSegment(segment, plan)),
    explainSlots(plan),
    explainLaunch(plan),
  ];
  return `${parts.filter((part) => part !== "").join("\n\n")}\n`;
}

function explainHead(plan: GraphPlan): string {
  const source = plan.source === null ? "none" : `${plan.source.uri} at pace ${plan.source.pace}`;
  return [
    `graph ${plan.graph}${plan.about === "" ? "" : `: ${plan.about}`}`,
    `  source  ${source}${plan.live ? " (live: late frames may be dropped)" : ""}`,
    `  offers  ${plan.offers.join(", ") || "nothing"}`,
    ...(plan.prefer.length > 0 ? [`  prefers ${plan.prefer.join(", ")}`] : []),
  ].join("\n");
}

function explainParams(plan: GraphPlan): string {
  const names = Object.keys(plan.params);
  if (names.length === 0) return "";
  const width = Math.max(...names.map((name) => name.length));
  const lines = names.map((name) => {
    const fixed = plan.fixedParams[name];
    const live = plan.liveParams.includes(name) ? "  (live)" : fixed === undefined ? "" : `  (not live: ${fixed})`;
    return `  ${name.padEnd(width)} = ${JSON.stringify(plan.params[name])}${live}`;
  });
  return ["params", ...lines].join("\n");
}

function explainSegment(segment: PlanSegment, plan: GraphPlan): string {
  const title =
    segment.tee === null ? `segment ${segment.name}` : `segment ${segment.name}, a branch of ${segment.tee}`;
  const nodes = segment.nodes.flatMap((node) => explainNode(node, segment.links, plan.file));
  const drivers = segment.drivers.filter(({ author }) => isFed(author, segment)).flatMap(explainDriver);
  return [title, ...nodes, ...drivers].join("\n");
}

/** Of a live source: what is said of any other is said by its nodes. */
const isFed = (author: string, { nodes }: PlanSegment): boolean =>
  nodes.some((node) => node.author === author && node.factory === "appsrc");

const explainDriver = ({ author, element, properties }: PlanDriver): readonly string[] => [
  `  ${author}: fed while the graph runs${author === element ? "" : `, as ${element}`}`,
  ...Object.entries(properties).map(([name, value]) => `      ${kebab(name)} = ${show(value)}`),
];

function explainNode(node: PlanNode, links: readonly PlanLink[], file: string | null): readonly string[] {
  const incoming = links.filter((link) => link.to === node.name).map(explainLink);
  const what = node.kind === "typescript" ? `${node.factory} (TypeScript)` : node.factory;
  const made = node.element === node.factory ? "" : ` of ${node.element}`;
  const from = incoming.length === 0 ? "" : ` ← ${incoming.join(", ")}`;
  const properties = Object.entries(node.properties).map(([name, value]) => {
    return `      ${name} = ${show(value)}  ${originOf(node, name, file)}`.trimEnd();
  });
  return [`  ${node.name}: ${what}${made}, ${place(node.at, file)}${from}`, ...properties];
}

function explainLink(link: PlanLink): string {
  const pads = [link.fromPad === undefined ? link.from : `${link.from}.${link.fromPad}`];
  if (link.toPad !== undefined) pads.push(`to ${link.toPad}`);
  if (link.caps !== undefined) pads.push(`[${link.caps}]`);
  return pads.join(" ");
}

function originOf(node: PlanNode, name: string, file: string | null): string {
  const origin = node.origins?.[name];
  if (origin === undefined) return node.element === node.factory ? "(set by the compiler)" : `(set by ${node.element})`;
  const params = origin.params.map((param) => `$${param}`).join(", ");
  return `(${place(origin.at, file)}${params === "" ? "" : `, from ${params}`})`;
}

/** Another file is named, as in a graph that extends another. */
const place = (at: Position, file: string | null): string =>
  at.file === null ? `column ${at.column}` : at.file === file ? `line ${at.line}` : `${at.file}:${at.line}`;

const show = (value: Json): string => (typeof value === "string" ? value || '""' : JSON.stringify(value));

function explainSlots(plan: GraphPlan): string {
  const lines = Object.entries(plan.slots).map(([name, schema]) => `  ${name}${explainSlotParams(schema)}`);
  return lines.length === 0 ? "" : ["slots, attached while the graph runs", ...lines].join("\n");
}

function explainSlotParams(schema: JsonRecord): string {
  const properties = (schema.properties ?? {}) as Readonly<Record<string, JsonRecord>>;
  const words = Object.entries(properties).map(([name, property]) => {
    const fallback = property.default;
    return fallback === undefined ? name : `${name}=${JSON.stringify(fallback)}`;
  });
  return words.length === 0 ? "" : ` (${words.join(", ")})`;
}

function explainLaunch(plan: GraphPlan): string {
  const nodes = [plan.main, ...plan.branches].flatMap((segment) => segment.nodes);
  const someOurs = !nodes.every(isForeign);
  const fed = nodes.filter((node) => node.factory === "appsrc").map((node) => node.author);
  return [
    "the native part, for a shell",
    ...(someOurs
      ? ["# Windhover's own elements stand as identity, or fakesink at the end of a chain: what they do is left out"]
      : []),
    ...(fed.length > 0 ? [`# ${fed.join(", ")}: fed by Windhover while the graph runs, by nothing here`] : []),
    gstLaunch(plan),
  ].join("\n");
}
