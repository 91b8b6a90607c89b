/** The native part of a plan as a `gst-launch-1.0` command that really runs, quoted for a POSIX shell. */
import type { Json } from "../../schemas/json.ts";
import type { GraphPlan, PlanLink, PlanNode } from "./plan.ts";

/** TypeScript elements are `identity` (or `fakesink` where a chain ends in them): nothing of what they do happens there. */
export function gstLaunch(plan: GraphPlan): string {
  const segments = [plan.main, ...plan.branches];
  const nodes = new Map(segments.flatMap((segment) => segment.nodes).map((node) => [node.name, node]));
  const links = new Set(segments.flatMap((segment) => segment.links));
  const leading = new Set([...links].map((link) => link.from));
  const written = new Set<string>();
  const write = (node: PlanNode): string => {
    written.add(node.name);
    return writeNode(node, leading.has(node.name)).join(" ");
  };
  const runs = [...nodes.values()].flatMap((start) => {
    if (written.has(start.name)) return [];
    const words: string[] = [];
    const arrival = [...links].find((link) => isPlain(link) && link.to === start.name && written.has(link.from));
    if (arrival !== undefined) {
      links.delete(arrival);
      words.push(`${launchName(arrival.from)}.`, ...writeCaps(arrival));
    }
    for (let node: PlanNode | undefined = start; node !== undefined; ) {
      const { name }: PlanNode = node;
      words.push(write(node));
      const next = [...links].find((link) => isPlain(link) && link.from === name && !written.has(link.to));
      if (next === undefined) break;
      links.delete(next);
      words.push(...writeCaps(next));
      node = nodes.get(next.to);
    }
    return [words.join(" ")];
  });
  // What is left joins nodes that are written already, or names its pads.
  const joins = [...links].map((link) => {
    const from = `${launchName(link.from)}.${padOf(link.fromPad) ?? ""}`;
    return [from, ...writeCaps(link), `${launchName(link.to)}.${padOf(link.toPad) ?? ""}`].join(" ");
  });
  return `gst-launch-1.0 -e ${[...runs, ...joins].join(" \\\n  ")}`;
}

const isPlain = (link: PlanLink): boolean => padOf(link.fromPad) === null && padOf(link.toPad) === null;

const writeCaps = (link: PlanLink): readonly string[] =>
  link.caps === undefined ? ["!"] : ["!", quoteShell(link.caps), "!"];

/** A template (`src_%u`) is no pad to name: gst-launch asks for one by itself. */
const padOf = (pad: string | undefined): string | null => (pad === undefined || pad.includes("%") ? null : pad);

/** Dots and slashes are syntax in a launch line. */
const launchName = (name: string): string => name.replace(/[^A-Za-z0-9_-]/g, "_");

function writeNode(node: PlanNode, leadsOn: boolean): readonly string[] {
  const name = `name=${launchName(node.name)}`;
  if (node.kind === "typescript") return leadsOn ? ["identity", name] : ["fakesink", name, "sync=false"];
  const properties = Object.entries(node.properties).map(([key, value]) => quoteShell(`${key}=${quoteValue(value)}`));
  return [node.factory, name, ...properties];
}

/** gst-launch has a syntax of its own inside each word. */
function quoteValue(value: Json): string {
  const text = typeof value === "string" ? value : JSON.stringify(value);
  if (/^[\w./:+=@-]+$/.test(text)) return text;
  return `"${text.replace(/[\\"]/g, "\\$&")}"`;
}

export function quoteShell(word: string): string {
  if (/^[\w./:+=@,-]+$/.test(word)) return word;
  return `'${word.replaceAll("'", "'\\''")}'`;
}
