/** Steps and edges → links between pads, with what is known of the formats that flow over them. */
import { type Caps, canAgree, intersectCaps } from "./caps.ts";
import { outputOf } from "./caps-flow.ts";
import type { Edge } from "./connect.ts";
import type { FaultList } from "./fault-list.ts";
import { groupBy, type Ordered } from "./order.ts";
import { choosePads, type TakenPads } from "./pads.ts";
import type { PlanLink } from "./plan.ts";
import type { Part, ResolvedStep } from "./resolved.ts";

export interface Linked {
  readonly byEdge: ReadonlyMap<Edge, PlanLink>;
  /** Between the parts of one step. */
  readonly inside: ReadonlyMap<ResolvedStep, readonly PlanLink[]>;
  /** What each step gives. */
  readonly flows: ReadonlyMap<ResolvedStep, Caps>;
}

export interface LinkRequest {
  readonly ordered: Ordered;
  /** Flows of steps linked before, such as the tee a slot hangs on. */
  readonly given: ReadonlyMap<ResolvedStep, Caps>;
  /** Names of steps that bring in encoded video, whatever stands for them while the graph is checked. */
  readonly encoded: ReadonlySet<string>;
  readonly faults: FaultList;
}

export function link({ ordered, given, encoded, faults }: LinkRequest): Linked {
  const taken: TakenPads = new Map();
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
      const choice = choosePads({ from, fromPad: edge.fromPad, flow, to, toPad: edge.toPad }, taken);
      if ("message" in choice) {
        faults.add("not_linkable", edge.at, choice.message, choice);
        continue;
      }
      arriving.push(choice.caps);
      byEdge.set(edge, makeLink(from, choice.fromPad, to, choice.toPad));
    }
    const only = arriving.length === 1 ? arriving[0] : undefined;
    const { links, flow } = linkInside(step, only ?? "any", taken, faults);
    inside.set(step, links);
    flows.set(step, encoded.has(step.name) ? encodedOf(flow) : flow);
  }
  return { byEdge, inside, flows };
}

function encodedOf(flow: Caps): Caps {
  return canAgree(flow, "encoded") ? intersectCaps(flow, "encoded") : "encoded";
}

function linkInside(step: ResolvedStep, arriving: Caps, taken: TakenPads, faults: FaultList) {
  const links: PlanLink[] = [];
  let flow = arriving;
  for (const [index, part] of step.parts.entries()) {
    const previous = step.parts[index - 1];
    if (previous !== undefined) {
      const choice = choosePads({ from: previous, fromPad: null, flow, to: part, toPad: null, inside: true }, taken);
      if ("message" in choice) {
        faults.add(
          "not_linkable",
          step.at,
          `${step.element} expands into what does not link: ${choice.message}`,
          choice,
        );
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
