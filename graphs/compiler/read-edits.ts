/** `set`, `insert` and `remove`: how a graph differs from the one it extends. */
import { describeValue } from "./describe.ts";
import type { Edits, Named, Removal } from "./document.ts";
import type { FaultList } from "./fault-list.ts";
import { findEntry, type Located, type LocatedMap, toJson } from "./located.ts";
import { readSteps } from "./read-steps.ts";

const INSERTION = "`- after: NODE` or `- before: NODE`, with `steps: [steps]` below it";

export function readEdits(root: LocatedMap, extending: boolean, faults: FaultList): Edits {
  const none: Edits = { set: [], insert: [], remove: [] };
  if (!extending) {
    for (const entry of root.entries) {
      if (entry.key !== "set" && entry.key !== "insert" && entry.key !== "remove") continue;
      if (findEntry(root, "extends") !== undefined) continue;
      faults.add("document_shape", entry.at, `\`${entry.key}\` changes another graph, but none is named`, {
        expected: "`extends: GRAPH` beside it",
      });
    }
    return none;
  }
  return { set: readSet(root, faults), insert: readInsert(root, faults), remove: readRemove(root, faults) };
}

function readSet(root: LocatedMap, faults: FaultList): Edits["set"] {
  const entry = findEntry(root, "set");
  if (entry === undefined) return [];
  if (entry.value.kind !== "map") {
    faults.add("document_shape", entry.value.at, `\`set\` is ${describeValue(toJson(entry.value))}`, {
      expected: "`set: { NODE: { property: value } }`",
    });
    return [];
  }
  return entry.value.entries.flatMap(({ key, at, value }) => {
    if (value.kind === "map") return [{ node: { value: key, at }, properties: value }];
    faults.add("document_shape", value.at, `\`set\` gives "${key}" ${describeValue(toJson(value))}`, {
      expected: `\`${key}: { property: value }\``,
    });
    return [];
  });
}

function readInsert(root: LocatedMap, faults: FaultList): Edits["insert"] {
  const entry = findEntry(root, "insert");
  if (entry === undefined) return [];
  if (entry.value.kind !== "list") {
    faults.add("document_shape", entry.value.at, `\`insert\` is ${describeValue(toJson(entry.value))}`, {
      expected: `a list, each item ${INSERTION}`,
    });
    return [];
  }
  return entry.value.items.flatMap((item) => readInsertion(item, faults));
}

function readInsertion(item: Located, faults: FaultList): Edits["insert"] {
  const map = item.kind === "map" ? item : null;
  const before = map === null ? undefined : findEntry(map, "before");
  const after = map === null ? undefined : findEntry(map, "after");
  const steps = map === null ? undefined : findEntry(map, "steps");
  const node = readNode((before ?? after)?.value);
  if (map?.entries.length !== 2 || node === null || steps?.value.kind !== "list") {
    faults.add("document_shape", item.at, "an insertion that cannot be read", { expected: INSERTION });
    return [];
  }
  const inserted = readSteps(steps.value.items, "the insertion", steps.at, faults);
  for (const step of inserted) {
    if (step.kind !== "from" && step.kind !== "to") continue;
    faults.add("document_shape", step.at, `\`${step.kind}:\` cannot be inserted`, {
      expected: "elements; new chains go below `chains`",
    });
  }
  const elements = inserted.filter((step) => step.kind !== "from" && step.kind !== "to");
  return [{ side: before === undefined ? "after" : "before", node, steps: elements }];
}

const REMOVAL = "`remove: [geolocate, slot/node, { chain: data }, { slot: rtmp }]`";

function readRemove(root: LocatedMap, faults: FaultList): readonly Removal[] {
  const entry = findEntry(root, "remove");
  if (entry === undefined) return [];
  const items = entry.value.kind === "list" ? entry.value.items : [entry.value];
  return items.flatMap((item) => {
    const removal = readRemoval(item);
    if (removal !== null) return [removal];
    faults.add("document_shape", item.at, `\`remove\` names ${describeValue(toJson(item))}`, {
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
