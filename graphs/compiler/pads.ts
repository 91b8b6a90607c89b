/** Chooses the source and sink pad of each link, and checks properties of pads (`sink_1::xpos`). */

import type { PadInfo } from "../../schemas/registry.ts";
import { type Caps, canAgree, describeMismatch, intersectCaps, parseCaps } from "./caps.ts";
import type { FaultList } from "./fault.ts";
import {
  isNumbered,
  isTemplate,
  listPads,
  matchesTemplate,
  numberPad,
  splitPadProperty,
  suggestPad,
} from "./pad-names.ts";
import type { Part, ResolvedStep } from "./resolve-steps.ts";

interface PadChoice {
  readonly fromPad: string | null;
  readonly toPad: string | null;
  /** The caps of the link. */
  readonly caps: Caps;
}

interface PadMismatch {
  readonly message: string;
  readonly expected: string;
  readonly suggestion?: string | undefined;
  /** The side on which the author named an unavailable pad. */
  readonly side?: "from" | "to";
}

/** The pads in use; links are chosen one after the other. */
export interface PadUse {
  /** Linked pads with a known name, by part. */
  readonly taken: Map<Part, Set<string>>;
  /** Pads that links name: reserved for those links. */
  readonly named: ReadonlyMap<Part, ReadonlySet<string>>;
}

interface PadRequest {
  readonly from: Part;
  readonly fromPad: string | null;
  /** Output caps of `from`, which may be narrower than its pad templates. */
  readonly flow: Caps;
  readonly to: Part;
  readonly toPad: string | null;
  /** Both are parts of one step. */
  readonly inside?: boolean;
}

export function choosePads(request: PadRequest, use: PadUse): PadChoice | PadMismatch {
  const { from, to, flow } = request;
  const sources = candidates(from, "src", request.fromPad, use);
  if ("message" in sources) return sources;
  const sinks = candidates(to, "sink", request.toPad, use);
  if ("message" in sinks) return sinks;
  for (const source of sources) {
    const given = givenBy(from, source, flow);
    for (const sink of sinks) {
      if (!canAgree(given, capsOf(to, sink))) continue;
      const caps = intersectCaps(given, capsOf(to, sink));
      return { fromPad: take(from, source, request.fromPad, use), toPad: take(to, sink, request.toPad, use), caps };
    }
  }
  const mismatch = describeMismatch(
    unite(sources.map((pad) => givenBy(from, pad, flow))),
    unite(sinks.map((pad) => capsOf(to, pad))),
  );
  const call = request.inside === true ? (part: Part) => part.factory : calledBy;
  return {
    message: `"${call(from)}" outputs ${mismatch.output}, but "${call(to)}" accepts ${mismatch.input}`,
    expected: mismatch.advice,
  };
}

/** The author's name: without the prefix of an attached slot and the suffix of a composite's element. */
const calledBy = (part: Part): string => part.name.split("/").at(-1)?.split(".", 1)[0] ?? "";

/** `encoded` wins over the pads, which may be those of the test source that a check uses. */
const givenBy = (part: Part, pad: PadInfo, flow: Caps): Caps =>
  flow === "encoded" ? flow : intersectCaps(flow, capsOf(part, pad));

function unite(all: readonly Caps[]): Caps {
  if (all.includes("any")) return "any";
  return all.includes("encoded") ? "encoded" : all.flatMap((caps) => (typeof caps === "string" ? [] : caps));
}

export function capsOf(part: Part, pad: PadInfo): Caps {
  const filter = part.factory === "capsfilter" ? part.properties.caps : undefined;
  // In mode `check` a parameter without a value leaves its `$name` in the caps.
  if (typeof filter === "string" && filter.includes("$")) return "any";
  return parseCaps(typeof filter === "string" ? filter : pad.caps) ?? "any";
}

function candidates(
  part: Part,
  direction: "src" | "sink",
  wanted: string | null,
  use: PadUse,
): readonly PadInfo[] | PadMismatch {
  const all = part.pads.filter((pad) => pad.direction === direction);
  if (all.length === 0) {
    return direction === "src"
      ? {
          message: `"${calledBy(part)}" is a sink: nothing can come after it`,
          expected: "it as the last step of its chain",
        }
      : {
          message: `"${calledBy(part)}" takes no input: nothing can come before it`,
          expected: "it as the first step of its chain",
        };
  }
  const named = wanted === null ? all : all.filter((pad) => matchesTemplate(pad, wanted));
  if (named.length === 0 && wanted !== null) return rejectName(part, direction, wanted);
  const taken = use.taken.get(part);
  const free = named.filter((pad) =>
    isNumbered(pad) ? wanted === null || !taken?.has(wanted) : !taken?.has(pad.name),
  );
  if (free.length > 0) return free;
  const which = wanted === null || named.every((pad) => pad.presence === "always") ? "" : ` "${wanted}"`;
  return direction === "src"
    ? {
        message: `the output${which} of "${calledBy(part)}" is already linked`,
        expected: "a `tee` after it, to send frames to several elements",
      }
    : {
        message: `the input${which} of "${calledBy(part)}" is already linked`,
        expected:
          which === "" ? "an element that takes several inputs, such as `funnel`" : "another pad, or none named",
      };
}

function rejectName(part: Part, direction: "src" | "sink", wanted: string): PadMismatch {
  const all = part.pads.filter((pad) => pad.direction === direction);
  const isOther = part.pads.some((pad) => pad.direction !== direction && matchesTemplate(pad, wanted));
  const [side, other] = direction === "src" ? ["output", "input"] : ["input", "output"];
  return {
    message: `"${calledBy(part)}" has no ${side} pad "${wanted}"${isOther ? `, only an ${other} pad of that name` : ""}`,
    expected: listPads(all),
    suggestion: suggestPad(wanted, all),
    side: direction === "src" ? "from" : "to",
  };
}

/** Marks the pad as used; returns its name for the plan: a pad, a request template, or null for any that fits. */
function take(part: Part, pad: PadInfo, wanted: string | null, use: PadUse): string | null {
  const taken = use.taken.get(part) ?? new Set();
  use.taken.set(part, taken);
  const exact = wanted === null || isTemplate(wanted) ? null : wanted;
  const name = exact ?? (pad.presence === "request" ? chooseNumber(part, pad, taken, use) : null);
  if (name !== null || !isNumbered(pad)) taken.add(name ?? pad.name);
  if (name !== null || wanted !== null) return name ?? wanted;
  if (pad.presence === "request") return pad.name;
  const several = part.pads.filter((other) => other.direction === pad.direction).length > 1;
  return several && pad.presence === "always" ? pad.name : null;
}

/** Null leaves the number to GStreamer, unless links or properties name other pads of the element. */
function chooseNumber(part: Part, pad: PadInfo, taken: ReadonlySet<string>, use: PadUse): string | null {
  const named = use.named.get(part);
  const isNamed = named !== undefined || Object.keys(part.properties).some((key) => splitPadProperty(key) !== null);
  return isNamed ? numberPad(pad, (name) => taken.has(name) || named?.has(name) === true) : null;
}

/**
 * Properties of pads that are not linked, by part. Such request pads would never be created: a fault, unless steps are
 * missing.
 */
export function checkPadProperties(
  steps: readonly ResolvedStep[],
  use: PadUse,
  isPartial: boolean,
  faults: FaultList,
): ReadonlyMap<Part, ReadonlySet<string>> {
  const unlinked = new Map<Part, Set<string>>();
  for (const step of steps) {
    for (const part of step.parts) {
      const taken = use.taken.get(part) ?? new Set<string>();
      for (const key of Object.keys(part.properties)) {
        const pad = splitPadProperty(key)?.pad;
        if (pad === undefined || taken.has(pad) || isAlways(part, pad)) continue;
        unlinked.set(part, (unlinked.get(part) ?? new Set()).add(key));
        if (isPartial) continue;
        const linked = [...taken].filter((name) => !isAlways(part, name));
        const orLinked = linked.length === 0 ? "" : `, or a pad that is linked: ${linked.join(", ")}`;
        const found = `${part.factory}.${key} is for a pad that is not linked`;
        faults.add("bad_property", part.origins[key]?.at ?? step.at, found, {
          expected: `a link to ${step.name}.${pad}${orLinked}`,
        });
      }
    }
  }
  return unlinked;
}

const isAlways = (part: Part, name: string): boolean =>
  part.pads.some((pad) => pad.presence === "always" && matchesTemplate(pad, name));
