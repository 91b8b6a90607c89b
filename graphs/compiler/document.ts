/** A graph as its author wrote it, with every node named; parameters, elements and links are not yet resolved. */

import type { JsonRecord } from "../../schemas/json.ts";
import type { FaultList } from "./fault.ts";
import type { LocatedEntry, LocatedMap, LocatedScalar } from "./located.ts";
import type { Position } from "./plan.ts";

export interface Named {
  readonly value: string;
  readonly at: Position;
}

export interface ElementStep {
  readonly kind: "element";
  readonly at: Position;
  readonly element: string;
  /** The author's name, or the one given by `nameSteps`; null before that. */
  readonly name: Named | null;
  readonly when: LocatedScalar | null;
  readonly properties: readonly LocatedEntry[];
}

export const elementStep = (at: Position, element: string, properties: readonly LocatedEntry[] = []): ElementStep => ({
  ...{ kind: "element", at, element, name: null, when: null, properties },
});

/** `from: node.pad` or `to: node.pad`. */
export interface JoinStep {
  readonly kind: "from" | "to";
  readonly at: Position;
  readonly node: string;
  readonly pad: string | null;
}

/** A step that could not be read. Its fault is reported; checks of its neighbours ignore it. */
export interface UnreadableStep {
  readonly kind: "unreadable";
  readonly at: Position;
}

export type Step = ElementStep | JoinStep | UnreadableStep;

export interface Chain {
  readonly name: string;
  readonly at: Position;
  readonly when: LocatedScalar | null;
  readonly steps: readonly Step[];
}

export interface Param {
  readonly name: string;
  readonly at: Position;
  /** JSON Schema, without `live`. */
  readonly schema: JsonRecord;
  readonly live: boolean;
  readonly written: LocatedMap;
}

export interface Slot {
  readonly about: string;
  readonly params: readonly Param[];
  readonly chain: Chain;
}

/** An item of `remove:`. */
export interface Removal extends Named {
  /** Null: only the name is written. */
  readonly kind: "node" | "chain" | "slot" | null;
}

/** Changes to the graph named by `extends`. */
export interface Edits {
  readonly set: readonly { readonly node: Named; readonly properties: LocatedMap }[];
  readonly insert: readonly {
    readonly side: "before" | "after";
    readonly node: Named;
    readonly steps: readonly Step[];
  }[];
  readonly remove: readonly Removal[];
}

export interface GraphDocument {
  readonly file: string | null;
  readonly graph: string;
  readonly about: string;
  readonly extends: Named | null;
  readonly params: readonly Param[];
  /** Position of `params`, or of the document. */
  readonly paramsAt: Position;
  readonly slotsAt: Position;
  readonly chains: readonly Chain[];
  readonly slots: readonly Slot[];
  readonly edits: Edits;
  /** Parts could not be read; missing names may be in them. */
  readonly damaged: boolean;
}

/**
 * Names every step: by its author, else by its element, with `-2`, `-3` … for repeats. All chains share one set of names;
 * a slot has its own, as each attached instance has a prefix. Names do not depend on `when`, and inherited steps keep
 * theirs.
 */
export function nameSteps(document: GraphDocument, faults: FaultList): GraphDocument {
  const slots = document.slots.map((slot) => ({ ...slot, chain: nameChains([slot.chain], faults)[0] ?? slot.chain }));
  return { ...document, chains: nameChains(document.chains, faults), slots };
}

function nameChains(chains: readonly Chain[], faults: FaultList): readonly Chain[] {
  const taken = new Map<string, ElementStep>();
  const repeated = new Set<ElementStep>();
  for (const step of chains.flatMap((chain) => chain.steps)) {
    if (step.kind !== "element" || step.name === null) continue;
    const first = taken.get(step.name.value);
    if (first === undefined) {
      taken.set(step.name.value, step);
      continue;
    }
    repeated.add(step);
    const { file, line } = first.name?.at ?? first.at;
    const where = file === step.name.at.file ? `line ${line}` : `${file}:${line}`;
    faults.add("duplicate_name", step.name.at, `two nodes are named "${step.name.value}"; the first is on ${where}`, {
      expected: "a name of its own for each node",
    });
  }
  const lastSuffix = new Map<string, number>();
  const nameStep = (step: Step): Step => {
    if (step.kind !== "element" || (step.name !== null && !repeated.has(step))) return step;
    let suffix = lastSuffix.get(step.element) ?? 0;
    let name: string;
    do {
      suffix++;
      name = suffix === 1 ? step.element : `${step.element}-${suffix}`;
    } while (taken.has(name));
    lastSuffix.set(step.element, suffix);
    taken.set(name, step);
    return { ...step, name: { value: name, at: step.at } };
  };
  return chains.map((chain) => ({ ...chain, steps: chain.steps.map(nameStep) }));
}
