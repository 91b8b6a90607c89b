/** Edges → links between pads, with the caps known for each link. */
import {
  type Caps,
  type CapsList,
  type CapsStructure,
  type CapsValue,
  canAgree,
  intersectCaps,
  parseCaps,
  rememberCaps,
} from "./caps.ts";
import { type Edge, groupBy, type Ordered } from "./connect-chains.ts";
import type { FaultList } from "./fault.ts";
import { isTemplate } from "./pad-names.ts";
import { capsOf, checkPadProperties, choosePads, type PadUse } from "./pads.ts";
import type { PlanLink } from "./plan.ts";
import type { Part, ResolvedStep } from "./resolve-steps.ts";

export interface Linked {
  readonly byEdge: ReadonlyMap<Edge, PlanLink>;
  /** Between the parts of one step. */
  readonly inside: ReadonlyMap<ResolvedStep, readonly PlanLink[]>;
  /** Output caps of each step. */
  readonly flows: ReadonlyMap<ResolvedStep, Caps>;
  /** Properties of pads that are not linked, by part. */
  readonly unlinked: ReadonlyMap<Part, ReadonlySet<string>>;
}

interface LinkRequest {
  readonly ordered: Ordered;
  /** Output caps of steps linked before, such as the tee a slot is attached to. */
  readonly given: ReadonlyMap<ResolvedStep, Caps>;
  /** Names of steps that provide encoded video, also when a check replaces them by a test source. */
  readonly encoded: ReadonlySet<string>;
  /** Steps are missing (`when:`, or unreadable), and so are their links. */
  readonly isPartial: boolean;
  readonly faults: FaultList;
}

export function link({ ordered, given, encoded, isPartial, faults }: LinkRequest): Linked {
  const use: PadUse = { taken: new Map(), named: collectNamed(ordered.edges) };
  const byEdge = new Map<Edge, PlanLink>();
  const inside = new Map<ResolvedStep, readonly PlanLink[]>();
  const flows = new Map(given);
  const incoming = groupBy(ordered.edges, (edge) => edge.to);
  for (const step of ordered.steps) {
    if (given.has(step)) continue;
    const arriving: Caps[] = [];
    for (const edge of incoming.get(step) ?? []) {
      const from = edge.from.parts.at(-1);
      const to = step.parts[0];
      if (from === undefined || to === undefined) continue;
      const flow = flows.get(edge.from) ?? "any";
      const choice = choosePads({ from, fromPad: edge.fromPad, flow, to, toPad: edge.toPad }, use);
      if ("message" in choice) {
        faults.add("not_linkable", choice.side === "from" ? edge.fromAt : edge.at, choice.message, choice);
        continue;
      }
      arriving.push(choice.caps);
      byEdge.set(edge, makeLink(from, choice.fromPad, to, choice.toPad));
    }
    const only = arriving.length === 1 ? arriving[0] : undefined;
    const { links, flow } = linkInside(step, only ?? "any", use, faults);
    inside.set(step, links);
    flows.set(step, encoded.has(step.name) ? encodedOf(flow) : flow);
  }
  const unlinked = checkPadProperties(ordered.steps, use, isPartial, faults);
  return { byEdge, inside, flows, unlinked };
}

function collectNamed(edges: readonly Edge[]): PadUse["named"] {
  const named = new Map<Part, Set<string>>();
  const add = (part: Part | undefined, pad: string | null): void => {
    if (part === undefined || pad === null || isTemplate(pad)) return;
    named.set(part, (named.get(part) ?? new Set()).add(pad));
  };
  for (const { from, fromPad, to, toPad } of edges) {
    add(from.parts.at(-1), fromPad);
    add(to.parts[0], toPad);
  }
  return named;
}

function encodedOf(flow: Caps): Caps {
  return canAgree(flow, "encoded") ? intersectCaps(flow, "encoded") : "encoded";
}

function linkInside(step: ResolvedStep, arriving: Caps, use: PadUse, faults: FaultList) {
  const links: PlanLink[] = [];
  let flow = arriving;
  for (const [index, part] of step.parts.entries()) {
    const previous = step.parts[index - 1];
    if (previous !== undefined) {
      const choice = choosePads({ from: previous, fromPad: null, flow, to: part, toPad: null, inside: true }, use);
      if ("message" in choice) {
        faults.add("not_linkable", step.at, `${step.element} has an invalid expansion: ${choice.message}`, choice);
        return { links, flow: "any" as Caps };
      }
      links.push(makeLink(previous, choice.fromPad, part, choice.toPad));
      flow = choice.caps;
    }
    flow = outputOf(part, flow);
  }
  return { links, flow };
}

function makeLink(from: Part, fromPad: string | null, to: Part, toPad: string | null): PlanLink {
  return {
    from: from.name,
    ...(fromPad === null ? {} : { fromPad }),
    to: to.name,
    ...(toPad === null ? {} : { toPad }),
    ...(from.onward === null ? {} : { caps: from.onward }),
  };
}

/** Elements whose output caps are their input caps. */
const PASSING = new Set([
  "queue",
  "queue2",
  "tee",
  "identity",
  "valve",
  "clocksync",
  "capsfilter",
  "watchdog",
  "keyframes",
  "rtptimes",
  "skipframes",
  "tsklv",
]);

/** Fields of raw video that an element does not change. */
const KEPT: Readonly<Record<string, readonly string[]>> = {
  videoconvert: ["width", "height", "framerate", "pixel-aspect-ratio"],
  videoscale: ["format", "framerate"],
  videoconvertscale: ["framerate"],
  videorate: ["format", "width", "height", "pixel-aspect-ratio"],
  videoflip: ["format", "framerate"],
  regioncrop: ["format", "framerate", "pixel-aspect-ratio"],
};

/** The output caps of an element, as far as they follow from its input caps. */
function outputOf(part: Part, arriving: Caps): Caps {
  const source = part.pads.find((pad) => pad.direction === "src");
  if (source === undefined) return "any";
  if (part.kind === "typescript" || PASSING.has(part.factory)) return intersectCaps(arriving, capsOf(part, source));
  const isRawVideo = typeof arriving !== "string" && arriving.every(({ mediaType }) => mediaType === "video/x-raw");
  const onward = part.onward === null ? "any" : (parseCaps(part.onward) ?? "any");
  if (isRawVideo && arriving.length > 0) {
    if (part.factory === "decodebin") return intersectCaps(arriving, onward);
    const keep = KEEPING.get(part.factory);
    if (keep !== undefined) return intersectCaps(intersectCaps(keep(arriving), capsOf(part, source)), onward);
  }
  // No more than its pad templates: with several source pads the caps depend on the pad that is chosen later.
  return onward;
}

const KEEPING: ReadonlyMap<string, (caps: CapsList) => CapsList> = new Map(
  Object.entries(KEPT).map(([factory, kept]) => [
    factory,
    rememberCaps((caps) => caps.map((structure) => keepFields(structure, kept, factory === "videoflip"))),
  ]),
);

function keepFields(structure: CapsStructure, kept: readonly string[], turns: boolean): CapsStructure {
  const fields = new Map([...structure.fields].filter(([name]) => kept.includes(name)));
  const { width, height } = { width: structure.fields.get("width"), height: structure.fields.get("height") };
  // A rotation swaps width and height, and may depend on a tag of the stream: either value is possible for both.
  const side = turns ? uniteValues(width, height) : null;
  if (side !== null) fields.set("width", side).set("height", side);
  return { ...structure, features: "ANY", fields };
}

function uniteValues(a: CapsValue | undefined, b: CapsValue | undefined): CapsValue | null {
  if (a?.kind === "choices" && b?.kind === "choices")
    return { kind: "choices", choices: [...new Set([...a.choices, ...b.choices])] };
  if (a?.kind === "range" && b?.kind === "range")
    return { kind: "range", minimum: Math.min(a.minimum, b.minimum), maximum: Math.max(a.maximum, b.maximum) };
  return null;
}
