/** Graphs and elements as shown by the API. */
import { type Fault, usesOf } from "../../graphs/compiler/fault.ts";
import {
  listElements,
  listVariables,
  OURS,
  propertiesOf,
  propertiesOfFactory,
  propertiesOfPads,
  type ShownProperty,
} from "../../graphs/compiler/inspect.ts";
import type { GraphPlan, PlanLink, PlanNode, Position } from "../../graphs/compiler/plan.ts";
import { gstLaunch } from "../../graphs/compiler/plan-to-text.ts";
import type { DescribedGraph, GraphSummary as Summary } from "../../graphs/compiler/worker/messages.ts";
import type {
  ElementProperty,
  ElementRecord,
  GraphRecord,
  GraphSummary,
  GraphVersion,
  Pipeline,
  Validation,
} from "../../schemas/api/graphs.ts";
import type { FactoryInfo } from "../../schemas/registry.ts";
import { didYouMean } from "../../schemas/suggest.ts";
import { ServiceError } from "../service-error.ts";
import type { BasesNow, GraphVersionRow } from "../store/graphs.ts";
import type { GraphLibrary } from "./library.ts";

const MAX_FAULTS = 200;

type ShownFault = Validation["faults"][number];

type StoredParts = "origin" | "version" | "digest" | "author" | "created_at";
type CompiledSummary = Omit<GraphSummary, StoredParts>;

const INSTALLED = { origin: "installed", version: null, digest: null, author: null, created_at: null } as const;

export const showInstalled = (graph: Summary): GraphSummary => ({ ...showSummary(graph), ...INSTALLED });

export const showOwn = (row: GraphVersionRow): GraphSummary => ({
  ...(row.summary as unknown as CompiledSummary),
  ...showStored(row),
});

const showStored = ({ version, digest, author, createdAt }: GraphVersionRow): Pick<GraphSummary, StoredParts> => ({
  ...{ origin: "own", version, digest, author },
  created_at: createdAt.toISOString(),
});

/** Without `basesNow`: it was stored a moment ago. */
export const showVersion = (row: GraphVersionRow & Partial<BasesNow>): GraphVersion => {
  const { name, version, digest, author, createdAt, isCurrent, bases, basesNow = bases ?? {} } = row;
  return {
    ...{ name, version, digest, author, created_at: createdAt.toISOString(), is_current: isCurrent },
    bases:
      bases === null
        ? null
        : Object.entries(bases).map(([base, stored]) => ({
            ...{ name: base, digest: stored, has_changed: basesNow[base] !== stored },
          })),
  };
};

export function showSummary({ name, about, params, reserved, offers, slots, faults }: Summary): CompiledSummary {
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

/** `row`: of a stored graph; null for an installed one. */
export function showGraph(graph: DescribedGraph, row: GraphVersionRow | null): GraphRecord {
  return {
    ...showSummary(graph),
    ...(row === null ? INSTALLED : showStored(row)),
    yaml: graph.text,
    pipeline: graph.plan === null ? null : showPipeline(graph.plan),
    faults: showFaults(graph.faults, `${graph.name}.yaml`),
  };
}

function showPipeline(plan: GraphPlan): Pipeline {
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

/** `own`: the name of the text itself, which is omitted. */
export const showFaults = (faults: readonly Fault[], own: string): ShownFault[] =>
  faults.slice(0, MAX_FAULTS).map(({ code, at, message, expected, suggestion }) => ({
    ...showPosition(at, own),
    ...(at.usedAt !== undefined && { used_at: showPosition(usesOf(at).at(-1) ?? at.usedAt, own) }),
    code,
    message,
    ...(expected !== undefined && { expected }),
    ...(suggestion !== undefined && { suggestion }),
  }));

const showPosition = ({ line, column, file }: Position, own: string) => ({
  ...{ line, column, file: file === own ? null : file },
});

type Known = Pick<GraphLibrary, "elements" | "registry" | "authorElements">;

export const showElements = ({ elements, registry }: Pick<Known, "elements" | "registry">, find: string | undefined) =>
  listElements(elements, registry, find).map(({ name, plugin, about }) => ({ name, plugin, about }));

/** Throws `element_not_found`. */
export function showElement({ elements, registry, authorElements }: Known, name: string): ElementRecord {
  const ours = elements.get(name);
  const properties = ours === undefined ? [] : propertiesOf(ours);
  if (ours !== undefined)
    return {
      name,
      plugin: OURS,
      about: ours.about,
      kind: ours.kind,
      can_try: authorElements.has(name),
      caps: ours.kind === "composite" ? null : ours.caps,
      reads: [...(ours.reads ?? [])],
      writes: [...(ours.writes ?? [])],
      example: ours.example.trim(),
      class: null,
      rank: null,
      pads: [],
      properties: properties.map(showProperty),
      ...(properties.some(({ isExpression }) => isExpression) && { variables: [...listVariables()] }),
    };
  const factory = registry.get(name);
  if (factory !== undefined) return showFactory(factory, authorElements);
  const names = [...elements.keys(), ...registry.list().map((listed) => listed.name)];
  throw new ServiceError("element_not_found", {
    detail: `There is no element "${name}"; search with \`GET /elements?find=\`${didYouMean(name, names) || "."}`,
  });
}

const showFactory = (factory: FactoryInfo, authorElements: ReadonlySet<string>): ElementRecord => ({
  name: factory.name,
  plugin: factory.plugin || OURS,
  about: factory.about,
  kind: "native",
  can_try: authorElements.has(factory.name),
  caps: null,
  reads: [],
  writes: [],
  example: null,
  class: factory.klass,
  rank: factory.rank,
  pads: factory.pads.map(({ name, direction, presence, caps }) => ({ name, direction, presence, caps })),
  properties: [...propertiesOfFactory(factory), ...propertiesOfPads(factory)].map(showProperty),
});

const showProperty = (property: ShownProperty): ElementProperty => ({
  name: property.name,
  type: property.type,
  ...(property.default !== undefined && { default: property.default }),
  required: property.required,
  live: property.live,
  read_only: property.readOnly,
  deprecated: property.deprecated,
  about: property.about,
  choices: property.choices.map(({ name, about }) => ({ name, about })),
  ...(property.values.length > 0 && { values: [...property.values] }),
  ...(property.isExpression && { is_expression: true }),
});
