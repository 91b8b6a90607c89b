/** Runs the graph on the clip at pace fast, with the alert rules set before the first frame. */
import type { Compiled } from "../../graphs/compiler/compile.ts";
import type { GraphPlan, PlanNode, PlanSegment } from "../../graphs/compiler/plan.ts";
import { GraphFailure } from "../../graphs/runtime/events.ts";
import { FrameCount, StreamTime } from "../../graphs/runtime/frame-count.ts";
import { RunningGraph } from "../../graphs/runtime/running-graph.ts";
import { findCard } from "../../models/find-card.ts";
import { labelsOf } from "../../models/open.ts";
import type { AlertRule } from "../../schemas/alerts.ts";
import type { Json, JsonRecord } from "../../schemas/json.ts";
import { TELEMETRY_CHANNEL } from "../../schemas/telemetry.ts";
import { UsageFault } from "../command.ts";
import type { Knowledge } from "../compile-graph.ts";
import { describeFailure } from "../faults.ts";
import { listInstalled } from "../models/summary.ts";
import { exitOnUncaught, type Reporter, reportEvent } from "../run/reporter.ts";
import { Status } from "../run/status.ts";
import type { Flight } from "../run/telemetry-file.ts";
import type { Terminal } from "../terminal.ts";

export interface ClipOptions {
  readonly compiled: Compiled;
  readonly plan: GraphPlan;
  readonly startMs: number;
  readonly flight: Flight | null;
  readonly isQuiet: boolean;
  /** Only the first frames of the clip; null for all. */
  readonly frames?: number | null;
  /** Awaited by the graph. */
  onMessage(channel: string, message: JsonRecord, node: string): Promise<void>;
  /** Ends the stream when it is aborted; frames in flight are finished. */
  readonly signal: AbortSignal;
}

export interface ClipOutcome {
  readonly clipSeconds: number;
  /** From the first frame to the end of the graph. */
  readonly seconds: number;
  readonly frames: number;
  /** Why the run ended before the clip; null if it did not. */
  readonly failure: string | null;
  /** Errors that elements logged and recovered from. */
  readonly errors: number;
}

export async function playClip(
  { compiled, plan, startMs, flight, isQuiet, frames = null, onMessage, signal }: ClipOptions,
  knowledge: Knowledge,
  reporter: Reporter,
  terminal: Terminal,
): Promise<ClipOutcome> {
  const count = new FrameCount();
  const time = new StreamTime();
  const cut = new AbortController();
  let errors = 0;
  let graph: RunningGraph | null = null;
  let status: Status | null = null;
  const stop = (): void => (graph === null ? cut.abort() : void graph.stop());
  signal.addEventListener("abort", stop);
  const removeUncaught = exitOnUncaught(reporter, terminal);
  let failure: GraphFailure | null = null;
  try {
    graph = await RunningGraph.start(compiled, {
      ...knowledge,
      signal: cut.signal,
      epochNs: BigInt(startMs) * 1_000_000n,
      deliver: flight?.samples.map((message) => ({ channel: TELEMETRY_CHANNEL, message })) ?? [],
      send: (node, channel, message) => onMessage(channel, message, node),
      onEvent(event) {
        const isNoise = event.type === "element" && (event.event.type === "stats" || event.event.type === "output");
        if (!isNoise) reportEvent(event, reporter);
        if (event.type === "log" && event.level === "error") errors += 1;
      },
      onBuilt(pipeline, _segments, origins) {
        if (frames !== null) for (const node of origins) pipeline.limit(node, { frames });
        count.place(pipeline, origins);
        time.place(pipeline, origins);
      },
      onClosing() {
        count.keep();
        time.keep();
      },
    });
    if (signal.aborted) void graph.stop();
    status = new Status(graph, count, { stats: false, json: terminal.isJson, quiet: isQuiet }, terminal);
    failure = (await graph.ended).error;
  } catch (error) {
    if (!(error instanceof GraphFailure)) throw error;
    failure = error;
  } finally {
    signal.removeEventListener("abort", stop);
    removeUncaught();
    status?.close();
  }
  const seconds = (performance.now() - (time.beganMs ?? performance.now())) / 1000;
  const explained = failure === null || signal.aborted ? null : await describeFailure(failure, plan);
  return { clipSeconds: Number(time.spentNs) / 1e9, seconds, frames: count.frames, failure: explained, errors };
}

const ELEMENT = "alerts";

/** Throws `UsageFault` for a graph without the element `alerts`. */
export function expectAlerts({ graph, offers }: Pick<GraphPlan, "graph" | "offers">): void {
  if (offers.includes(ELEMENT)) return;
  throw new UsageFault(
    `--alerts needs the element \`${ELEMENT}\`, and the graph "${graph}" has none; add it after \`track\`, as in \`npx windhover explain detect\``,
  );
}

/** The same graph with these rules added to the first element `alerts`, as in the service. */
export function withRules(compiled: Compiled, plan: GraphPlan, rules: readonly AlertRule[]): Compiled {
  const segments = [plan.main, ...plan.branches];
  const first = segments.flatMap(({ nodes }) => nodes).find(({ element }) => element === ELEMENT);
  const give = (node: PlanNode): PlanNode => {
    if (node !== first) return node;
    const own = (node.properties.rules ?? []) as readonly Json[];
    return { ...node, properties: { ...node.properties, rules: [...own, ...(rules as unknown as Json[])] } };
  };
  const change = (segment: PlanSegment): PlanSegment => ({ ...segment, nodes: segment.nodes.map(give) });
  return { ...compiled, plan: { ...plan, main: change(plan.main), branches: plan.branches.map(change) } };
}

/** Class names of all installed models, which the service accepts. Null if none is installed. */
export async function listKnownClasses(): Promise<readonly string[] | null> {
  const names = [...new Set((await listInstalled()).flatMap(({ labels }) => labels))];
  return names.length === 0 ? null : names;
}

export interface Detector {
  readonly model: string;
  readonly classes: ReadonlySet<string>;
}

/** Model and classes of the first element `detect`; null without one, or if its model cannot be read. */
export function findDetector({ main, branches }: GraphPlan): Detector | null {
  const detect = [main, ...branches].flatMap(({ nodes }) => nodes).find(({ element }) => element === "detect");
  if (detect === undefined) return null;
  const { model = "default", classes = [] } = detect.properties as JsonRecord & {
    readonly classes?: readonly string[];
  };
  try {
    const labels = labelsOf(findCard(String(model)).card);
    return { model: String(model), classes: new Set(classes.length === 0 ? labels : classes) };
  } catch {
    return null; // reported when the graph starts
  }
}

/** Classes of an alert's filter that this graph never detects. */
export const listMissed = (filter: JsonRecord, { classes }: Detector): readonly string[] =>
  Array.isArray(filter.class_names) ? (filter.class_names as string[]).filter((name) => !classes.has(name)) : [];
