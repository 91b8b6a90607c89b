/** A plan as text: `explain` lists what will run and where it was written, `gstLaunch` is a command for a shell. */

import type { Json, JsonRecord } from "../../schemas/json.ts";
import { kebab } from "../../schemas/names.ts";
import { usesOf } from "./fault.ts";
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

/** Other drivers have nothing to show beyond their nodes. */
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

/** Names the file only when it is another one, such as a base graph. Of a part, also where it is used. */
const place = (at: Position, file: string | null): string => {
  const [own = "", ...uses] = [at, ...usesOf(at)].map((each) => placeOf(each, file));
  return uses.length === 0 ? own : `${own}, used at ${uses.join(", ")}`;
};

const placeOf = (at: Position, file: string | null): string =>
  at.file === null ? `column ${at.column}` : at.file === file ? `line ${at.line}` : `${at.file}:${at.line}`;

const show = (value: Json): string => (typeof value === "string" ? value || '""' : JSON.stringify(value));

function explainSlots(plan: GraphPlan): string {
  const lines = Object.entries(plan.slots).map(([name, schema]) => `  ${name}${explainSlotParams(schema)}`);
  return lines.length === 0 ? "" : ["slots: dynamic branches, attached while the graph runs", ...lines].join("\n");
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
  const fed = nodes.filter((node) => node.factory === "appsrc").map((node) => node.author);
  return [
    "the native part, for a shell",
    ...(nodes.every(isPlainGst)
      ? []
      : ["# Windhover's own elements are replaced by identity, or by fakesink at the end of a chain"]),
    ...(fed.length > 0 ? [`# ${fed.join(", ")}: fed by Windhover while the graph runs, without input here`] : []),
    gstLaunch(plan),
  ].join("\n");
}

/** Elements of Windhover's addon. */
const ADDON_FACTORIES = new Set(["keyframes", "regioncrop", "rtptimes", "skipframes", "tsklv"]);
const COLUMNS = 100;

/** Whether GStreamer has the element without Windhover. */
const isPlainGst = (node: PlanNode): boolean => node.kind === "native" && !ADDON_FACTORIES.has(node.factory);

/**
 * The native part of a plan as a `gst-launch-1.0` command that runs, quoted for a POSIX shell. Windhover's own elements
 * are replaced by `identity`, or by `fakesink` at the end of a chain.
 */
export function gstLaunch(plan: GraphPlan): string {
  const segments = [plan.main, ...plan.branches];
  const nodes = new Map(segments.flatMap((segment) => segment.nodes).map((node) => [node.name, node]));
  const links = new Set(segments.flatMap((segment) => segment.links));
  const leading = new Set([...links].map((link) => link.from));
  const written = new Set<string>();
  const runs = [...nodes.values()].flatMap((start) => {
    if (written.has(start.name)) return [];
    const run: string[] = [];
    const arrival = [...links].find((link) => isPlain(link) && link.to === start.name && written.has(link.from));
    if (arrival !== undefined) {
      links.delete(arrival);
      run.push(`${launchName(arrival.from)}.`, ...writeCaps(arrival));
    }
    for (let node: PlanNode | undefined = start; node !== undefined; ) {
      const { name, factory }: PlanNode = node;
      written.add(name);
      run.push(writeNode(node, leading.has(name)).join(" "));
      // As in the runtime: a tee without branches needs a sink.
      if (factory === "tee" && !leading.has(name)) run.push("fakesink");
      const next = [...links].find((link) => isPlain(link) && link.from === name && !written.has(link.to));
      if (next === undefined) break;
      links.delete(next);
      run.push(...writeCaps(next));
      node = nodes.get(next.to);
    }
    return [run];
  });
  // The remaining links join nodes that are already written, or name their pads.
  const joins = [...links].map((link) => {
    const from = `${launchName(link.from)}.${padOf(link.fromPad) ?? ""}`;
    return [from, ...writeCaps(link), `${launchName(link.to)}.${padOf(link.toPad) ?? ""}`];
  });
  const [first = [], ...rest] = [...runs, ...joins];
  return [layOut("gst-launch-1.0 -e ", first), ...rest.map((run) => layOut("  ", run))].join(" \\\n");
}

/** On one line, or on one line per element when that is too long. */
function layOut(start: string, run: readonly string[]): string {
  const line = `${start}${run.join(" ! ")}`;
  return line.length + " \\".length <= COLUMNS ? line : `${start}${run.join(" \\\n    ! ")}`;
}

const isPlain = (link: PlanLink): boolean => padOf(link.fromPad) === null && padOf(link.toPad) === null;

const writeCaps = (link: PlanLink): readonly string[] => (link.caps === undefined ? [] : [quoteShell(link.caps)]);

/** Null for a template (`src_%u`): gst-launch requests such pads itself. */
const padOf = (pad: string | undefined): string | null => (pad === undefined || pad.includes("%") ? null : pad);

/** Dots and slashes are syntax in a launch line. */
const launchName = (name: string): string => name.replace(/[^A-Za-z0-9_-]/g, "_");

function writeNode(node: PlanNode, hasOutput: boolean): readonly string[] {
  const name = `name=${launchName(node.name)}`;
  if (!isPlainGst(node)) return hasOutput ? ["identity", name] : ["fakesink", name, "sync=false"];
  const properties = Object.entries(node.properties)
    .filter(([key]) => !isForBranches(node, key))
    .map(([key, value]) => quoteShell(`${key}=${quoteValue(value)}`));
  return [node.factory, name, ...properties];
}

/**
 * A composite's sink has `async=false` so that it can be attached while PLAYING. gst-launch attaches nothing, and with
 * such a sink can miss the EOS of a short stream (1 in 25 runs on a busy machine).
 */
const isForBranches = (node: PlanNode, property: string): boolean =>
  property === "async" && node.element !== node.factory && node.origins?.async === undefined;

/** gst-launch parses each word once more. */
function quoteValue(value: Json): string {
  const text = typeof value === "string" ? value : JSON.stringify(value);
  if (/^[\w./:+=@-]+$/.test(text)) return text;
  return `"${text.replace(/[\\"]/g, "\\$&")}"`;
}

export function quoteShell(word: string): string {
  if (/^[\w./:+=@,-]+$/.test(word)) return word;
  return `'${word.replaceAll("'", "'\\''")}'`;
}
