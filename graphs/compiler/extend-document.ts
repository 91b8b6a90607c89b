/** `extends`: the base graph with `set`, `insert` and `remove` applied, overlaid with what this graph has itself. */
import type { AnyElement } from "../../elements/element.ts";
import { suggest } from "../../schemas/suggest.ts";
import {
  type Chain,
  type ElementStep,
  type GraphDocument,
  type Named,
  nameSteps,
  type Param,
  type Removal,
  type Slot,
  type Step,
} from "./document.ts";
import type { FaultList } from "./fault.ts";
import { tableParts } from "./find-parts.ts";
import { type GraphText, type LoadGraph, readLevels } from "./graph-levels.ts";
import { PartInliner } from "./inline-parts.ts";
import type { LocatedEntry } from "./located.ts";
import { nameMain } from "./main-property.ts";
import { makeParam } from "./params.ts";
import type { Position } from "./plan.ts";
import { readWhen } from "./values-to-chains.ts";
import { readDocument } from "./values-to-document.ts";

export interface GraphSources {
  readonly load: LoadGraph;
  readonly elements: ReadonlyMap<string, AnyElement>;
}

/** Null when the text, or a graph that it extends, cannot be read. */
export function readGraph(
  source: GraphText,
  { load, elements }: GraphSources,
  faults: FaultList,
): GraphDocument | null {
  const levels = readLevels(source, load, (file, root) => readDocument(file, root, faults), faults);
  if (levels === null) return null;
  const parts = tableParts(levels);
  const inliner = new PartInliner(faults);
  const [base, ...derived] = levels
    .map(({ document, damaged, load: loader }) => {
      const inlined = nameMain(inliner.inline(document, { parts, load: loader }), elements, faults);
      return damaged ? { ...inlined, damaged } : inlined;
    })
    .reverse();
  if (base === undefined) return null;
  inliner.checkUnused(parts);
  return derived.reduce(
    (inherited, document) => nameSteps(overlay(edit(inherited, document, faults), document), faults),
    nameSteps(base, faults),
  );
}

function overlay(base: GraphDocument, own: GraphDocument): GraphDocument {
  return {
    ...own,
    about: own.about === "" ? base.about : own.about,
    params: overlayParams(base.params, own.params),
    chains: overlayByName(base.chains, own.chains, (chain) => chain.name),
    slots: overlayByName(base.slots, own.slots, (slot) => slot.chain.name),
    damaged: base.damaged || own.damaged,
  };
}

function overlayByName<T>(base: readonly T[], own: readonly T[], nameOf: (item: T) => string): readonly T[] {
  const replaced = base.map((item) => own.find((other) => nameOf(other) === nameOf(item)) ?? item);
  return [...replaced, ...own.filter((item) => !base.some((other) => nameOf(other) === nameOf(item)))];
}

/** A redeclared parameter inherits the keywords it does not mention: `confidence: { default: 0.2 }`. */
function overlayParams(base: readonly Param[], own: readonly Param[]): readonly Param[] {
  const merged = own.map((param) => {
    const inherited = base.find((other) => other.name === param.name);
    if (inherited === undefined) return param;
    const kept = inherited.written.entries.filter(
      (entry) => !param.written.entries.some(({ key }) => key === entry.key),
    );
    return makeParam(param.name, param.at, { ...param.written, entries: [...kept, ...param.written.entries] });
  });
  return overlayByName(base, merged, (param) => param.name);
}

/** Steps of a slot have the address `slot/node`, those of a chain only their name. */
function edit(base: GraphDocument, own: GraphDocument, faults: FaultList): GraphDocument {
  const { edits } = own;
  const addresses = [
    ...base.chains.flatMap((chain) => addressesOf(chain, "")),
    ...base.slots.flatMap((slot) => addressesOf(slot.chain, `${slot.chain.name}/`)),
  ];
  const known = (node: Named): boolean => {
    if (addresses.includes(node.value)) return true;
    if (!base.damaged) {
      const inSlot = addresses.find((address) => address.endsWith(`/${node.value}`));
      faults.add("unknown_node", node.at, `graph "${base.graph}" has no node "${node.value}"`, {
        expected: "the name of one of its nodes, or `slot/node`",
        suggestion: inSlot ?? suggest(node.value, addresses),
      });
    }
    return false;
  };
  const set = edits.set.filter((item) => known(item.node));
  const insert = edits.insert.filter((item) => known(item.node));
  const removed = resolveRemovals(base, edits.remove, addresses, faults);

  const editStep = (step: Step, prefix: string): readonly Step[] => {
    if (step.kind !== "element" || step.name === null) return [step];
    const address = prefix + step.name.value;
    const placed = (side: "before" | "after") =>
      insert.filter((item) => item.side === side && item.node.value === address).flatMap((item) => item.steps);
    const changed = set
      .filter((item) => item.node.value === address)
      .reduce((current, item) => setProperties(current, item.properties.entries, faults), step);
    return [...placed("before"), ...(removed.nodes.has(address) ? [] : [changed]), ...placed("after")];
  };
  const editChain = (chain: Chain, prefix: string): Chain => ({
    ...chain,
    steps: chain.steps.flatMap((step) => editStep(step, prefix)),
  });
  const editSlot = (slot: Slot): Slot => ({ ...slot, chain: editChain(slot.chain, `${slot.chain.name}/`) });
  const chains = base.chains.filter(({ name }) => !removed.chains.has(name));
  const slots = base.slots.filter(({ chain }) => !removed.slots.has(chain.name));
  const edited = {
    ...base,
    chains: chains.map((chain) => editChain(chain, "")).filter(hasElements),
    slots: slots.map(editSlot).filter((slot) => hasElements(slot.chain)),
  };
  // Marked as damaged, so that a missing node is reported once, at its removal.
  return reportDangling(base, edited, own, faults) ? { ...edited, damaged: true } : edited;
}

const addressesOf = (chain: Chain, prefix: string): readonly string[] =>
  chain.steps.flatMap((step) => (step.kind === "element" && step.name !== null ? [prefix + step.name.value] : []));

/** A chain with nothing but `from:` and `to:` left is removed. */
const hasElements = (chain: Chain): boolean => chain.steps.some((step) => step.kind !== "from" && step.kind !== "to");

function setProperties(step: ElementStep, entries: readonly LocatedEntry[], faults: FaultList): ElementStep {
  const properties = entries.filter((entry) => entry.key !== "when" && entry.key !== "name");
  for (const entry of entries) {
    if (entry.key !== "name") continue;
    faults.add("document_shape", entry.at, "`set` cannot rename a node", {
      expected: "properties of the node, or `when`",
    });
  }
  const kept = step.properties.filter((entry) => !properties.some((other) => other.key === entry.key));
  const when = entries.find((entry) => entry.key === "when");
  return {
    ...step,
    properties: [...kept, ...properties],
    when: when === undefined ? step.when : [readWhen(when, faults)].filter((condition) => condition !== null),
  };
}

interface Removed {
  /** By address: a name, or `slot/node`. */
  readonly nodes: ReadonlySet<string>;
  readonly chains: ReadonlySet<string>;
  readonly slots: ReadonlySet<string>;
}

/** A name alone is a node, or else a chain or a slot. `addresses` are those of the base's nodes. */
function resolveRemovals(
  base: GraphDocument,
  removals: readonly Removal[],
  addresses: readonly string[],
  faults: FaultList,
): Removed {
  const known = {
    node: addresses,
    chain: base.chains.map(({ name }) => name),
    slot: base.slots.map(({ chain }) => chain.name),
  };
  const removed = { node: new Set<string>(), chain: new Set<string>(), slot: new Set<string>() };
  const kinds = ["node", "chain", "slot"] as const;
  for (const { kind, value, at } of removals) {
    const fitting = kinds.filter((each) => (kind ?? each) === each && known[each].includes(value));
    const [found] = fitting;
    if (found === undefined) {
      if (!base.damaged) reportUnknown({ kind, value, at }, base.graph, known, faults);
    } else if (found === "chain" && fitting.includes("slot")) {
      faults.add("unknown_node", at, `graph "${base.graph}" has a chain and a slot "${value}"`, {
        expected: `\`chain: ${value}\` or \`slot: ${value}\``,
      });
    } else removed[found].add(value);
  }
  return { nodes: removed.node, chains: removed.chain, slots: removed.slot };
}

function reportUnknown(
  { kind, value, at }: Removal,
  graph: string,
  known: Readonly<Record<"node" | "chain" | "slot", readonly string[]>>,
  faults: FaultList,
): void {
  const inSlot = known.node.find((address) => address.endsWith(`/${value}`));
  const names = kind === null ? [...known.node, ...known.chain, ...known.slot] : known[kind];
  faults.add("unknown_node", at, `graph "${graph}" has no ${kind ?? "node, chain or slot"} "${value}"`, {
    expected:
      kind === null ? "the name of a node, chain or slot of it, or `slot/node`" : names.join(", ") || `no ${kind}`,
    suggestion: (kind === null || kind === "node" ? inSlot : undefined) ?? suggest(value, names),
  });
}

/**
 * Reports chains and slots of `edited` that join a removed node, unless `own` provides the node or replaces the chain.
 * True when there are any.
 */
function reportDangling(base: GraphDocument, edited: GraphDocument, own: GraphDocument, faults: FaultList): boolean {
  const provided = namesOf([...edited.chains, ...own.chains]);
  const removed = new Set([...namesOf(base.chains)].filter((name) => !provided.has(name)));
  const left = [
    ...edited.chains
      .filter(({ name }) => !own.chains.some((chain) => chain.name === name))
      .map((chain) => ({ kind: "chain", chain })),
    ...edited.slots
      .filter(({ chain }) => !own.slots.some((slot) => slot.chain.name === chain.name))
      .map(({ chain }) => ({ kind: "slot", chain })),
  ];
  const before = faults.size;
  for (const { kind, chain } of left)
    for (const step of chain.steps) {
      if ((step.kind !== "from" && step.kind !== "to") || !removed.has(step.node)) continue;
      const join = `\`${step.kind}: ${step.node}\``;
      const found = `"${step.node}" is removed, but ${kind} "${chain.name}" of graph "${base.graph}" has ${join}`;
      faults.add("unknown_node", positionOfRemoval(base, own, step.node), found, {
        expected: `\`${kind}: ${chain.name}\` in \`remove\` as well, or a ${kind} "${chain.name}" of your own`,
      });
    }
  return faults.size > before;
}

const namesOf = (chains: readonly Chain[]): ReadonlySet<string> =>
  new Set(
    chains.flatMap(({ steps }) =>
      steps.flatMap((step) => (step.kind === "element" ? [step.name?.value ?? step.stem] : [])),
    ),
  );

/** Of the node, or of its chain. */
function positionOfRemoval(base: GraphDocument, own: GraphDocument, node: string): Position {
  const chain = base.chains.find((each) => namesOf([each]).has(node))?.name;
  const { remove } = own.edits;
  const found = remove.find(({ value }) => value === node) ?? remove.find(({ value }) => value === chain);
  return found?.at ?? own.extends?.at ?? own.paramsAt;
}
