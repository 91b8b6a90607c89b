/** Answers one request. Pure but for reading the installed graphs. */
import type { AnyElement, SourceBinding } from "../../../elements/element.ts";
import type { JsonRecord } from "../../../schemas/json.ts";
import type { Registry } from "../../../schemas/registry.ts";
import { type Compiled, type CompileInput, compile } from "../compile.ts";
import type { GraphDocument } from "../document.ts";
import { type GraphText, readGraph } from "../extend.ts";
import type { Fault } from "../fault.ts";
import { FaultList } from "../fault-list.ts";
import { judgeGiven, listReserved, restrictAuthor } from "../outside/restrict.ts";
import { checkParams } from "./check-params.ts";
import type { InstalledGraphs } from "./installed.ts";
import type { CompileAnswer, CompileRequest, DescribedGraph, ParamFault, PrepareRequest } from "./messages.ts";

export interface CompilerWorld {
  readonly elements: ReadonlyMap<string, AnyElement>;
  readonly registry: Registry;
  readonly installed: InstalledGraphs;
}

/** As it stands in positions of a graph that has no file. */
const OWN_TEXT = "graph.yaml";

/** What graphs are shown on. */
const SAMPLE: SourceBinding = { uri: "source.mp4", pace: "realtime" };

export function answer(request: CompileRequest, world: CompilerWorld): CompileAnswer {
  switch (request.type) {
    case "list":
      return { type: "listed", graphs: world.installed.names().flatMap((name) => summarise(name, world) ?? []) };
    case "describe": {
      const graph = describe(request.graph, world);
      return graph === null ? absent(world) : { type: "described", graph };
    }
    case "validate":
      return { type: "validated", faults: check({ file: OWN_TEXT, text: request.text }, world).faults };
    case "prepare":
      return prepare(request, world);
  }
}

const absent = ({ installed }: CompilerWorld): CompileAnswer => ({ type: "absent", installed: installed.names() });

function summarise(name: string, world: CompilerWorld) {
  const described = describe(name, world);
  if (described === null) return null;
  const { text: _, plan: __, ...summary } = described;
  return summary;
}

function describe(name: string, world: CompilerWorld): DescribedGraph | null {
  const found = world.installed.read(name);
  if (found === null) return null;
  const { plan, paramSchema, faults } = check(found, world, SAMPLE);
  const document = read(found, world);
  return {
    name,
    about: plan?.about ?? document?.about ?? "",
    params: paramSchema,
    reserved: document === null ? [] : [...listReserved(document, world).keys()],
    offers: plan?.offers ?? [],
    slots: plan?.slots ?? {},
    faults,
    text: found.text,
    plan,
  };
}

function prepare(request: PrepareRequest, world: CompilerWorld): CompileAnswer {
  const { text, params } = request;
  const graph = text === null ? world.installed.read(request.graph) : { file: OWN_TEXT, text };
  if (graph === null) return absent(world);
  const checked = check(graph, world);
  const document = read(graph, world);
  if (document === null) return refuse([], checked.faults);
  const paramFaults = checkParams(checked.paramSchema, params);
  const authorFaults = text === null ? [] : judgeAuthor(document, request, checked, world);
  // What does not link with what may not be there is no news.
  const graphFaults = authorFaults.length > 0 ? authorFaults : checked.faults;
  if (paramFaults.length > 0 || graphFaults.length > 0) return refuse(paramFaults, graphFaults);
  const given = text === null ? judgeGiven(document, params, { ...world, models: request.models }) : [];
  if (given.length > 0) return refuse(given.map(({ param, message }) => ({ path: [param], message })));
  return run(graph, request, world);
}

/** With everything known: what only the real values and the real source show. */
function run(graph: GraphText, { params, sourceUri }: PrepareRequest, world: CompilerWorld): CompileAnswer {
  const source = sourceUri === null ? null : ({ uri: sourceUri, pace: "realtime" } as const);
  const { plan, faults } = compile(graph, { ...inputOf(world), params, source });
  if (plan === null) return refuse([], faults);
  return { type: "prepared", prepared: { plan } };
}

function judgeAuthor(
  document: GraphDocument,
  request: PrepareRequest,
  { paramSchema }: Compiled,
  world: CompilerWorld,
): readonly Fault[] {
  const faults = new FaultList(document.file);
  const values = { ...defaultsOf(paramSchema), ...request.params };
  restrictAuthor(document, values, { ...world, models: request.models }, faults);
  return faults.sorted();
}

const defaultsOf = ({ properties = {} }: JsonRecord): JsonRecord =>
  Object.fromEntries(
    Object.entries(properties as Readonly<Record<string, JsonRecord>>).flatMap(([name, schema]) =>
      schema.default === undefined ? [] : [[name, schema.default] as const],
    ),
  );

const refuse = (params: readonly ParamFault[], graph: readonly Fault[] = []): CompileAnswer => ({
  type: "refused",
  refusal: { params, graph },
});

const inputOf = ({ elements, registry, installed }: CompilerWorld): CompileInput => ({
  elements,
  registry,
  load: installed.load,
});

const check = (graph: GraphText, world: CompilerWorld, source: SourceBinding | null = null): Compiled =>
  compile(graph, { ...inputOf(world), source, mode: "check" });

const read = (graph: GraphText, { installed }: CompilerWorld): GraphDocument | null =>
  readGraph(graph, installed.load, new FaultList(graph.file));
