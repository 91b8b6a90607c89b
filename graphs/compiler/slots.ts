/** Slots → segments that can be attached to the running graph, any number of times. */
import type { JsonRecord } from "../../schemas/json.ts";
import { suggest } from "../../schemas/suggest.ts";
import { assembleSegment, deepFreeze } from "./assemble.ts";
import type { Caps } from "./caps.ts";
import type { JoinStep, Slot, UnreadableStep } from "./document.ts";
import type { FaultList } from "./fault-list.ts";
import type { Available } from "./metadata.ts";
import { type ParamValues, resolveParams } from "./params.ts";
import type { PlanSegment } from "./plan.ts";
import { prepare } from "./prepare.ts";
import type { Resolution, ResolvedStep } from "./resolved.ts";
import { isTee, type Segment } from "./segments.ts";
import { wire } from "./wire.ts";

/** The compiled graph, as far as its slots need it. */
export interface SlotGround {
  readonly params: ParamValues;
  readonly resolution: Omit<Resolution, "prefix" | "faults">;
  readonly nodes: ReadonlyMap<string, ResolvedStep>;
  readonly leftOut: ReadonlySet<string>;
  readonly segments: readonly Segment[];
  readonly flows: ReadonlyMap<ResolvedStep, Caps>;
  readonly metadata: ReadonlyMap<ResolvedStep, Available>;
  readonly damaged: boolean;
}

export interface SlotRequest {
  readonly slot: Slot;
  readonly instance: string;
  readonly given: JsonRecord;
  /** Parameters that are not given are no fault, and what depends on them is not checked. */
  readonly checking: boolean;
}

/** Null when it cannot be attached; the faults say why. */
export function compileSlot(
  { slot, instance, given, checking }: SlotRequest,
  ground: SlotGround,
  faults: FaultList,
): PlanSegment | null {
  const before = faults.size;
  const { name, at } = slot.chain;
  const own = resolveParams({ declared: slot.params, at, given, owner: `slot "${name}"`, checking }, faults);
  const params = overlayParams(ground.params, own);
  const steps = slot.chain.steps.map((step) => (step.kind === "to" ? refuseReturn(step, name, faults) : step));
  const prepared = prepare([{ ...slot.chain, steps, when: null }], params, faults);
  const tee = findTee(slot, ground, faults);
  const outside = new Map(tee === null ? [] : [[firstNode(slot), tee] as const]);
  const wired = wire({
    prepared,
    resolution: { ...ground.resolution, prefix: `${name}:${instance}/`, faults },
    outside,
    outsideLeftOut: ground.leftOut,
    outsideFlows: new Map([...ground.flows].filter(([step]) => step === tee)),
    outsideMetadata: new Map([...ground.metadata].filter(([step]) => step === tee)),
    slotTees: new Set(),
    // A slot without its tee is reported as that; nothing is to follow from it.
    damaged: ground.damaged || tee === null,
    faults,
  });
  if (wired === null || tee === null || faults.size > before) return null;
  return deepFreeze(assembleSegment({ name: `${name}:${instance}`, tee, chains: wired.chains, linked: wired.linked }));
}

/** Main cannot be changed by what is attached to it. */
function refuseReturn(step: JoinStep, slot: string, faults: FaultList): UnreadableStep {
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

export function firstNode(slot: Slot): string {
  const first = slot.chain.steps[0];
  return first?.kind === "from" ? first.node : "";
}

function findTee(slot: Slot, ground: SlotGround, faults: FaultList): ResolvedStep | null {
  const { name, steps } = slot.chain;
  const [first] = steps;
  if (first?.kind !== "from") {
    if (first !== undefined && first.kind !== "unreadable") {
      faults.add("chain_from_nowhere", first.at, `slot "${name}" does not hang on anything`, {
        expected: "`from: TEE` as its first step, a tee of the main chain",
      });
    }
    return null;
  }
  const found = ground.nodes.get(first.node);
  if (found === undefined) return reportMissing(first, ground, faults);
  if (first.pad !== null) {
    faults.add("not_linkable", first.at, `slot "${name}" hangs on the pad "${first.pad}"`, {
      expected: `\`from: ${first.node}\`: each attachment gets a pad of its own`,
    });
  }
  if (found.broken) return null;
  const main = ground.segments[0]?.chains ?? [];
  if (isTee(found) && main.some((chain) => chain.steps.includes(found))) return found;
  const why = isTee(found) ? "a tee of a branch" : "no tee";
  faults.add("not_linkable", first.at, `slot "${name}" hangs on "${first.node}", which is ${why}`, {
    expected: "the name of a `tee` in the main chain",
  });
  return null;
}

function reportMissing(join: JoinStep, ground: SlotGround, faults: FaultList): null {
  const tees = [...ground.nodes].filter(([, step]) => isTee(step)).map(([name]) => name);
  if (ground.leftOut.has(join.node)) {
    faults.add("unknown_node", join.at, `\`from:\` names "${join.node}", which its \`when:\` keeps out`, {
      expected: "the same `when:` for this slot",
    });
  } else if (!ground.damaged) {
    faults.add("unknown_node", join.at, `\`from:\` names "${join.node}", but no node has that name`, {
      expected: tees.join(", ") || "the name of a tee in the main chain",
      suggestion: suggest(join.node, tees),
    });
  }
  return null;
}
