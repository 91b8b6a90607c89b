/** Graphs as the API shows them. */
import type { Fault } from "../../graphs/compiler/fault.ts";
import type { GraphPlan, PlanLink, PlanNode } from "../../graphs/compiler/plan.ts";
import { gstLaunch } from "../../graphs/compiler/plan-to-text.ts";
import type { DescribedGraph, GraphSummary as Summary } from "../../graphs/compiler/worker/messages.ts";
import type { GraphRecord, GraphSummary, Pipeline, Validation } from "../../schemas/api/graphs.ts";

/** More are no help to whoever reads them. */
const MOST_FAULTS = 200;

type ShownFault = Validation["faults"][number];

export function showSummary({ name, about, params, reserved, offers, slots, faults }: Summary): GraphSummary {
  const required = (params.required ?? []) as readonly string[];
  return {
    name,
    about,
    params,
    reserved_params: [...reserved],
    can_start: faults.length === 0 && !required.some((param) => reserved.includes(param)),
    offers: [...offers],
    slots,
  };
}

export function showGraph(graph: DescribedGraph): GraphRecord {
  return {
    ...showSummary(graph),
    yaml: graph.text,
    pipeline: graph.plan === null ? null : showPipeline(graph.plan),
    faults: showFaults(graph.faults, `${graph.name}.yaml`),
  };
}

export function showPipeline(plan: GraphPlan): Pipeline {
  const segments = [plan.main, ...plan.branches].map(({ name, tee, nodes, links }) => ({
    name,
    tee,
    nodes: nodes.map(showNode),
    links: links.map(showLink),
  }));
  return { segments, launch: gstLaunch(plan) };
}

const showNode = ({ name, author, element, kind, factory, properties }: PlanNode) => ({
  name,
  step: author,
  element,
  kind,
  factory,
  properties,
});

const showLink = ({ from, fromPad, to, toPad, caps }: PlanLink) => ({
  from,
  ...(fromPad !== undefined && { from_pad: fromPad }),
  to,
  ...(toPad !== undefined && { to_pad: toPad }),
  ...(caps !== undefined && { caps }),
});

/** `own` is the name that the text itself goes by: nothing to say of it. */
export const showFaults = (faults: readonly Fault[], own: string): ShownFault[] =>
  faults.slice(0, MOST_FAULTS).map(({ code, at, message, expected, suggestion }) => ({
    line: at.line,
    column: at.column,
    file: at.file === own ? null : at.file,
    code,
    message,
    ...(expected !== undefined && { expected }),
    ...(suggestion !== undefined && { suggestion }),
  }));
