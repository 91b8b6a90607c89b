/** A graph's text → a frozen plan, or everything that is wrong with it. Pure, and never throws for a bad graph. */
import type { Elements, SourceBinding } from "../../elements/element.ts";
import type { JsonRecord } from "../../schemas/json.ts";
import type { Registry } from "../../schemas/registry.ts";
import { suggest } from "../../schemas/suggest.ts";
import { assembleSegment, deepFreeze } from "./assemble.ts";
import { bindSource } from "./binding.ts";
import type { GraphDocument, Slot } from "./document.ts";
import { type GraphText, type LoadGraph, readGraph } from "./extend.ts";
import type { Fault } from "./fault.ts";
import { FaultList } from "./fault-list.ts";
import { readLaunch } from "./launch.ts";
import { findLiveParams, listParamUses, type ParamUse } from "./live-params.ts";
import { paramsSchema, resolveParams } from "./params.ts";
import type { GraphPlan, PlanSegment } from "./plan.ts";
import { prepare } from "./prepare.ts";
import { partition } from "./segments.ts";
import { compileSlot, firstNode, type SlotGround } from "./slots.ts";
import { isKept } from "./when.ts";
import { wire } from "./wire.ts";

export interface CompileInput {
  readonly elements: Elements;
  readonly registry: Registry;
  /** Finds the graph that `extends` names. */
  readonly load?: LoadGraph;
  readonly params?: JsonRecord;
  readonly source?: SourceBinding | null;
  /**
   * `check`: a parameter that is not given is no fault, values that depend on it are not checked, and a source that is
   * not bound counts as bound to `test:smpte`, but gives encoded video. Default `run`.
   */
  readonly mode?: "check" | "run";
  /** The sources have turned out to be live, whatever they look like. */
  readonly isLive?: boolean;
  /** Slots for which it is false are as if they were not there. */
  readonly keepSlot?: (slot: Slot) => boolean;
}

export interface CompiledSlot {
  readonly segment: PlanSegment | null;
  readonly faults: readonly Fault[];
}

export interface Compiled {
  /** Null when there are faults. */
  readonly plan: GraphPlan | null;
  /** In text order, each once. */
  readonly faults: readonly Fault[];
  /** JSON Schema of the graph's parameters, for `coerceParams`, forms and clients. */
  readonly paramSchema: JsonRecord;
  /** Properties that take values of the graph's parameters. */
  readonly paramUses: readonly ParamUse[];
  /** The same, once its sources have turned out to be live. */
  asLive(): Compiled;
  /** The segment for one attachment of a slot. Always checked as for running. */
  slot(name: string, instance: string, params: JsonRecord): CompiledSlot;
}

export function compile(text: GraphText, input: CompileInput): Compiled {
  const faults = new FaultList(text.file);
  const document = readGraph(text, input.load ?? (() => undefined), faults);
  return document === null ? refuse(faults) : compileDocument(document, input, faults);
}

/** `source uri=clip.mp4 ! decode ! print`: positions are columns of the line. */
export function compileLaunch(line: string, input: CompileInput): Compiled {
  const faults = new FaultList(null);
  const document = readLaunch(line, faults);
  return document === null ? refuse(faults) : compileDocument(document, input, faults);
}

function refuse(faults: FaultList): Compiled {
  const found = faults.sorted();
  const slot = () => ({ segment: null, faults: found });
  const refused: Compiled = {
    ...{ plan: null, faults: found, paramSchema: paramsSchema([]), paramUses: [] },
    ...{ slot, asLive: () => refused },
  };
  return refused;
}

function compileDocument(document: GraphDocument, input: CompileInput, faults: FaultList): Compiled {
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
    outside: new Map(),
    outsideLeftOut: new Set(),
    outsideFlows: new Map(),
    outsideMetadata: new Map(),
    slotTees: new Set(slots.map(firstNode)),
    damaged: document.damaged,
    faults,
  });
  if (wired === null) return refuse(faults);
  const segments = partition(wired.chains);
  const ground: SlotGround = {
    params,
    resolution,
    nodes: wired.nodes,
    leftOut: prepared.leftOut,
    segments,
    flows: wired.linked.flows,
    metadata: wired.metadata,
    damaged: document.damaged,
  };
  for (const slot of slots) compileSlot({ slot, instance: "check", given: {}, checking: true }, ground, faults);
  if (prepared.chains.length === 0 && faults.size === 0) {
    faults.add("document_shape", document.paramsAt, "no chain is left to run", {
      expected: "at least one chain that `when:` keeps",
    });
  }
  const found = faults.sorted();
  const paramSchema = deepFreeze(paramsSchema(document.params));
  if (found.length > 0) return { ...refuse(faults), paramSchema };

  const [main, ...branches] = segments.map((segment) => assembleSegment({ ...segment, linked: wired.linked }));
  const steps = wired.chains.flatMap((chain) => chain.steps);
  const parts = steps.flatMap((step) => step.parts);
  const typescript = parts.filter((part) => part.kind === "typescript").map((part) => part.factory);
  const paramUses = listParamUses(document, params, input);
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
    main: main as PlanSegment,
    branches,
    slots: Object.fromEntries(slots.map((slot) => [slot.chain.name, paramsSchema(slot.params)])),
    slotTees: Object.fromEntries(slots.map((slot) => [slot.chain.name, firstNode(slot)])),
    prefer: [...new Set(steps.flatMap((step) => step.prefer))],
    offers: [...new Set([...typescript, ...slots.map((slot) => slot.chain.name)])].sort(),
  };
  return {
    plan: deepFreeze(plan),
    faults: found,
    paramSchema,
    paramUses,
    asLive: () => compileDocument(document, { ...input, isLive: true }, new FaultList(document.file)),
    slot: (name, instance, slotParams) => attach({ name, instance, params: slotParams }, document, slots, ground),
  };
}

interface Attachment {
  readonly name: string;
  readonly instance: string;
  readonly params: JsonRecord;
}

/** Names of instances become names of GStreamer elements. */
const INSTANCE = /^[A-Za-z0-9][A-Za-z0-9_-]{0,63}$/;

function attach(wanted: Attachment, document: GraphDocument, slots: readonly Slot[], ground: SlotGround): CompiledSlot {
  const { name, instance, params } = wanted;
  const faults = new FaultList(document.file);
  const slot = slots.find((candidate) => candidate.chain.name === name);
  if (slot === undefined) {
    const names = slots.map((candidate) => candidate.chain.name);
    faults.add("unknown_node", document.slotsAt, `graph "${document.graph}" has no slot "${name}"`, {
      expected: names.join(", ") || "no slot",
      suggestion: suggest(name, names),
    });
    return { segment: null, faults: faults.sorted() };
  }
  if (!INSTANCE.test(instance)) {
    faults.add(
      "bad_param",
      slot.chain.at,
      `an attached slot cannot be named ${JSON.stringify(instance.slice(0, 64))}`,
      {
        expected: "up to 64 letters, digits, - or _",
      },
    );
    return { segment: null, faults: faults.sorted() };
  }
  const segment = compileSlot({ slot, instance, given: params, checking: false }, ground, faults);
  return { segment, faults: faults.sorted() };
}
