/** From a job to a compiled graph. */
import { isAbsolute } from "node:path";
import type { AnyElement } from "../../../elements/element.ts";
import type { AllowedHost } from "../../../native/gstreamer.ts";
import type { JsonRecord } from "../../../schemas/json.ts";
import type { LiveValues } from "../../../schemas/live-values.ts";
import type { Registry } from "../../../schemas/registry.ts";
import type { RunnerJob } from "../../../schemas/runner.ts";
import { type Compiled, compile } from "../../compiler/compile.ts";
import { GraphFaults } from "../../compiler/fault.ts";
import { InstalledGraphs } from "../../compiler/worker/installed.ts";
import { DEMUXERS, findContainer } from "../probe/container.ts";
import { writeLive } from "./live-text.ts";

export interface Knowledge {
  readonly elements: ReadonlyMap<string, AnyElement>;
  readonly registry: Registry;
}

/** Where this job may connect to: its source, and what the operator's own graphs name. Never what a client gave as a param. */
export function listHosts({ graph, graphText, sourceUri, sourceAddresses = [] }: RunnerJob): readonly AllowedHost[] {
  const source = readHost(sourceUri).map((host) => ({ host, addresses: sourceAddresses }));
  const text = graphText === null ? (INSTALLED.read(graph)?.text ?? "") : "";
  const named = [...text.matchAll(/[a-z]{3,5}:\/\/[^\s"'`<>]{1,2048}/gi)].flatMap(([url]) => readHost(url));
  return [...named.map((host) => ({ host, addresses: [] })), ...source];
}

const readHost = (url: string): readonly string[] =>
  URL.canParse(url) ? [new URL(url).hostname.replace(/^\[|\]$/g, "")] : [];

const INSTALLED = new InstalledGraphs(new URL("../../", import.meta.url));

/** Throws `GraphFaults`. Files come at the pace at which they would be shown. */
export function compileJob(job: RunnerJob, knowledge: Knowledge, live: LiveValues = {}): Compiled {
  const base = job.graphText === null ? INSTALLED.read(job.graph) : { file: job.graph, text: job.graphText };
  if (base === null) throw refuseName(job.graph);
  const load = (name: string) => (name === BASE ? base : INSTALLED.load(name));
  const isChanged = Object.keys(live).length > 0;
  const graph = isChanged ? { file: null, text: writeLive(job.graph, BASE, live) } : base;
  const compiled = compile(graph, {
    ...knowledge,
    load,
    params: job.params as JsonRecord,
    source: { uri: job.sourceUri, pace: "realtime", ...findDemuxer(job.sourceUri) },
  });
  if (compiled.plan === null) throw new GraphFaults(compiled.faults);
  return compiled;
}

/** Of an upload, as it was probed. Anything else is chosen by content, among what `closeAutoplug` leaves. */
function findDemuxer(uri: string): { readonly demuxer?: string } {
  try {
    const container = isAbsolute(uri) ? findContainer(uri) : null;
    return container === null ? {} : { demuxer: DEMUXERS[container] };
  } catch {
    // The run says better than this why it cannot be read.
    return {};
  }
}

/** No name of a graph: it has a colon. */
const BASE = "started:";

const refuseName = (name: string): GraphFaults =>
  new GraphFaults([
    {
      code: "unknown_graph",
      at: { file: null, line: 1, column: 1 },
      message: `there is no graph "${name}"`,
      expected: "the name of an installed one",
    },
  ]);
