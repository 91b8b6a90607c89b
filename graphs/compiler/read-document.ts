/** Located values → graph document. What cannot be read is reported and left out; the rest is still checked. */

import { suggest } from "../../schemas/suggest.ts";
import { describeValue } from "./describe.ts";
import type { Chain, GraphDocument, Named, Slot } from "./document.ts";
import type { FaultList } from "./fault-list.ts";
import { findEntry, type Located, type LocatedEntry, type LocatedMap, toJson } from "./located.ts";
import { readEdits } from "./read-edits.ts";
import { readParams } from "./read-params.ts";
import { NODE_NAME, readChain, readWhen } from "./read-steps.ts";

const KEYS = ["graph", "about", "extends", "params", "chains", "slots", "set", "insert", "remove"];
const SLOT_KEYS = ["about", "when", "params", "chain"];

export function readDocument(file: string | null, root: Located, faults: FaultList): GraphDocument | null {
  if (root.kind !== "map") {
    const found = `the document is ${describeValue(toJson(root))}`;
    faults.add("document_shape", root.at, found, { expected: "a map that begins with `graph: NAME`" });
    return null;
  }
  refuseUnknownKeys(root, KEYS, "a graph", faults);
  const base = readText(findEntry(root, "extends"), faults);
  const before = faults.size;
  const chains = readMapOf(findEntry(root, "chains"), "chains", faults, (entry) => readNamedChain(entry, faults));
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
    about: readText(findEntry(root, "about"), faults)?.value ?? "",
    extends: base,
    params,
    paramsAt: findEntry(root, "params")?.at ?? root.at,
    slotsAt: findEntry(root, "slots")?.at ?? root.at,
    chains,
    slots,
    edits,
    damaged,
  };
}

function readGraphName(root: LocatedMap, faults: FaultList): string {
  const entry = findEntry(root, "graph");
  const value = entry?.value.kind === "scalar" ? entry.value.value : null;
  if (typeof value === "string" && NODE_NAME.test(value)) return value;
  const found =
    entry === undefined ? "the graph has no name" : `a graph cannot be named ${describeValue(toJson(entry.value))}`;
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
  faults.add("document_shape", entry.value.at, `"${entry.key}" is ${describeValue(toJson(entry.value))}`, {
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
  if (entry === undefined) return [];
  if (entry.value.kind !== "map") {
    const found = `"${what}" is ${describeValue(toJson(entry.value))}`;
    faults.add("document_shape", entry.value.at, found, { expected: `a map: \`${what}: { NAME: … }\`` });
    return [];
  }
  return entry.value.entries.flatMap((inner) => {
    if (!NODE_NAME.test(inner.key)) {
      faults.add("document_shape", inner.at, `${describeValue(inner.key)} is no name for one of the ${what}`, {
        expected: "a letter, then letters, digits, - or _",
      });
      return [];
    }
    const value = read(inner);
    return value === null ? [] : [value];
  });
}

function readNamedChain(entry: LocatedEntry, faults: FaultList): Chain | null {
  return readChain(entry.key, entry.at, entry.value, faults);
}

function readSlot(entry: LocatedEntry, faults: FaultList): Slot | null {
  const steps = entry.value.kind === "map" ? findEntry(entry.value, "chain") : undefined;
  if (entry.value.kind !== "map" || steps === undefined) {
    faults.add("document_shape", entry.at, `slot "${entry.key}" has no chain`, {
      expected: "`chain:` with a list of steps that begins with `from: TEE`",
    });
    return null;
  }
  refuseUnknownKeys(entry.value, SLOT_KEYS, "a slot", faults);
  const chain = readChain(entry.key, entry.at, steps.value, faults);
  if (chain === null) return null;
  return {
    about: readText(findEntry(entry.value, "about"), faults)?.value ?? "",
    params: readParams(findEntry(entry.value, "params"), faults),
    chain: { ...chain, when: readWhen(findEntry(entry.value, "when"), faults) ?? chain.when },
  };
}

function refuseUnknownKeys(map: LocatedMap, known: readonly string[], owner: string, faults: FaultList): void {
  for (const entry of map.entries) {
    if (known.includes(entry.key)) continue;
    faults.add("document_shape", entry.at, `${owner} has no key "${entry.key}"`, {
      expected: known.join(", "),
      suggestion: suggest(entry.key, known),
    });
  }
}
