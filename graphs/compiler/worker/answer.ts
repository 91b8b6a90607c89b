/** Answers one request. Pure but for reading the installed graphs. */
import type { AnyElement, SourceBinding } from "../../../elements/element.ts";
import type { JsonRecord } from "../../../schemas/json.ts";
import type { Registry } from "../../../schemas/registry.ts";
import { type Compiled, type CompileInput, compile } from "../compile.ts";
import type { GraphDocument } from "../document.ts";
import { type GraphText, type LoadGraph, readGraph } from "../extend.ts";
import type { Fault } from "../fault.ts";
import { FaultList } from "../fault-list.ts";
import { canTry, judgeGiven, listReserved, restrictAuthor } from "../outside/restrict.ts";
import { paramsSchema } from "../params.ts";
import { checkParams } from "./check-params.ts";
import type { InstalledGraphs, InstalledText } from "./installed.ts";
import type { GraphMemory, Looked } from "./memory.ts";
import type { CompileAnswer, CompileRequest, DescribedGraph, ParamFault, PrepareRequest } from "./messages.ts";

export interface CompilerWorld {
  readonly elements: ReadonlyMap<string, AnyElement>;
  readonly registry: Registry;
  readonly installed: InstalledGraphs;
  readonly memory: GraphMemory;
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
      return { type: "validated", faults: validate(request.text, world) };
    case "prepare":
      return prepare(request, world);
  }
}

const validate = (text: string, world: CompilerWorld): readonly Fault[] =>
  compile({ file: OWN_TEXT, text }, { ...inputOf(world), mode: "check" }).faults;

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
  const { checked, document } = lookAt(found, world);
  const { plan, paramSchema, faults } = checked;
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
  const { checked, document } = text === null ? lookAt(graph, world) : look(graph, world, world.installed.load);
  if (document === null) return refuse([], checked.faults);
  const shapeFaults = checkParams(checked.paramSchema, params);
  const told = new Set(shapeFaults.map(({ path: [param] }) => param));
  const given = text === null ? judgeGiven(document, request.given, { ...world, models: request.models }) : [];
  const reachFaults = given.filter(({ param }) => !told.has(param));
  const paramFaults = [...shapeFaults, ...reachFaults.map(({ param, message }) => ({ path: [param], message }))];
  const authorFaults = text === null ? [] : judgeAuthor(document, request, checked, world);
  // What does not link with what may not be there is no news.
  const graphFaults = authorFaults.length > 0 ? authorFaults : checked.faults;
  if (paramFaults.length > 0 || graphFaults.length > 0) return refuse(paramFaults, graphFaults);
  const slotFaults = request.attach === null ? [] : judgeSlot(document, request.attach, request.models, world);
  return slotFaults.length > 0 ? refuse(slotFaults) : run(graph, request, world);
}

/** Whether the graph has the slot at all is asked before. */
function judgeSlot(
  document: GraphDocument,
  { slot: name, params }: NonNullable<PrepareRequest["attach"]>,
  models: readonly string[],
  world: CompilerWorld,
): readonly ParamFault[] {
  const slot = document.slots.find(({ chain }) => chain.name === name);
  if (slot === undefined) return [];
  const shapeFaults = checkParams(paramsSchema(slot.params), params, "slot");
  const told = new Set(shapeFaults.map(({ path: [param] }) => param));
  const alone = { ...document, params: slot.params, chains: [], slots: [slot] };
  const given = judgeGiven(alone, params, { ...world, models }).filter(({ param }) => !told.has(param));
  return [...shapeFaults, ...given.map(({ param, message }) => ({ path: [param], message }))];
}

/** With everything known: what only the real values and the real source show. */
function run(
  graph: GraphText,
  { text, params, sourceUri, attach }: PrepareRequest,
  world: CompilerWorld,
): CompileAnswer {
  const source = sourceUri === null ? null : ({ uri: sourceUri, pace: "realtime" } as const);
  const { plan, faults, slot } = compile(graph, {
    ...inputOf(world),
    params,
    source,
    ...(text !== null && { keepSlot: canTry }),
  });
  if (plan === null) return refuse([], faults);
  const attached = attach === null ? null : slot(attach.slot, "check", attach.params);
  if (attached?.segment === null) return refuse([], attached.faults);
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

const lookAt = (graph: InstalledText, world: CompilerWorld): Looked =>
  world.memory.look(graph, (load) => look(graph, world, load));

/** Without values and on a file: what can be known of it beforehand. */
const look = (graph: GraphText, world: CompilerWorld, load: LoadGraph): Looked => ({
  checked: compile(graph, { ...inputOf(world), load, source: SAMPLE, mode: "check" }),
  document: readGraph(graph, load, new FaultList(graph.file)),
});
