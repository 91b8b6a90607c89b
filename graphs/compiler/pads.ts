/** Which pad of one element goes to which pad of the next. */
import type { PadInfo } from "../../schemas/registry.ts";
import { type Caps, canAgree, intersectCaps, parseCaps } from "./caps.ts";
import { describeDifference } from "./caps-words.ts";
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
}

/** Pads that are linked already, by part. */
export type TakenPads = Map<Part, Set<string>>;

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

export function choosePads(request: PadRequest, taken: TakenPads): PadChoice | PadRefusal {
  const { from, to, flow } = request;
  const sources = candidates(from, "src", request.fromPad, taken);
  if ("message" in sources) return sources;
  const sinks = candidates(to, "sink", request.toPad, taken);
  if ("message" in sinks) return sinks;
  for (const source of sources) {
    const given = givenBy(from, source, flow);
    for (const sink of sinks) {
      if (!canAgree(given, capsOf(to, sink))) continue;
      const caps = intersectCaps(given, capsOf(to, sink));
      return { fromPad: take(from, source, request.fromPad, taken), toPad: take(to, sink, request.toPad, taken), caps };
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
const calledBy = (part: Part): string => part.name.replace(/^.*\//, "").replace(/\..*$/, "");

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
  taken: TakenPads,
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
  if (named.length === 0) {
    const side = direction === "src" ? "output" : "input";
    return {
      message: `"${calledBy(part)}" has no ${side} pad "${wanted}"`,
      expected: all.map((pad) => pad.name).join(", "),
    };
  }
  const used = taken.get(part);
  const free = named.filter((pad) =>
    pad.presence === "always" ? !used?.has(pad.name) : wanted === null || !used?.has(wanted),
  );
  if (free.length > 0) return free;
  return direction === "src"
    ? {
        message: `the output of "${calledBy(part)}" already goes elsewhere`,
        expected: "a `tee` after it, to send frames two ways",
      }
    : {
        message: `the input of "${calledBy(part)}" is already taken`,
        expected: "an element that takes several inputs, such as `funnel`",
      };
}

/** `src_0` is one of `src_%u`. */
function matchesTemplate(pad: PadInfo, wanted: string): boolean {
  if (pad.name === wanted) return true;
  const pattern = pad.name
    .replace(/[.*+?^${}()|[\]\\]/g, "\\$&")
    .replace(/%[ud]/g, "\\d+")
    .replace(/%s/g, ".+");
  return pad.presence !== "always" && new RegExp(`^${pattern}$`).test(wanted);
}

/** The name for the plan: as the author wrote it, the template of a request pad, or one of several; null: any that fits. */
function take(part: Part, pad: PadInfo, wanted: string | null, taken: TakenPads): string | null {
  const used = taken.get(part) ?? new Set();
  taken.set(part, used.add(pad.presence === "always" ? pad.name : (wanted ?? "")));
  if (wanted !== null) return wanted;
  if (pad.presence === "request") return pad.name;
  const several = part.pads.filter((other) => other.direction === pad.direction).length > 1;
  return several && pad.presence === "always" ? pad.name : null;
}
