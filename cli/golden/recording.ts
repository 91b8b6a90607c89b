/** Runs a graph on a clip and records its messages: what `record` writes and `check` compares. */

import { basename, isAbsolute, relative } from "node:path";
import { type Compiled, compile } from "../../graphs/compiler/compile.ts";
import type { GraphPlan } from "../../graphs/compiler/plan.ts";
import { coerceParams } from "../../graphs/compiler/schema-check.ts";
import { GraphFailure } from "../../graphs/runtime/events.ts";
import { FrameCount } from "../../graphs/runtime/frame-count.ts";
import { RunningGraph, type RunResult } from "../../graphs/runtime/running-graph.ts";
import { ModelFault } from "../../models/fault.ts";
import { digestFile } from "../../models/files.ts";
import { type Model, openModel } from "../../models/open.ts";
import { ALERT_CHANNEL } from "../../schemas/alerts.ts";
import type { Json, JsonRecord } from "../../schemas/json.ts";
import { TRACK_REPORT_CHANNEL } from "../../schemas/track-report.ts";
import { CommandFailure } from "../command.ts";
import { expectParams, expectSource, type GraphWords, type Knowledge, loadKnowledge } from "../compile-graph.ts";
import { describeFailure, showFaults } from "../faults.ts";
import { expectFile } from "../files.ts";
import { GraphFiles, locateGraph } from "../graph-files.ts";
import { onInterrupt } from "../run/interrupt.ts";
import { Status } from "../run/status.ts";
import type { Terminal } from "../terminal.ts";
import { readVersion } from "../version.ts";
import type { Golden, GoldenHeader, RecordedModel, Said } from "./golden.ts";

export interface RecordingOptions {
  readonly graph: string;
  readonly clip: string;
  /** As written on the command line. */
  readonly params: GraphWords["params"];
  /** From a golden file; `params` override them. */
  readonly kept?: JsonRecord;
  readonly frames: number | null;
}

/** Null when the graph has faults, which were shown. */
export async function makeRecording(options: RecordingOptions, terminal: Terminal): Promise<Golden | null> {
  const { graph, clip, frames } = options;
  expectFile(clip);
  const files = new GraphFiles(locateGraph(graph));
  const knowledge = await loadKnowledge(terminal);
  const source = { uri: clip, pace: "fast" } as const;
  expectSource(clip, knowledge.registry);
  const read = (params: JsonRecord, mode: "run" | "check") =>
    compile(files.read(), { ...knowledge, source, load: files.loader(), params, mode });
  const params = { ...options.kept, ...coerceParams(read({}, "check").paramSchema, options.params) };
  const compiled = read(params, "run");
  expectParams(compiled.faults, options.params);
  showFaults(compiled.faults, files.textOf, terminal);
  const { plan } = compiled;
  if (plan === null) return null;
  const header = await identify(plan, clip, params, frames);
  const said = await collect(compiled, plan, frames, knowledge, terminal);
  if (said.length === 0)
    throw new CommandFailure(
      `the graph "${plan.graph}" sent no message on ${clip}; expected a graph with an element that sends messages, such as \`detections\``,
    );
  return { header, said };
}

/** Two hours at 25 fps. */
export const MOST_MESSAGES = 200_000;

/** Runs the graph at pace fast. Rejects with `CommandFailure` when it fails, logs errors, or is interrupted. */
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
  const removeSignals = onInterrupt(
    () => cut.abort(),
    () => process.exit(1),
  );
  let status: Status | null = null;
  try {
    const graph = await RunningGraph.start(compiled, {
      ...knowledge,
      signal: cut.signal,
      async send(node, channel, message) {
        // Summaries of the other messages.
        if (channel === TRACK_REPORT_CHANNEL) return;
        if (said.length >= MOST_MESSAGES) cut.abort();
        else said.push({ node, channel, message: toRecorded(message, channel) });
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
    await expectSuccess(await graph.ended, plan);
  } catch (error) {
    if (!(error instanceof GraphFailure)) throw error;
    await expectSuccess({ state: "failed", error }, plan);
  } finally {
    status?.close();
    removeSignals();
  }
  if (said.length >= MOST_MESSAGES)
    throw new CommandFailure(`the graph sends more than ${MOST_MESSAGES} messages; limit it with --frames`);
  if (cut.signal.aborted) throw new CommandFailure("interrupted before the end of the clip: nothing was recorded");
  if (errors.length > 0) throw new CommandFailure(`the graph ran with errors:\n  ${errors.join("\n  ")}`);
  return inOrder(said);
}

async function expectSuccess({ error }: RunResult, plan: GraphPlan): Promise<void> {
  if (error !== null) throw new CommandFailure(await describeFailure(error, plan), { cause: error });
}

/** Without the process, the path of the clip, and the images of alerts, which every encoder writes differently. */
export function toRecorded({ process_uuid: _, source_uri: __, ...message }: JsonRecord, channel: string): JsonRecord {
  if (channel !== ALERT_CHANNEL) return message;
  const { snapshot: ___, data, ...event } = message;
  const values = (data ?? {}) as { readonly patch?: JsonRecord | null };
  return { ...event, data: values.patch == null ? values : { ...values, patch: { ...values.patch, image: "" } } };
}

/** Grouped by node: the order between nodes on several threads varies. */
export function inOrder(said: readonly Said[]): readonly Said[] {
  const nodes = [...new Set(said.map(({ node }) => node))].sort();
  return nodes.flatMap((node) => said.filter((one) => one.node === node));
}

/** The header: digests let another machine check whether it has the same clip and models. */
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

/** Absolute paths become relative to the working directory. */
const shorten = (value: Json): Json =>
  typeof value === "string" && isAbsolute(value) ? relative(process.cwd(), value) : value;

async function listModels(plan: GraphPlan): Promise<RecordedModel[]> {
  const nodes = [plan.main, ...plan.branches].flatMap((segment) => segment.nodes);
  return Promise.all(
    nodes
      .filter(({ element }) => element === "detect")
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

/** One sentence for every difference between the headers. */
export function compareOrigins(was: GoldenHeader, is: GoldenHeader): readonly string[] {
  const notes: string[] = [];
  const isSameMachine = was.machine === is.machine;
  if (was.graph !== is.graph)
    notes.push(`the golden file was recorded with the graph "${was.graph}", this is "${is.graph}"`);
  if (!isSameMachine)
    notes.push(
      `the golden file was recorded on another kind of machine, ${was.machine}, which may round differently; this is ${is.machine}`,
    );
  if (was.clip.sha256 !== is.clip.sha256)
    notes.push(
      `this is another clip: ${was.clip.name} had the sha256 ${short(was.clip.sha256)}, ${is.clip.name} has ${short(is.clip.sha256)}`,
    );
  for (const model of was.models) {
    const now = is.models.find(({ node }) => node === model.node);
    if (now === undefined) notes.push(`"${model.node}", which ran the model "${model.name}", is missing`);
    else notes.push(...compareModels(model, now, isSameMachine));
  }
  for (const { node, name } of is.models)
    if (!was.models.some((model) => model.node === node)) notes.push(`"${node}" with the model "${name}" is new`);
  return notes;
}

function compareModels(was: RecordedModel, is: RecordedModel, isSameMachine: boolean): readonly string[] {
  if (was.name !== is.name) return [`"${was.node}" runs the model "${is.name}", before it ran "${was.name}"`];
  const notes: string[] = [];
  if (was.sha256 !== is.sha256)
    notes.push(
      `the model "${was.name}" has other weights: their sha256 was ${short(was.sha256)}, it is ${short(is.sha256)}`,
    );
  else if (isSameMachine && was.network !== is.network)
    notes.push(
      `the model "${was.name}" was converted differently: the sha256 of its ONNX file was ${short(was.network)}, it is ${short(is.network)}`,
    );
  for (const threshold of ["confidence", "weak"] as const)
    if (was[threshold] !== is[threshold])
      notes.push(`"${was.node}" has the threshold ${threshold} ${is[threshold]}, before ${was[threshold]}`);
  return notes;
}

const short = (sha256: string): string => `${sha256.slice(0, 12)}…`;
