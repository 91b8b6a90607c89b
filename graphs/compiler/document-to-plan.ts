/** Document → frozen plan, and slots → segments that can be attached to the running graph any number of times. */
import type { Elements, SourceBinding } from "../../elements/element.ts";
import type { JsonRecord } from "../../schemas/json.ts";
import type { Registry } from "../../schemas/registry.ts";
import { suggest } from "../../schemas/suggest.ts";
import { isKept, type Prepared, prepare } from "./apply-params.ts";
import { bindSource } from "./bind-source.ts";
import { assembleSegment, isTee, partition, type Segment, type Wired, wire } from "./chains-to-segments.ts";
import type { GraphDocument, GraphTest, JoinStep, Slot, UnreadableStep } from "./document.ts";
import { type Fault, FaultList } from "./fault.ts";
import { findLiveParams, listParamUses, type ParamUse } from "./live-params.ts";
import { type ParamValues, paramsSchema, resolveParams } from "./params.ts";
import type { GraphPlan, PlanSegment } from "./plan.ts";
import type { Resolution, ResolvedStep } from "./resolve-steps.ts";

export interface PlanInput {
  readonly elements: Elements;
  readonly registry: Registry;
  readonly params?: JsonRecord;
  readonly source?: SourceBinding | null;
  /**
   * `check`: missing parameters are allowed and values that depend on them are not checked; a missing source is replaced
   * by `test:smpte`, treated as encoded video. Default `run`.
   */
  readonly mode?: "check" | "run";
  /** The sources turned out to be live at run time. */
  readonly isLive?: boolean;
  /** Slots for which it returns false are left out. */
  readonly keepSlot?: (slot: Slot) => boolean;
  /** Slots are checked when they are attached, not before: the graph was compiled elsewhere. */
  readonly areSlotsChecked?: boolean;
}

export interface Compiled {
  /** Null when there are faults. */
  readonly plan: GraphPlan | null;
  /** In text order, without duplicates. */
  readonly faults: readonly Fault[];
  /** JSON Schema of the graph's parameters, for `coerceParams`, forms and clients. */
  readonly paramSchema: JsonRecord;
  /** The tests that the graph file has; empty when there are faults. */
  readonly tests: readonly GraphTest[];
  /** Properties that take values of the graph's parameters. */
  readonly paramUses: readonly ParamUse[];
  /** The same graph, compiled for live sources. */
  asLive(): Compiled;
  /** The segment for one attachment of a slot, always checked as in mode `run`. */
  slot(name: string, instance: string, params: JsonRecord): CompiledSlot;
}

interface CompiledSlot {
  readonly segment: PlanSegment | null;
  readonly faults: readonly Fault[];
}

/** The result for a graph that has no plan. */
export function rejectGraph(faults: FaultList, paramSchema: JsonRecord = paramsSchema([])): Compiled {
  const found = faults.sorted();
  const rejected: Compiled = {
    ...{ plan: null, faults: found, paramSchema, paramUses: [], tests: [] },
    slot: () => ({ segment: null, faults: found }),
    asLive: () => rejected,
  };
  return rejected;
}

export function planDocument(document: GraphDocument, input: PlanInput, faults: FaultList): Compiled {
  const checking = input.mode === "check";
  const { elements, registry } = input;
  const owner = `graph "${document.graph}"`;
  const given = input.params ?? {};
  const params = resolveParams({ declared: document.params, at: document.paramsAt, given, owner, checking }, faults);
  const prepared = prepare(document.chains, params, faults);
  const binding = bindSource(prepared.chains, { ...input, source: input.source ?? null, checking }, faults);
  const slots = document.slots
    .filter(input.keepSlot ?? (() => true))
    .filter((slot) => isKept(slot.chain.when, params, faults));
  const context = { registry, source: binding.bound, live: binding.live };
  const resolution = { elements, registry, context, encoded: binding.encoded };
  const wired = wire({
    prepared,
    resolution: { ...resolution, prefix: "", faults },
    slotTees: new Set(slots.map(teeOf)),
    damaged: document.damaged,
    faults,
  });
  if (wired === null) return rejectGraph(faults);
  const segments = partition(wired.chains);
  const main: SlotContext = { params, resolution, prepared, wired, segments, damaged: document.damaged };
  if (input.areSlotsChecked !== true)
    for (const slot of slots) compileSlot({ slot, instance: "check", given: {}, checking: true }, main, faults);
  if (prepared.chains.length === 0 && faults.size === 0) {
    faults.add("document_shape", document.paramsAt, "no chain is left to run", {
      expected: "at least one chain that `when:` keeps",
    });
  }
  const paramSchema = deepFreeze(paramsSchema(document.params));
  if (faults.size > 0) return rejectGraph(faults, paramSchema);

  const [first, ...branches] = segments.map((segment) => assembleSegment(segment, wired));
  const steps = wired.chains.flatMap((chain) => chain.steps);
  const parts = steps.flatMap((step) => step.parts);
  const typescript = parts.filter((part) => part.kind === "typescript").map((part) => part.factory);
  const paramUses = listParamUses(document, input);
  const liveParams = findLiveParams(document, paramUses);
  const plan: GraphPlan = {
    graph: document.graph,
    about: document.about,
    file: document.file,
    params: params.values,
    liveParams: liveParams.live,
    fixedParams: liveParams.fixed,
    live: binding.live,
    source: binding.source,
    main: first as PlanSegment,
    branches,
    slots: Object.fromEntries(slots.map((slot) => [slot.chain.name, paramsSchema(slot.params)])),
    slotTees: Object.fromEntries(slots.map((slot) => [slot.chain.name, teeOf(slot)])),
    prefer: [...new Set(steps.flatMap((step) => step.prefer))],
    offers: [...new Set([...typescript, ...slots.map((slot) => slot.chain.name)])].sort(),
  };
  return {
    ...{ plan: deepFreeze(plan), faults: [], paramSchema, paramUses, tests: document.tests },
    asLive: () => planDocument(document, { ...input, isLive: true }, new FaultList(document.file)),
    slot: (name, instance, slotParams) => {
      const slotFaults = new FaultList(document.file);
      const slot = findSlot(name, instance, slots, document, slotFaults);
      const segment = slot && compileSlot({ slot, instance, given: slotParams, checking: false }, main, slotFaults);
      return { segment, faults: slotFaults.sorted() };
    },
  };
}

/** Instance names become parts of GStreamer element names. */
const INSTANCE = /^[A-Za-z0-9][A-Za-z0-9_-]{0,63}$/;

function findSlot(
  name: string,
  instance: string,
  slots: readonly Slot[],
  { graph, slotsAt }: GraphDocument,
  faults: FaultList,
): Slot | null {
  const slot = slots.find((candidate) => candidate.chain.name === name);
  if (slot === undefined) {
    const names = slots.map((candidate) => candidate.chain.name);
    faults.add("unknown_node", slotsAt, `graph "${graph}" has no slot "${name}"`, {
      expected: names.join(", ") || "no slot",
      suggestion: suggest(name, names),
    });
    return null;
  }
  if (INSTANCE.test(instance)) return slot;
  const shown = JSON.stringify(instance.slice(0, 64));
  faults.add("bad_param", slot.chain.at, `an attached slot cannot be named ${shown}`, {
    expected: "up to 64 letters, digits, - or _",
  });
  return null;
}

/** The wired graph that a slot is attached to. */
interface SlotContext {
  readonly params: ParamValues;
  readonly resolution: Omit<Resolution, "prefix" | "faults">;
  readonly prepared: Prepared;
  readonly wired: Wired;
  readonly segments: readonly Segment[];
  readonly damaged: boolean;
}

interface SlotRequest {
  readonly slot: Slot;
  readonly instance: string;
  readonly given: JsonRecord;
  /** Missing parameters are allowed; what depends on them is not checked. */
  readonly checking: boolean;
}

/** Null when it cannot be attached; the faults say why. */
function compileSlot(
  { slot, instance, given, checking }: SlotRequest,
  main: SlotContext,
  faults: FaultList,
): PlanSegment | null {
  const before = faults.size;
  const { name, at } = slot.chain;
  const own = resolveParams({ declared: slot.params, at, given, owner: `slot "${name}"`, checking }, faults);
  const steps = slot.chain.steps.map((step) => (step.kind === "to" ? rejectReturn(step, name, faults) : step));
  const prepared = prepare([{ ...slot.chain, steps, when: null }], overlayParams(main.params, own), faults);
  const tee = findTee(slot, main, faults);
  const wired = wire({
    prepared,
    resolution: { ...main.resolution, prefix: `${name}:${instance}/`, faults },
    slotTees: new Set(),
    // A slot without its tee has that one fault, and no others that follow from it.
    damaged: main.damaged || tee === null,
    faults,
    outside: { name: teeOf(slot), tee, leftOut: main.prepared.leftOut, wired: main.wired },
  });
  if (wired === null || tee === null || faults.size > before) return null;
  return deepFreeze(assembleSegment({ name: `${name}:${instance}`, tee, chains: wired.chains }, wired));
}

/** A slot cannot lead back into the graph: attaching it must not change main. */
function rejectReturn(step: JoinStep, slot: string, faults: FaultList): UnreadableStep {
  faults.add("document_shape", step.at, `slot "${slot}" leads back with \`to:\``, {
    expected: "a slot that ends in a sink of its own",
  });
  return { kind: "unreadable", at: step.at };
}

const overlayParams = (outer: ParamValues, inner: ParamValues): ParamValues => ({
  values: {
    ...Object.fromEntries(Object.entries(outer.values).filter(([name]) => !inner.unknown.has(name))),
    ...inner.values,
  },
  unknown: new Set([...[...outer.unknown].filter((name) => !Object.hasOwn(inner.values, name)), ...inner.unknown]),
});

/** The tee that the slot's `from:` names, or "". */
function teeOf(slot: Slot): string {
  const first = slot.chain.steps[0];
  return first?.kind === "from" ? first.node : "";
}

function findTee(slot: Slot, { wired, segments, ...main }: SlotContext, faults: FaultList): ResolvedStep | null {
  const { name, steps } = slot.chain;
  const [first] = steps;
  if (first?.kind !== "from") {
    if (first !== undefined && first.kind !== "unreadable") {
      faults.add("chain_from_nowhere", first.at, `slot "${name}" has no \`from:\``, {
        expected: "`from: TEE` as its first step, a tee of the main chain",
      });
    }
    return null;
  }
  const found = wired.nodes.get(first.node);
  if (found === undefined) {
    const tees = [...wired.nodes].filter(([, step]) => isTee(step)).map(([node]) => node);
    if (main.prepared.leftOut.has(first.node)) {
      faults.add("unknown_node", first.at, `\`from:\` names "${first.node}", which its \`when:\` leaves out`, {
        expected: "the same `when:` for this slot",
      });
    } else if (!main.damaged) {
      faults.add("unknown_node", first.at, `\`from:\` names "${first.node}", but no node has that name`, {
        expected: tees.join(", ") || "the name of a tee in the main chain",
        suggestion: suggest(first.node, tees),
      });
    }
    return null;
  }
  if (first.pad !== null) {
    faults.add("not_linkable", first.at, `slot "${name}" names the pad "${first.pad}" of its tee`, {
      expected: `\`from: ${first.node}\`: each attachment gets a pad of its own`,
    });
  }
  if (found.broken) return null;
  const isInMain = segments[0]?.chains.some((chain) => chain.steps.includes(found)) ?? false;
  if (isTee(found) && isInMain) return found;
  const why = isTee(found) ? "a tee of a branch" : "not a tee";
  faults.add("not_linkable", first.at, `slot "${name}" is attached to "${first.node}", which is ${why}`, {
    expected: "the name of a `tee` in the main chain",
  });
  return null;
}

function deepFreeze<T>(value: T): T {
  if (typeof value !== "object" || value === null || Object.isFrozen(value)) return value;
  for (const inner of Object.values(value)) deepFreeze(inner);
  return Object.freeze(value);
}
