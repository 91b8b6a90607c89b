/** `extends`: the graph it names, with `set`, `insert` and `remove` applied and this graph's own parts laid over it. */

import { suggest } from "../../schemas/suggest.ts";
import type { Chain, ElementStep, GraphDocument, Named, Param, Slot, Step } from "./document.ts";
import type { FaultList } from "./fault-list.ts";
import { MAX_EXTENDS } from "./limits.ts";
import type { LocatedEntry } from "./located.ts";
import { nameSteps } from "./name-steps.ts";
import { readDocument } from "./read-document.ts";
import { makeParam } from "./read-params.ts";
import { readWhen } from "./read-steps.ts";
import { readYaml } from "./read-yaml.ts";
import { reportDangling, resolveRemovals } from "./remove.ts";

export interface GraphText {
  readonly file: string | null;
  readonly text: string;
}

export type LoadGraph = (name: string) => { readonly file: string; readonly text: string } | undefined;

/** Null when the text, or a graph it stands on, cannot be read. */
export function readGraph(source: GraphText, load: LoadGraph, faults: FaultList): GraphDocument | null {
  return readLevel(source, load, [], faults);
}

interface Level {
  readonly file: string | null;
  readonly graph: string;
}

function readLevel(
  source: GraphText,
  load: LoadGraph,
  below: readonly Level[],
  faults: FaultList,
): GraphDocument | null {
  const before = faults.size;
  const root = readYaml(source.file, source.text, faults);
  const damaged = faults.size > before;
  const read = root === null ? null : readDocument(source.file, root, faults);
  if (read === null) return null;
  const document = damaged ? { ...read, damaged } : read;
  if (document.extends === null) return nameSteps(document, faults);
  const { value: name, at } = document.extends;
  const levels = [...below, { file: source.file, graph: document.graph }];
  const base = load(name);
  if (base === undefined) {
    faults.add("unknown_graph", at, `there is no graph "${name}" to extend`, {
      expected: "the name of a template, or the path of a graph file",
    });
    return null;
  }
  const again = levels.findIndex((level) => level.file === base.file);
  if (again >= 0) {
    const circle = [...levels.slice(again).map((level) => level.graph), levels[again]?.graph];
    faults.add("extends_cycle", at, `the graphs extend each other in a circle: ${circle.join(" → ")}`);
    return null;
  }
  if (levels.length >= MAX_EXTENDS) {
    faults.add("yaml_too_complex", at, `${MAX_EXTENDS} graphs extend one another`, {
      expected: `at most ${MAX_EXTENDS - 1}`,
    });
    return null;
  }
  const inherited = readLevel(base, load, levels, faults);
  return inherited === null ? null : nameSteps(overlay(edit(inherited, document, faults), document), faults);
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

/** A parameter declared again keeps the keywords it does not mention: `confidence: { default: 0.2 }`. */
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

/** Steps of a slot are addressed as `slot/node`, those of a chain by their name alone. */
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
  // Reported here, where it was removed, and not once more where it is missed.
  return reportDangling(base, edited, own, faults) ? { ...edited, damaged: true } : edited;
}

const addressesOf = (chain: Chain, prefix: string): readonly string[] =>
  chain.steps.flatMap((step) => (step.kind === "element" && step.name !== null ? [prefix + step.name.value] : []));

/** A chain of which nothing but its joins was left is gone. */
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
    when: when === undefined ? step.when : readWhen(when, faults),
  };
}
