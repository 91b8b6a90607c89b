/** Which pad of one element goes to which pad of the next. */
import type { PadInfo } from "../../schemas/registry.ts";
import { type Caps, canAgree, intersectCaps, parseCaps } from "./caps.ts";
import { describeDifference } from "./caps-words.ts";
import {
  isNumbered,
  isTemplate,
  listPads,
  matchesTemplate,
  numberPad,
  splitPadProperty,
  suggestPad,
} from "./pad-names.ts";
import type { Part } from "./resolved.ts";

export interface PadChoice {
  readonly fromPad: string | null;
  readonly toPad: string | null;
  /** What can flow over the link. */
  readonly caps: Caps;
}

export interface PadRefusal {
  readonly message: string;
  readonly expected: string;
  readonly suggestion?: string | undefined;
  /** The author named a pad on this side that cannot be had. */
  readonly side?: "from" | "to";
}

/** Which pads are linked. Links are made one after the other. */
export interface PadUse {
  /** By part; those that are known by name. */
  readonly taken: Map<Part, Set<string>>;
  /** Pads that a link names: not for those that name none. */
  readonly named: ReadonlyMap<Part, ReadonlySet<string>>;
}

export interface PadRequest {
  readonly from: Part;
  readonly fromPad: string | null;
  /** What `from` gives, where more is known than its pads say. */
  readonly flow: Caps;
  readonly to: Part;
  readonly toPad: string | null;
  /** Both are parts of one step. */
  readonly inside?: boolean;
}

export function choosePads(request: PadRequest, use: PadUse): PadChoice | PadRefusal {
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
  const gives = unite(sources.map((pad) => givenBy(from, pad, flow)));
  const takes = unite(sinks.map((pad) => capsOf(to, pad)));
  const difference = describeDifference(gives, takes);
  const call = request.inside === true ? (part: Part) => part.factory : calledBy;
  return {
    message: `"${call(from)}" gives ${difference.gives}, but "${call(to)}" takes ${difference.takes}`,
    expected: difference.advice,
  };
}

/** As the author knows it: without the prefix of an attached slot, and without the part of a composite. */
const calledBy = (part: Part): string => part.name.split("/").at(-1)?.split(".", 1)[0] ?? "";

/** What stands in for a source while a graph is checked has pads that say nothing of the source. */
const givenBy = (part: Part, pad: PadInfo, flow: Caps): Caps =>
  flow === "encoded" ? flow : intersectCaps(flow, capsOf(part, pad));

function unite(all: readonly Caps[]): Caps {
  if (all.includes("any")) return "any";
  return all.includes("encoded") ? "encoded" : all.flatMap((caps) => (typeof caps === "string" ? [] : caps));
}

export function capsOf(part: Part, pad: PadInfo): Caps {
  const filter = part.factory === "capsfilter" ? part.properties.caps : undefined;
  // A dollar sign is left in caps only while checking, where a parameter has no value yet.
  if (typeof filter === "string" && filter.includes("$")) return "any";
  return parseCaps(typeof filter === "string" ? filter : pad.caps) ?? "any";
}

function candidates(
  part: Part,
  direction: "src" | "sink",
  wanted: string | null,
  use: PadUse,
): readonly PadInfo[] | PadRefusal {
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
  if (named.length === 0 && wanted !== null) return refuseName(part, direction, wanted);
  const taken = use.taken.get(part);
  const free = named.filter((pad) =>
    isNumbered(pad) ? wanted === null || !taken?.has(wanted) : !taken?.has(pad.name),
  );
  if (free.length > 0) return free;
  const which = wanted === null || named.every((pad) => pad.presence === "always") ? "" : ` "${wanted}"`;
  return direction === "src"
    ? {
        message: `the output${which} of "${calledBy(part)}" already goes elsewhere`,
        expected: "a `tee` after it, to send frames two ways",
      }
    : {
        message: `the input${which} of "${calledBy(part)}" is already taken`,
        expected:
          which === "" ? "an element that takes several inputs, such as `funnel`" : "another pad, or none named",
      };
}

function refuseName(part: Part, direction: "src" | "sink", wanted: string): PadRefusal {
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

/** The name for the plan: as the author wrote it, the template of a request pad, or one of several; null: any that fits. */
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

/** Only where other pads of the element have names already, in links or properties: elsewhere GStreamer may number them. */
function chooseNumber(part: Part, pad: PadInfo, taken: ReadonlySet<string>, use: PadUse): string | null {
  const named = use.named.get(part);
  const isNamed = named !== undefined || Object.keys(part.properties).some((key) => splitPadProperty(key) !== null);
  return isNamed ? numberPad(pad, (name) => taken.has(name) || named?.has(name) === true) : null;
}
