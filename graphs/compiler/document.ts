/** A graph as its author wrote it, in shape but not yet in meaning. */
import type { JsonRecord } from "../../schemas/json.ts";
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

/** `from: node.pad` or `to: node.pad`. */
export interface JoinStep {
  readonly kind: "from" | "to";
  readonly at: Position;
  readonly node: string;
  readonly pad: string | null;
}

/** Something was there that could not be read; its fault is reported, its neighbours are not blamed. */
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

/** What `remove:` names. */
export interface Removal extends Named {
  /** Null: the name alone was written. */
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
  /** Where parameters are declared, or would be. */
  readonly paramsAt: Position;
  readonly slotsAt: Position;
  readonly chains: readonly Chain[];
  readonly slots: readonly Slot[];
  readonly edits: Edits;
  /** Parts could not be read: what seems to be missing may be in them. */
  readonly damaged: boolean;
}
