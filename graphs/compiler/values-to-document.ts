/** Located values → graph document. Unreadable parts are reported and left out; the rest is still checked. */
import { suggest } from "../../schemas/suggest.ts";
import { describeValue } from "./describe.ts";
import type { Edits, GraphDocument, Named, PartDefinition, Removal, Slot, WrittenStep } from "./document.ts";
import type { FaultList } from "./fault.ts";
import { readTests } from "./graph-tests.ts";
import {
  describeLocated,
  findEntry,
  type Located,
  type LocatedEntry,
  type LocatedMap,
  readEntries,
} from "./located.ts";
import { readParams } from "./params.ts";
import { NODE_NAME, readChain, readSteps, readWhen, USE_KEYS } from "./values-to-chains.ts";

const KEYS = ["graph", "about", "extends", "params", "parts", "chains", "slots", "set", "insert", "remove", "tests"];
const SLOT_KEYS = ["about", "when", "params", "chain"];
const PART_KEYS = ["about", "params", "chain"];

export type WrittenDocument = GraphDocument<WrittenStep>;

export function readDocument(file: string | null, root: Located, faults: FaultList): WrittenDocument | null {
  if (!expectMap(root, faults)) return null;
  rejectUnknownKeys(root, KEYS, "a graph", faults);
  const before = faults.size;
  const { extends: base, parts } = readPartsOf(root, faults);
  const chains = readMapOf(findEntry(root, "chains"), "chains", faults, ({ key, at, value }) =>
    readChain(key, at, value, faults),
  );
  const slots = readMapOf(findEntry(root, "slots"), "slots", faults, (entry) => readSlot(entry, faults));
  const edits = readEdits(root, base !== null, faults);
  const damaged = faults.size > before || (base === null && findEntry(root, "chains") === undefined);
  const params = readParams(findEntry(root, "params"), faults);
  const graph = readGraphName(root, faults);
  if (findEntry(root, "chains") === undefined && base === null && findEntry(root, "extends") === undefined) {
    faults.add("document_shape", root.at, "the graph has no `chains`", {
      expected: "`chains: { main: [steps] }`, or `extends: GRAPH`",
    });
  }
  return {
    file,
    graph,
    graphAt: findEntry(root, "graph")?.value.at ?? root.at,
    about: readText(findEntry(root, "about"), faults)?.value ?? "",
    extends: base,
    params,
    paramsAt: findEntry(root, "params")?.at ?? root.at,
    slotsAt: findEntry(root, "slots")?.at ?? root.at,
    parts,
    chains,
    slots,
    edits,
    tests: readTests(findEntry(root, "tests"), faults),
    damaged,
  };
}

function expectMap(root: Located, faults: FaultList): root is LocatedMap {
  if (root.kind === "map") return true;
  const found = `the document is ${describeLocated(root)}`;
  faults.add("document_shape", root.at, found, { expected: "a map that begins with `graph: NAME`" });
  return false;
}

/** What other files use of a graph file. */
export type PartsOfFile = Pick<WrittenDocument, "extends" | "parts">;

/** Of a file whose chains do not matter. */
export function readPartsFile(root: Located, faults: FaultList): PartsOfFile | null {
  return expectMap(root, faults) ? readPartsOf(root, faults) : null;
}

const readPartsOf = (root: LocatedMap, faults: FaultList): PartsOfFile => ({
  extends: readText(findEntry(root, "extends"), faults),
  parts: readMapOf(findEntry(root, "parts"), "parts", faults, (entry) => readPart(entry, faults)),
});

function readGraphName(root: LocatedMap, faults: FaultList): string {
  const entry = findEntry(root, "graph");
  const value = entry?.value.kind === "scalar" ? entry.value.value : null;
  if (typeof value === "string" && NODE_NAME.test(value)) return value;
  const found =
    entry === undefined ? "the graph has no name" : `a graph cannot be named ${describeLocated(entry.value)}`;
  faults.add("document_shape", entry?.value.at ?? root.at, found, {
    expected: "`graph: NAME`, the name a letter, then letters, digits, - or _",
  });
  return "unnamed";
}

function readText(entry: LocatedEntry | undefined, faults: FaultList): Named | null {
  if (entry === undefined) return null;
  if (entry.value.kind === "scalar" && typeof entry.value.value === "string") {
    return { value: entry.value.value, at: entry.value.at };
  }
  faults.add("document_shape", entry.value.at, `"${entry.key}" is ${describeLocated(entry.value)}`, {
    expected: "text",
  });
  return null;
}

function readMapOf<T>(
  entry: LocatedEntry | undefined,
  what: string,
  faults: FaultList,
  read: (entry: LocatedEntry) => T | null,
): readonly T[] {
  return readEntries(entry, `a map: \`${what}: { NAME: … }\``, faults).flatMap((inner) => {
    if (!NODE_NAME.test(inner.key)) {
      faults.add("document_shape", inner.at, `${describeValue(inner.key)} is not a valid name in "${what}"`, {
        expected: "a letter, then letters, digits, - or _",
      });
      return [];
    }
    const value = read(inner);
    return value === null ? [] : [value];
  });
}

function readPart({ key, at, value }: LocatedEntry, faults: FaultList): PartDefinition | null {
  const chain = value.kind === "map" ? findEntry(value, "chain")?.value : undefined;
  if (value.kind !== "map" || chain?.kind !== "list") {
    faults.add("document_shape", at, `part "${key}" has no chain`, { expected: "`chain:` with a list of steps" });
    return null;
  }
  rejectUnknownKeys(value, PART_KEYS, "a part", faults);
  const params = readParams(findEntry(value, "params"), faults);
  for (const { name, at: paramAt } of params)
    if (USE_KEYS.includes(name))
      faults.add("bad_param", paramAt, `a part cannot have a parameter "${name}"`, {
        expected: `another name: \`${name}\` belongs to \`use\``,
      });
  return {
    ...{ name: key, at, params },
    about: readText(findEntry(value, "about"), faults)?.value ?? "",
    steps: readSteps(chain.items, `part "${key}"`, at, faults),
  };
}

function readSlot(entry: LocatedEntry, faults: FaultList): Slot<WrittenStep> | null {
  const steps = entry.value.kind === "map" ? findEntry(entry.value, "chain") : undefined;
  if (entry.value.kind !== "map" || steps === undefined) {
    faults.add("document_shape", entry.at, `slot "${entry.key}" has no chain`, {
      expected: "`chain:` with a list of steps that begins with `from: TEE`",
    });
    return null;
  }
  rejectUnknownKeys(entry.value, SLOT_KEYS, "a slot", faults);
  const chain = readChain(entry.key, entry.at, steps.value, faults);
  if (chain === null) return null;
  return {
    about: readText(findEntry(entry.value, "about"), faults)?.value ?? "",
    params: readParams(findEntry(entry.value, "params"), faults),
    chain: { ...chain, when: readWhen(findEntry(entry.value, "when"), faults) ?? chain.when },
  };
}

function rejectUnknownKeys(map: LocatedMap, known: readonly string[], owner: string, faults: FaultList): void {
  for (const entry of map.entries) {
    if (known.includes(entry.key)) continue;
    faults.add("document_shape", entry.at, `${owner} has no key "${entry.key}"`, {
      expected: known.join(", "),
      suggestion: suggest(entry.key, known),
    });
  }
}

const INSERTION = "`- after: NODE` or `- before: NODE`, with `steps: [steps]` below it";

/** `set`, `insert` and `remove`: how a graph differs from the one it extends. */
function readEdits(root: LocatedMap, extending: boolean, faults: FaultList): Edits<WrittenStep> {
  if (!extending) {
    for (const { key, at } of findEntry(root, "extends") === undefined ? root.entries : []) {
      if (key !== "set" && key !== "insert" && key !== "remove") continue;
      faults.add("document_shape", at, `\`${key}\` without \`extends\``, { expected: "`extends: GRAPH` beside it" });
    }
    return { set: [], insert: [], remove: [] };
  }
  return { set: readSet(root, faults), insert: readInsert(root, faults), remove: readRemove(root, faults) };
}

function readSet(root: LocatedMap, faults: FaultList): Edits["set"] {
  const expected = "`set: { NODE: { property: value } }`";
  return readEntries(findEntry(root, "set"), expected, faults).flatMap(({ key, at, value }) => {
    if (value.kind === "map") return [{ node: { value: key, at }, properties: value }];
    faults.add("document_shape", value.at, `\`set\` gives "${key}" ${describeLocated(value)}`, {
      expected: `\`${key}: { property: value }\``,
    });
    return [];
  });
}

function readInsert(root: LocatedMap, faults: FaultList): Edits<WrittenStep>["insert"] {
  const entry = findEntry(root, "insert");
  if (entry === undefined) return [];
  if (entry.value.kind !== "list") {
    faults.add("document_shape", entry.value.at, `"insert" is ${describeLocated(entry.value)}`, {
      expected: `a list, each item ${INSERTION}`,
    });
    return [];
  }
  return entry.value.items.flatMap((item) => readInsertion(item, faults));
}

function readInsertion(item: Located, faults: FaultList): Edits<WrittenStep>["insert"] {
  const map = item.kind === "map" ? item : null;
  const before = map === null ? undefined : findEntry(map, "before");
  const after = map === null ? undefined : findEntry(map, "after");
  const steps = map === null ? undefined : findEntry(map, "steps");
  const node = readNode((before ?? after)?.value);
  if (map?.entries.length !== 2 || node === null || steps?.value.kind !== "list") {
    faults.add("document_shape", item.at, "an invalid insertion", { expected: INSERTION });
    return [];
  }
  const inserted = rejectJoins(readSteps(steps.value.items, "the insertion", steps.at, faults), faults);
  return [{ side: before === undefined ? "after" : "before", node, steps: inserted }];
}

/** Of an insertion. */
export function rejectJoins<S extends WrittenStep>(steps: readonly S[], faults: FaultList): readonly S[] {
  return steps.filter((step) => {
    if (step.kind !== "from" && step.kind !== "to") return true;
    faults.add("document_shape", step.at, `\`${step.kind}:\` cannot be inserted`, {
      expected: "elements; new chains go below `chains`",
    });
    return false;
  });
}

const REMOVAL = "`remove: [geolocate, slot/node, { chain: data }, { slot: rtmp }]`";

function readRemove(root: LocatedMap, faults: FaultList): readonly Removal[] {
  const entry = findEntry(root, "remove");
  if (entry === undefined) return [];
  const items = entry.value.kind === "list" ? entry.value.items : [entry.value];
  return items.flatMap((item) => {
    const removal = readRemoval(item);
    if (removal !== null) return [removal];
    faults.add("document_shape", item.at, `\`remove\` names ${describeLocated(item)}`, {
      expected: `a list of names of nodes, chains and slots: ${REMOVAL}`,
    });
    return [];
  });
}

function readRemoval(item: Located): Removal | null {
  if (item.kind !== "map") {
    const named = readNode(item);
    return named === null ? null : { kind: null, ...named };
  }
  const [only, ...others] = item.entries;
  const kind = (["node", "chain", "slot"] as const).find((each) => each === only?.key);
  const named = readNode(only?.value);
  return kind === undefined || named === null || others.length > 0 ? null : { kind, ...named };
}

function readNode(value: Located | undefined): Named | null {
  if (value?.kind !== "scalar" || typeof value.value !== "string") return null;
  return { value: value.value, at: value.at };
}
