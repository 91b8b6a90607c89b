/** Binds `source` steps to the source that the graph is started on, and finds out whether the graph is live. */
import type { AnyElement, SourceBinding } from "../../elements/element.ts";
import type { Registry } from "../../schemas/registry.ts";
import type { PreparedChain, PreparedStep } from "./apply-params.ts";
import type { FaultList } from "./fault.ts";
import type { GraphPlan } from "./plan.ts";

interface Binding {
  /** Of the first `source` step; null when the graph has none. */
  readonly source: GraphPlan["source"];
  readonly live: boolean;
  /** The source of `source` steps without a `uri` of their own. */
  readonly bound: SourceBinding | null;
  /** Names of `source` steps that provide encoded video: all but test patterns. */
  readonly encoded: ReadonlySet<string>;
}

interface BindingRequest {
  readonly elements: ReadonlyMap<string, AnyElement>;
  readonly registry: Pick<Registry, "get">;
  /** The sources turned out to be live at run time. */
  readonly isLive?: boolean;
  readonly source: SourceBinding | null;
  readonly checking: boolean;
}

const STAND_IN: SourceBinding = { uri: "test:smpte" };
const LIVE_URI = /^(rtsps?|rtmps?|srt|udp):\/\//i;

export function bindSource(chains: readonly PreparedChain[], request: BindingRequest, faults: FaultList): Binding {
  const steps = chains.flatMap((chain) => chain.items.filter((item) => item.kind === "element"));
  const sources = request.elements.has("source") ? steps.filter((step) => step.element === "source") : [];
  const isLive = request.isLive === true || steps.some((step) => isLiveStep(step, request));
  if (sources.length === 0) return { source: null, live: isLive, bound: request.source, encoded: new Set() };
  for (const step of sources) {
    if (request.source !== null || request.checking || step.properties.some((property) => property.name === "uri"))
      continue;
    faults.add("missing_source", step.at, "the graph has no source", {
      expected: "a file, an rtsp, rtmp, srt or udp URL or test:PATTERN to start it on, or `source: { uri: … }`",
    });
  }
  // Always bound, so that a missing source is reported once and has no follow-up faults.
  const bound = request.source ?? STAND_IN;
  const all = sources.map((step) => effectiveSource(step, bound));
  const encoded = sources.filter((step) => !/^test:/i.test(textOf(step, "uri") ?? request.source?.uri ?? ""));
  return {
    source: all[0] ?? null,
    live: isLive || all.some((source) => source.pace === "realtime"),
    bound,
    encoded: new Set(encoded.map((step) => step.name)),
  };
}

/** The step's own properties win over the binding. */
function effectiveSource(step: PreparedStep, bound: SourceBinding): NonNullable<GraphPlan["source"]> {
  const uri = textOf(step, "uri") ?? bound.uri;
  const pace = textOf(step, "pace") ?? bound.pace;
  const started = textOf(step, "uri") === undefined ? bound : null;
  const loop = (textOf(step, "loop") ?? String(started?.loop === true)) === "true";
  const isLive = LIVE_URI.test(uri) || loop;
  return {
    uri,
    pace: isLive || pace === "realtime" ? "realtime" : "fast",
    ...(loop && { loop, ...(started?.demuxer !== undefined && { demuxer: started.demuxer }) }),
    ...(started?.metadata === true && { metadata: true }),
  };
}

/** A GStreamer source: by its property `is-live`, else by its kind. */
function isLiveStep(step: PreparedStep, { elements, registry }: BindingRequest): boolean {
  if (elements.has(step.element)) return false;
  const given = textOf(step, "is-live");
  return given === undefined ? registry.get(step.element)?.liveSource === true : /^(true|1|yes|t)$/i.test(given);
}

function textOf(step: PreparedStep, name: string): string | undefined {
  const property = step.properties.find((candidate) => candidate.name === name);
  if (property === undefined || property.value === null || property.unknown) return undefined;
  return typeof property.value === "string" ? property.value : String(property.value);
}
