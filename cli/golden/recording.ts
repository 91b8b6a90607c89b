/** From the words of the command line to a recording: what `record` writes and `check` compares with. */

import { basename, isAbsolute, relative } from "node:path";
import { coerceParams } from "../../graphs/compiler/coerce.ts";
import { type Compiled, compile } from "../../graphs/compiler/compile.ts";
import type { GraphPlan } from "../../graphs/compiler/plan.ts";
import { GraphFailure } from "../../graphs/runtime/events.ts";
import { RunningGraph, type RunResult } from "../../graphs/runtime/running-graph.ts";
import { digestFile } from "../../models/digest.ts";
import { ModelFault } from "../../models/fault.ts";
import { type Model, openModel } from "../../models/open.ts";
import type { Json, JsonRecord } from "../../schemas/json.ts";
import { TRACK_REPORT_CHANNEL } from "../../schemas/track-report.ts";
import { CommandFailure } from "../command.ts";
import { expectParams, expectSource, type GraphWords, type Knowledge, loadKnowledge } from "../compile-graph.ts";
import { sayFailure, showFaults } from "../faults.ts";
import { expectFile } from "../files.ts";
import { GraphFiles, locateGraph } from "../graph-files.ts";
import { FrameCount } from "../run/frame-count.ts";
import { onInterrupt } from "../run/interrupt.ts";
import { Status } from "../run/status.ts";
import type { Terminal } from "../terminal.ts";
import { readVersion } from "../version.ts";
import type { Golden, GoldenHeader, RecordedModel, Said } from "./golden.ts";

export interface RecordingOrder {
  readonly graph: string;
  readonly clip: string;
  /** As written on the command line. */
  readonly params: GraphWords["params"];
  /** As a golden has kept them; `params` go before. */
  readonly kept?: JsonRecord;
  readonly frames: number | null;
}

/** Null when the graph has faults; they have been shown. */
export async function makeRecording(order: RecordingOrder, terminal: Terminal): Promise<Golden | null> {
  const { graph, clip, frames } = order;
  expectFile(clip);
  const files = new GraphFiles(locateGraph(graph));
  const knowledge = await loadKnowledge(terminal);
  const source = { uri: clip, pace: "fast" } as const;
  expectSource(clip, knowledge.registry);
  const read = (params: JsonRecord, mode: "run" | "check") =>
    compile(files.read(), { ...knowledge, source, load: files.loader(), params, mode });
  const params = { ...order.kept, ...coerceParams(read({}, "check").paramSchema, order.params) };
  const compiled = read(params, "run");
  expectParams(compiled.faults, order.params);
  showFaults(compiled.faults, (file) => files.textOf(file), terminal);
  const { plan } = compiled;
  if (plan === null) return null;
  const header = await identify(plan, clip, params, frames);
  const said = await collect(compiled, plan, frames, knowledge, terminal);
  if (said.length === 0)
    throw new CommandFailure(
      `the graph "${plan.graph}" sent no message on ${clip}: there is nothing to keep; a graph with the element \`detections\` sends some`,
    );
  return { header, said };
}

// Runs a graph on a clip at pace fast and keeps what it sends.
/** Two hours at 25 frames a second. More is no golden but an archive, and would not be compared by anybody. */
const MOST_MESSAGES = 200_000;

/** Rejects with `CommandFailure` when the graph fails, loses something, or is cut off. */
export async function collect(
  compiled: Compiled,
  plan: GraphPlan,
  frames: number | null,
  knowledge: Knowledge,
  terminal: Terminal,
): Promise<readonly Said[]> {
  const said: Said[] = [];
  const errors: string[] = [];
  const count = new FrameCount();
  const cut = new AbortController();
  const deafen = onInterrupt(
    () => cut.abort(),
    () => process.exit(1),
  );
  let status: Status | null = null;
  try {
    const graph = await RunningGraph.start(compiled, {
      ...knowledge,
      signal: cut.signal,
      async send(node, channel, message) {
        // Summaries of what the other messages tell frame by frame.
        if (channel === TRACK_REPORT_CHANNEL) return;
        if (said.length >= MOST_MESSAGES) cut.abort();
        else said.push({ node, channel, message: leaveOutJob(message) });
      },
      onEvent(event) {
        if (event.type === "log" && event.level === "error") errors.push(`${event.node}: ${event.message}`);
      },
      onBuilt(pipeline, _segments, origins) {
        if (frames !== null) for (const node of origins) pipeline.limit(node, { frames });
        count.place(pipeline, origins);
      },
      onClosing: () => count.keep(),
    });
    status = new Status(graph, count, { stats: false, json: false, quiet: false }, terminal);
    await expectGood(await graph.ended, plan);
  } catch (error) {
    if (!(error instanceof GraphFailure)) throw error;
    await expectGood({ state: "failed", error }, plan);
  } finally {
    status?.close();
    deafen();
  }
  if (said.length >= MOST_MESSAGES)
    throw new CommandFailure(`the graph sends more than ${MOST_MESSAGES} messages; give --frames to end it earlier`);
  if (cut.signal.aborted) throw new CommandFailure("cut off before the end of the clip: there is nothing to go by");
  if (errors.length > 0)
    throw new CommandFailure(`the graph ran, but not all of it went well:\n  ${errors.join("\n  ")}`);
  return inOrder(said);
}

async function expectGood({ error }: RunResult, plan: GraphPlan): Promise<void> {
  if (error !== null) throw new CommandFailure(await sayFailure(error, plan), { cause: error });
}

/** Whose job it is and where the clip lies is no part of what was seen. */
const leaveOutJob = ({ process_uuid: _, source_uri: __, ...message }: JsonRecord): JsonRecord => message;

/** How nodes on several threads take turns is chance; the order within each is not. */
function inOrder(said: readonly Said[]): readonly Said[] {
  const nodes = [...new Set(said.map(({ node }) => node))].sort();
  return nodes.flatMap((node) => said.filter((one) => one.node === node));
}

// What a recording is made from: named so that another machine can tell whether it has the same.
export async function identify(
  plan: GraphPlan,
  clip: string,
  params: JsonRecord,
  frames: number | null,
): Promise<GoldenHeader> {
  return {
    golden: 2,
    windhover: readVersion(),
    machine: process.arch,
    graph: plan.graph,
    params: Object.fromEntries(Object.entries(params).map(([name, value]) => [name, shorten(value)])),
    frames,
    clip: { name: basename(clip), sha256: await digestFile(clip) },
    models: await listModels(plan),
  };
}

/** A path of this machine means nothing on another: it is written as seen from here. */
const shorten = (value: Json): Json =>
  typeof value === "string" && isAbsolute(value) ? relative(process.cwd(), value) : value;

const LOOKING = "detect";

async function listModels(plan: GraphPlan): Promise<RecordedModel[]> {
  const nodes = [plan.main, ...plan.branches].flatMap((segment) => segment.nodes);
  return Promise.all(
    nodes
      .filter(({ element }) => element === LOOKING)
      .map(async ({ author, properties: { model, confidence, weak } }) => {
        const { card, file } = await open(typeof model === "string" ? model : "default");
        return {
          node: author,
          name: card.model,
          sha256: card.sha256,
          network: await digestFile(file),
          confidence: typeof confidence === "number" ? confidence : card.thresholds.confidence,
          weak: typeof weak === "number" ? weak : card.thresholds.weak,
        };
      }),
  );
}

async function open(model: string): Promise<Model> {
  try {
    return await openModel(model);
  } catch (error) {
    throw error instanceof ModelFault ? new CommandFailure(error.message, { cause: error }) : error;
  }
}

/** One sentence for everything that is not what the golden was recorded from. */
export function compareOrigins(was: GoldenHeader, is: GoldenHeader): readonly string[] {
  const said: string[] = [];
  const isSameMachine = was.machine === is.machine;
  if (was.graph !== is.graph) said.push(`the golden is of the graph "${was.graph}", this is "${is.graph}"`);
  if (!isSameMachine)
    said.push(
      `the golden is of another kind of machine, ${was.machine}, which may round otherwise; this is ${is.machine}`,
    );
  if (was.clip.sha256 !== is.clip.sha256)
    said.push(
      `this is not the clip that was recorded: ${was.clip.name} had the sha256 ${short(was.clip.sha256)}, ${is.clip.name} has ${short(is.clip.sha256)}`,
    );
  for (const model of was.models) {
    const now = is.models.find(({ node }) => node === model.node);
    if (now === undefined) said.push(`"${model.node}", which looked with the model "${model.name}", is not there`);
    else said.push(...compareModels(model, now, isSameMachine));
  }
  for (const { node, name } of is.models)
    if (!was.models.some((model) => model.node === node))
      said.push(`"${node}" looks with "${name}", and did not before`);
  return said;
}

function compareModels(was: RecordedModel, is: RecordedModel, isSameMachine: boolean): readonly string[] {
  if (was.name !== is.name) return [`"${was.node}" looks with "${is.name}", and did with "${was.name}"`];
  const said: string[] = [];
  if (was.sha256 !== is.sha256)
    said.push(
      `the model "${was.name}" is not the one that was recorded: its weights had the sha256 ${short(was.sha256)}, they have ${short(is.sha256)}`,
    );
  else if (isSameMachine && was.network !== is.network)
    said.push(
      `the model "${was.name}" is converted otherwise: its ONNX had the sha256 ${short(was.network)}, it has ${short(is.network)}`,
    );
  for (const threshold of ["confidence", "weak"] as const)
    if (was[threshold] !== is[threshold])
      said.push(`"${was.node}" has the threshold ${threshold} ${is[threshold]}, and had ${was[threshold]}`);
  return said;
}

const short = (sha256: string): string => `${sha256.slice(0, 12)}…`;
