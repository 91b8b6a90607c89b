/** Job → compiled graph, and the hosts that the job may connect to. */

import { isAbsolute } from "node:path";
import type { LoadedElements } from "../../../elements/index.ts";
import type { AllowedHost } from "../../../native/gstreamer.ts";
import type { JsonRecord } from "../../../schemas/json.ts";
import type { LiveValues } from "../../../schemas/live-values.ts";
import type { Registry } from "../../../schemas/registry.ts";
import type { RunnerJob } from "../../../schemas/runner.ts";
import { type Compiled, compile } from "../../compiler/compile.ts";
import { GraphFaults } from "../../compiler/fault.ts";
import type { LoadGraph } from "../../compiler/graph-levels.ts";
import { InstalledGraphs, type InstalledText } from "../../compiler/worker/installed.ts";
import { DEMUXERS, findContainer } from "../file-kind.ts";
import { writeLive } from "./live-values.ts";
import { nameModels } from "./own-models.ts";

export interface Knowledge {
  readonly elements: LoadedElements;
  readonly registry: Registry;
}

/**
 * The source, and hosts that an installed graph names. Never a host from a client's text or parameters.
 * @param texts of the graph and of those that it extends or uses parts of, as `compileJob` reads them
 */
export function listHosts(
  { graphText, sourceUri, sourceAddresses = [] }: RunnerJob,
  texts: ReadonlySet<string>,
): readonly AllowedHost[] {
  const source = readHost(sourceUri).map((host) => ({ host, addresses: sourceAddresses }));
  const named = [...(graphText === null ? texts : [])].flatMap((text) =>
    [...text.matchAll(/[a-z]{3,5}:\/\/[^\s"'`<>]{1,2048}/gi)].flatMap(([url]) => readHost(url)),
  );
  return [...named.map((host) => ({ host, addresses: [] })), ...source];
}

const readHost = (url: string): readonly string[] =>
  URL.canParse(url) ? [new URL(url).hostname.replace(/^\[|\]$/g, "")] : [];

const OWN = new URL("../../", import.meta.url);
const INSTALLED = InstalledGraphs.besides(OWN);

/**
 * Throws `GraphFaults`. Files are played in real time, except by tests.
 * @param texts gets the text of every file that is read
 */
export function compileJob(
  job: RunnerJob,
  knowledge: Knowledge,
  live: LiveValues = {},
  texts: Set<string> = new Set(),
): Compiled {
  const own = job.graphText === null ? null : { file: job.graph, text: job.graphText, load: INSTALLED.load };
  const found = own ?? INSTALLED.read(job.graph);
  if (found === null) throw unknownGraph(job.graph);
  const base = record(found, texts);
  const isChanged = Object.keys(live).length > 0;
  const graph = isChanged ? { file: null, text: writeLive(job.graph, BASE, live) } : base;
  const compiled = compile(graph, {
    ...knowledge,
    load: isChanged ? (name) => (name === BASE ? base : undefined) : base.load,
    areSlotsChecked: true, // by the server
    params: job.params as JsonRecord,
    source: {
      ...{ uri: job.sourceUri, pace: job.test === undefined ? "realtime" : "fast", ...findDemuxer(job.sourceUri) },
      ...(job.sourceLoops === true && { loop: true }),
      ...(job.sourceMetadata === true && { metadata: true }),
    },
  });
  if (compiled.plan === null) throw new GraphFaults(compiled.faults);
  return nameModels(compiled, job.models);
}

function record({ file, text, load }: InstalledText, texts: Set<string>): InstalledText {
  texts.add(text);
  const loadNext: LoadGraph = (name) => {
    const next = load(name);
    return next && record({ load, ...next }, texts);
  };
  return { file, text, load: loadNext };
}

/** The demuxer that an upload was probed with. Others are chosen by content, among those that `closeAutoplug` leaves. */
function findDemuxer(uri: string): { readonly demuxer?: string } {
  try {
    const container = isAbsolute(uri) ? findContainer(uri) : null;
    return container === null ? {} : { demuxer: DEMUXERS[container] };
  } catch {
    // Running the graph gives a better error.
    return {};
  }
}

/** Cannot be the name of a graph, which has no colon. */
const BASE = "started:";

const unknownGraph = (name: string): GraphFaults =>
  new GraphFaults([
    {
      code: "unknown_graph",
      at: { file: null, line: 1, column: 1 },
      message: `unknown graph "${name}"`,
      expected: "the name of an installed graph",
    },
  ]);

const USUAL: RunnerJob = {
  uuid: "",
  graph: "detect",
  graphText: null,
  params: {},
  sourceUri: "/video.mp4",
  positionNs: "0",
  firstTrackId: 1,
  attach: [],
  giveUpSeconds: 1,
};

/**
 * Compiles the default graph before the first job, to create validators and load descriptions of GStreamer elements. What
 * jobs have in common is then known: the text, and which elements can be linked.
 */
export function warmUp(knowledge: Knowledge): void {
  try {
    const { slot } = compileJob(USUAL, knowledge);
    slot("feed", "warm", {});
  } catch (error) {
    // A graph of the operator with this name: a job with it gets the faults.
    if (!(error instanceof GraphFaults)) throw error;
  }
}
