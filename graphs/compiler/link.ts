/** Steps and edges → links between pads, with what is known of the formats that flow over them. */
import { type Caps, canAgree, intersectCaps } from "./caps.ts";
import { outputOf } from "./caps-flow.ts";
import type { Edge } from "./connect.ts";
import type { FaultList } from "./fault-list.ts";
import { groupBy, type Ordered } from "./order.ts";
import { isTemplate } from "./pad-names.ts";
import { checkPadProperties } from "./pad-properties.ts";
import { choosePads, type PadUse } from "./pads.ts";
import type { PlanLink } from "./plan.ts";
import type { Part, ResolvedStep } from "./resolved.ts";

export interface Linked {
  readonly byEdge: ReadonlyMap<Edge, PlanLink>;
  /** Between the parts of one step. */
  readonly inside: ReadonlyMap<ResolvedStep, readonly PlanLink[]>;
  /** What each step gives. */
  readonly flows: ReadonlyMap<ResolvedStep, Caps>;
  /** Properties of pads that are not there, by part. */
  readonly unlinked: ReadonlyMap<Part, ReadonlySet<string>>;
}

export interface LinkRequest {
  readonly ordered: Ordered;
  /** Flows of steps linked before, such as the tee a slot hangs on. */
  readonly given: ReadonlyMap<ResolvedStep, Caps>;
  /** Names of steps that bring in encoded video, whatever stands for them while the graph is checked. */
  readonly encoded: ReadonlySet<string>;
  /** Steps are left out, by `when:` or because they could not be read: what they would link is not. */
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
  const unlinked = checkPadProperties(ordered.steps, use, { isPartial, faults });
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
