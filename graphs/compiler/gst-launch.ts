/** The native part of a plan as a `gst-launch-1.0` command that really runs, quoted for a POSIX shell. */
import type { Json } from "../../schemas/json.ts";
import type { GraphPlan, PlanLink, PlanNode } from "./plan.ts";

/** Elements of Windhover's own addon that change no picture. */
const OURS = new Set(["keyframes", "rtptimes"]);
const COLUMNS = 100;

/** Whether GStreamer has it without Windhover. */
export const isForeign = (node: PlanNode): boolean => node.kind === "native" && !OURS.has(node.factory);

/** Our own elements are `identity` (or `fakesink` where a chain ends in them): nothing of what they do happens there. */
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
      // As it runs here: a tee that only slots hang on leads nowhere until one is attached.
      if (factory === "tee" && !leading.has(name)) run.push("fakesink");
      const next = [...links].find((link) => isPlain(link) && link.from === name && !written.has(link.to));
      if (next === undefined) break;
      links.delete(next);
      run.push(...writeCaps(next));
      node = nodes.get(next.to);
    }
    return [run];
  });
  // What is left joins nodes that are written already, or names its pads.
  const joins = [...links].map((link) => {
    const from = `${launchName(link.from)}.${padOf(link.fromPad) ?? ""}`;
    return [from, ...writeCaps(link), `${launchName(link.to)}.${padOf(link.toPad) ?? ""}`];
  });
  const [first = [], ...rest] = [...runs, ...joins];
  return [layOut("gst-launch-1.0 -e ", first), ...rest.map((run) => layOut("  ", run))].join(" \\\n");
}

/** On one line, or where that is too long on one for each element. */
function layOut(start: string, run: readonly string[]): string {
  const line = `${start}${run.join(" ! ")}`;
  return line.length + " \\".length <= COLUMNS ? line : `${start}${run.join(" \\\n    ! ")}`;
}

const isPlain = (link: PlanLink): boolean => padOf(link.fromPad) === null && padOf(link.toPad) === null;

const writeCaps = (link: PlanLink): readonly string[] => (link.caps === undefined ? [] : [quoteShell(link.caps)]);

/** A template (`src_%u`) is no pad to name: gst-launch asks for one by itself. */
const padOf = (pad: string | undefined): string | null => (pad === undefined || pad.includes("%") ? null : pad);

/** Dots and slashes are syntax in a launch line. */
const launchName = (name: string): string => name.replace(/[^A-Za-z0-9_-]/g, "_");

function writeNode(node: PlanNode, leadsOn: boolean): readonly string[] {
  const name = `name=${launchName(node.name)}`;
  if (!isForeign(node)) return leadsOn ? ["identity", name] : ["fakesink", name, "sync=false"];
  const properties = Object.entries(node.properties)
    .filter(([key]) => !isForBranches(node, key))
    .map(([key, value]) => quoteShell(`${key}=${quoteValue(value)}`));
  return [node.factory, name, ...properties];
}

/**
 * A composite's sink has `async=false` so that it can be attached while the graph plays. gst-launch attaches nothing,
 * and misses the end of a stream that is over before such a sink plays: seen once in 25 runs on a busy machine.
 */
const isForBranches = (node: PlanNode, property: string): boolean =>
  property === "async" && node.element !== node.factory && node.origins?.async === undefined;

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
