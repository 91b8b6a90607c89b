/** A graph as its author wrote it, with every node named; parameters, elements and links are not yet resolved. */

import type { Metric } from "../../schemas/graph-tests.ts";
import type { JsonRecord } from "../../schemas/json.ts";
import type { FaultList } from "./fault.ts";
import type { Located, LocatedEntry, LocatedMap, LocatedScalar } from "./located.ts";
import type { Position } from "./plan.ts";
import type { Range } from "./ranges.ts";

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
  /** Its name if the author gives none: the element, after the names of the uses around it. */
  readonly stem: string;
  /** All must hold: its own condition, and those of the uses around it. */
  readonly when: readonly LocatedScalar[];
  readonly properties: readonly LocatedEntry[];
  /** The uses of parts that it comes from, outermost first. */
  readonly uses: readonly PartUse[];
  /** A value instead of properties, for the main property; null once `nameMain` has named it. */
  readonly main: Located | null;
}

export const elementStep = (at: Position, element: string, properties: readonly LocatedEntry[] = []): ElementStep => ({
  ...{ kind: "element", at, element, name: null, stem: element, when: [], properties, uses: [], main: null },
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

/** `use: part`, which stands for the steps of the part. */
export interface UseStep {
  readonly kind: "use";
  readonly at: Position;
  /** The name of a part, after the file or graph that has it: `draw`, `video.yaml#draw`. */
  readonly part: Named;
  readonly name: Named | null;
  readonly when: LocatedScalar | null;
  /** Values of the part's parameters. */
  readonly given: readonly LocatedEntry[];
}

export type Step = ElementStep | JoinStep | UnreadableStep;
/** Before parts are inlined. */
export type WrittenStep = Step | UseStep;

export interface Chain<S extends WrittenStep = Step> {
  readonly name: string;
  readonly at: Position;
  readonly when: LocatedScalar | null;
  readonly steps: readonly S[];
}

export interface Param {
  readonly name: string;
  readonly at: Position;
  /** JSON Schema, without `live`. */
  readonly schema: JsonRecord;
  readonly live: boolean;
  readonly written: LocatedMap;
}

export interface Slot<S extends WrittenStep = Step> {
  readonly about: string;
  readonly params: readonly Param[];
  readonly chain: Chain<S>;
}

/** A named piece of a chain. Its steps refer to its own parameters only. */
export interface PartDefinition {
  readonly name: string;
  readonly at: Position;
  readonly about: string;
  readonly params: readonly Param[];
  readonly steps: readonly WrittenStep[];
}

/** Values of one use that depend on parameters of the graph: checked when those are known. */
export interface PartUse {
  readonly part: string;
  readonly values: readonly { readonly param: Param; readonly value: Located }[];
}

/** An item of `remove:`. */
export interface Removal extends Named {
  /** Null: only the name is written. */
  readonly kind: "node" | "chain" | "slot" | null;
}

/** Changes to the graph named by `extends`. */
export interface Edits<S extends WrittenStep = Step> {
  readonly set: readonly { readonly node: Named; readonly properties: LocatedMap }[];
  readonly insert: readonly {
    readonly side: "before" | "after";
    readonly node: Named;
    readonly steps: readonly S[];
  }[];
  readonly remove: readonly Removal[];
}

export interface Expectation {
  /** As written: `tracks.person`. */
  readonly key: string;
  readonly at: Position;
  readonly metric: Metric;
  readonly range: Range;
}

/** A run on a clip, and what is expected of it. */
export interface GraphTest {
  readonly name: string;
  readonly at: Position;
  /**
   * A path relative to the graph file, `test:PATTERN`, or `source:ALIAS` of the service; null for a graph that names its
   * source itself.
   */
  readonly clip: Named | null;
  readonly params: readonly LocatedEntry[];
  /** A path relative to the graph file, and its format as `--telemetry-format` takes it. */
  readonly telemetry: Named | null;
  readonly telemetryFormat: Named | null;
  /** Only the first frames of the clip. */
  readonly frames: number | null;
  /** Bodies of `POST /alert`. */
  readonly alerts: readonly LocatedMap[];
  readonly expect: readonly Expectation[];
  /** Path of a golden file, relative to the graph file. */
  readonly golden: Named | null;
}

export interface GraphDocument<S extends WrittenStep = Step> {
  readonly file: string | null;
  readonly graph: string;
  /** Position of its name, or of the document. */
  readonly graphAt: Position;
  readonly about: string;
  readonly extends: Named | null;
  readonly params: readonly Param[];
  /** Position of `params`, or of the document. */
  readonly paramsAt: Position;
  readonly slotsAt: Position;
  readonly parts: readonly PartDefinition[];
  readonly chains: readonly Chain<S>[];
  readonly slots: readonly Slot<S>[];
  readonly edits: Edits<S>;
  /** Not inherited. */
  readonly tests: readonly GraphTest[];
  /** Some of it could not be read; missing names may be there. */
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
    faults.add("duplicate_name", step.name.at, describeRepeat(step.name, first.name?.at ?? first.at), {
      expected: `a name of its own for each ${step.name.at.usedAt !== undefined ? "use of the part: `use: { part: …, name: … }`" : "node"}`,
    });
  }
  const lastSuffix = new Map<string, number>();
  const nameStep = (step: Step): Step => {
    if (step.kind !== "element" || (step.name !== null && !repeated.has(step))) return step;
    const { stem } = step;
    let suffix = lastSuffix.get(stem) ?? 0;
    let name: string;
    do {
      suffix++;
      name = suffix === 1 ? stem : `${stem}-${suffix}`;
    } while (taken.has(name));
    lastSuffix.set(stem, suffix);
    taken.set(name, step);
    return { ...step, name: { value: name, at: step.at } };
  };
  return chains.map((chain) => ({ ...chain, steps: chain.steps.map(nameStep) }));
}

function describeRepeat({ value, at }: Named, { file, line, usedAt }: Position): string {
  const isSamePlace = file === at.file && line === at.line && usedAt !== undefined;
  const first = isSamePlace ? usedAt : { file, line };
  const where = first.file === at.file ? `line ${first.line}` : `${first.file}:${first.line}`;
  return `two nodes are named "${value}"; the first is ${isSamePlace ? "of the use " : ""}on ${where}`;
}
