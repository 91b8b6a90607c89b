/** Answers one request of the server. Pure but for reading the installed graphs. */
import type { AnyElement, SourceBinding } from "../../../elements/element.ts";
import type { Json, JsonRecord } from "../../../schemas/json.ts";
import type { Registry } from "../../../schemas/registry.ts";
import { didYouMean } from "../../../schemas/suggest.ts";
import { type CompileInput, compile } from "../compile.ts";
import { describeSchema } from "../describe.ts";
import type { GraphDocument, Slot } from "../document.ts";
import { readGraph } from "../extend-document.ts";
import { type Fault, FaultList } from "../fault.ts";
import { paramsSchema } from "../params.ts";
import { checkGiven, findUnknownClasses, keepsSlot, listModels, listReserved, restrictAuthor } from "../restrict.ts";
import { validate } from "../schema-check.ts";
import { digestInstalled, noteNames } from "./bases.ts";
import type { CheckCache, CheckedGraph, InstalledGraphs, InstalledText } from "./installed.ts";
import type {
  CompileAnswer,
  CompileRequest,
  DescribedGraph,
  DescribedOwn,
  ParamFault,
  PrepareRequest,
} from "./messages.ts";

type TestsRequest = Extract<CompileRequest, { type: "tests" }>;
type OwnRequest = Extract<CompileRequest, { type: "describe-own" }>;

export interface CompilerDeps {
  readonly elements: ReadonlyMap<string, AnyElement>;
  readonly registry: Registry;
  readonly installed: InstalledGraphs;
  readonly cache: CheckCache;
  /** Elements that the operator allows in graphs of clients. */
  readonly authorElements: ReadonlySet<string>;
}

/** The file name in positions of a graph that is not installed. */
const OWN_TEXT = "graph.yaml";

/** The source with which graphs are described. */
const SAMPLE: SourceBinding = { uri: "source.mp4", pace: "realtime" };

export function answer(request: CompileRequest, deps: CompilerDeps): CompileAnswer {
  switch (request.type) {
    case "names":
      return { type: "named", names: deps.installed.names() };
    case "list":
      return { type: "listed", graphs: deps.installed.names().flatMap((name) => summarise(name, deps) ?? []) };
    case "describe": {
      const graph = describe(request.graph, deps);
      return graph === null ? absent(deps) : { type: "described", graph };
    }
    case "describe-own":
      return { type: "described-own", graph: describeOwn(request, deps) };
    case "tests":
      return findTests(request, deps);
    case "digests":
      return { type: "digests", digests: digestAll(request.graphs, deps) };
    case "validate": {
      const graph = ownText(request.text, deps);
      const { faults } = compile(graph, { ...inputOf(graph, deps), mode: "check" });
      return { type: "validated", faults };
    }
    case "prepare":
      return prepare(request, deps);
  }
}

function findTests({ graph: name, text }: TestsRequest, deps: CompilerDeps): CompileAnswer {
  const { installed } = deps;
  const graph = text === null ? installed.read(name) : { file: `${name}.yaml`, text, load: installed.load };
  if (graph === null) return absent(deps);
  const { faults, tests } = compile(graph, { ...inputOf(graph, deps), mode: "check" });
  const found = tests.map((test) => ({
    ...test,
    params: JSON.parse(JSON.stringify(test.params)),
    alerts: JSON.parse(JSON.stringify(test.alerts)),
    clipFile: text === null && test.clip !== null ? installed.findBeside(name, test.clip.value) : null,
  }));
  return { type: "tests", tests: found, faults };
}

const absent = ({ installed }: CompilerDeps): CompileAnswer => ({ type: "absent", installed: installed.names() });

function summarise(name: string, deps: CompilerDeps) {
  const described = describe(name, deps);
  if (described === null) return null;
  const { text: _, plan: __, ...summary } = described;
  return summary;
}

function describe(name: string, deps: CompilerDeps): DescribedGraph | null {
  const found = deps.installed.read(name);
  if (found === null) return null;
  const result = checkInstalled(found, deps);
  const reserved = result.document === null ? [] : [...listReserved(result.document, deps).keys()];
  return { ...describeChecked(name, result), reserved, text: found.text };
}

const digestAll = (names: Iterable<string>, { installed, elements }: CompilerDeps) =>
  Object.fromEntries([...names].map((name) => [name, digestInstalled(name, installed, elements)]));

function describeOwn({ graph: name, text, models }: OwnRequest, deps: CompilerDeps): DescribedOwn {
  const names = new Set<string>();
  const graph = { file: `${name}.yaml`, text, load: noteNames(deps.installed.load, names) };
  const result = check(graph, deps, keepsSlot(deps.authorElements));
  const { document, checked } = result;
  const faults = new FaultList(graph.file);
  if (document !== null && document.graph !== name)
    faults.add("document_shape", document.graphAt, `the graph is named "${document.graph}"`, {
      expected: `"${name}", the name that it is stored under`,
    });
  const restricted = document === null ? [] : checkAuthor(document, { params: {}, models }, checked.paramSchema, deps);
  faults.addAll(restricted.length > 0 ? restricted : checked.faults);
  const bases = digestAll(names, deps) as DescribedOwn["bases"];
  return { ...describeChecked(name, result), reserved: [], text, bases, faults: faults.sorted() };
}

const describeChecked = (name: string, { checked, document }: CheckedGraph) => ({
  name,
  about: checked.plan?.about ?? document?.about ?? "",
  params: checked.paramSchema,
  offers: checked.plan?.offers ?? [],
  slots: checked.plan?.slots ?? {},
  faults: checked.faults,
  plan: checked.plan,
});

function prepare(request: PrepareRequest, deps: CompilerDeps): CompileAnswer {
  const { text, params, attach, models } = request;
  const graph = text === null ? deps.installed.read(request.graph) : ownText(text, deps);
  if (graph === null) return absent(deps);
  const { checked, document } = text === null ? checkInstalled(graph, deps) : check(graph, deps);
  if (document === null) return reject([], checked.faults);
  const { paramSchema } = checked;
  const restricted = text === null ? checkGiven(document, request.given, { ...deps, models }) : [];
  const paramFaults = joinFaults(checkParams(paramSchema, params), restricted);
  const authorFaults = text === null ? [] : checkAuthor(document, request, paramSchema, deps);
  // Link faults around elements that are not allowed are not worth reporting.
  const graphFaults = authorFaults.length > 0 ? authorFaults : checked.faults;
  if (paramFaults.length > 0 || graphFaults.length > 0) return reject(paramFaults, graphFaults);
  // An unknown slot is reported by the compilation below.
  const slot = document.slots.find(({ chain }) => chain.name === attach?.slot);
  if (slot !== undefined && attach !== null) {
    const alone = { ...document, params: slot.params, chains: [], slots: [slot] };
    const shapeFaults = checkParams(paramsSchema(slot.params), attach.params, "slot");
    const slotFaults = joinFaults(shapeFaults, checkGiven(alone, attach.params, { ...deps, models }));
    if (slotFaults.length > 0) return reject(slotFaults);
  }
  return run(graph, document, request, deps);
}

/** A parameter of the wrong shape has no other faults. */
const joinFaults = (
  shape: readonly ParamFault[],
  restricted: readonly { readonly param: string; readonly message: string }[],
): readonly ParamFault[] => [
  ...shape,
  ...restricted
    .filter(({ param }) => !shape.some(({ path }) => path[0] === param))
    .map(({ param, message }) => ({ path: [param], message })),
];

/** Compiles with the real values and the real source. */
function run(
  graph: InstalledText,
  document: GraphDocument,
  request: PrepareRequest,
  deps: CompilerDeps,
): CompileAnswer {
  const { text, params, sourceUri, sourceLoops: loop, attach } = request;
  const source = sourceUri === null ? null : ({ uri: sourceUri, pace: "realtime", loop } as const);
  const { plan, faults, slot } = compile(graph, {
    ...inputOf(graph, deps),
    params,
    source,
    ...(text !== null && { keepSlot: keepsSlot(deps.authorElements) }),
  });
  if (plan === null) return reject([], faults);
  const attached = attach === null ? null : slot(attach.slot, "check", attach.params);
  if (attached?.segment === null) return reject([], attached.faults);
  const unknown = findUnknownClasses(document, plan.params, request.models);
  if (unknown.length > 0) return rejectClasses(unknown);
  return { type: "prepared", prepared: { plan, models: listModels(document, plan.params) } };
}

function checkAuthor(
  document: GraphDocument,
  request: Pick<PrepareRequest, "params" | "models">,
  { properties = {} }: JsonRecord,
  deps: CompilerDeps,
): readonly Fault[] {
  const faults = new FaultList(document.file);
  const defaults = Object.entries(properties as Readonly<Record<string, JsonRecord>>).flatMap(([name, schema]) =>
    schema.default === undefined ? [] : [[name, schema.default] as const],
  );
  const values = { ...Object.fromEntries(defaults), ...request.params };
  restrictAuthor(document, values, { ...deps, models: request.models }, faults);
  return faults.sorted();
}

const reject = (params: readonly ParamFault[], graph: readonly Fault[] = []): CompileAnswer => ({
  type: "refused",
  refusal: { params, graph },
});

function rejectClasses(unknown: ReturnType<typeof findUnknownClasses>): CompileAnswer {
  const params = unknown.flatMap(({ param, message }) => (param === null ? [] : [{ path: [param], message }]));
  const graph = unknown.flatMap(({ param, at, message }) =>
    param === null ? [{ code: "bad_property", at, message: `classes ${message}` } as const] : [],
  );
  return reject(params, graph);
}

/** A client's text, which can name installed graphs only. */
const ownText = (text: string, { installed }: CompilerDeps): InstalledText => ({
  ...{ file: OWN_TEXT, text, load: installed.load },
});

const inputOf = ({ load }: InstalledText, { elements, registry }: CompilerDeps): CompileInput => ({
  ...{ elements, registry, load },
});

const checkInstalled = (graph: InstalledText, deps: CompilerDeps): CheckedGraph =>
  deps.cache.get(graph, (load) => check({ ...graph, load }, deps));

/** Without parameter values and with a sample source. */
const check = (
  graph: InstalledText,
  deps: CompilerDeps,
  keepSlot: (slot: Slot) => boolean = () => true,
): CheckedGraph => ({
  checked: compile(graph, { ...inputOf(graph, deps), source: SAMPLE, mode: "check", keepSlot }),
  document: readGraph(graph, { load: graph.load, elements: deps.elements }, new FaultList(graph.file)),
});

/** Bound by the server, even if a graph has parameters of these names. */
const BOUND = ["source", "uri"];

/** Checks a client's parameters against the compiled schema of a graph or slot. */
function checkParams(schema: JsonRecord, given: JsonRecord, owner: "graph" | "slot" = "graph"): readonly ParamFault[] {
  const declared = (schema.properties ?? {}) as Readonly<Record<string, JsonRecord>>;
  const required = (schema.required ?? []) as readonly string[];
  const faults = [
    ...Object.entries(given).flatMap(([name, value]) => checkParam(name, value, declared, owner)),
    ...required
      .filter((name) => !Object.hasOwn(given, name))
      .map((name) => ({ path: [name], message: `is missing; expected ${describeSchema(declared[name])}` })),
  ];
  if (Object.keys(declared).length > 0) return faults;
  return faults.map((fault) => ({ ...fault, message: `${fault.message}; this ${owner} has no params` }));
}

function checkParam(
  name: string,
  value: Json,
  declared: Readonly<Record<string, JsonRecord>>,
  owner: "graph" | "slot",
): readonly ParamFault[] {
  if (owner === "graph" && BOUND.includes(name))
    return [{ path: [name], message: "cannot be a param: the source is the one that source_uuid names; leave it out" }];
  if (!Object.hasOwn(declared, name)) {
    const names = Object.keys(declared);
    const known = names.length > 0 ? `; expected one of ${names.join(", ")}` : "";
    return [{ path: [name], message: `is not a param of this ${owner}${known}${didYouMean(name, names)}` }];
  }
  return validate(declared[name] ?? {}, value).map(({ path, found, expected }) => ({
    path: [name, ...path],
    message: `is ${found}; expected ${expected}`,
  }));
}
