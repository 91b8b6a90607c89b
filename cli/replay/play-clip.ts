/** The graph on the clip at pace fast, its rules in place before the first frame. */
import type { Compiled } from "../../graphs/compiler/compile.ts";
import type { GraphPlan, PlanNode, PlanSegment } from "../../graphs/compiler/plan.ts";
import { GraphFailure } from "../../graphs/runtime/events.ts";
import { RunningGraph } from "../../graphs/runtime/running-graph.ts";
import { findCard, listCardFiles } from "../../models/find-card.ts";
import { isInstalled, labelsOf } from "../../models/open.ts";
import { readCard } from "../../models/read-card.ts";
import type { AlertRule } from "../../schemas/alerts.ts";
import type { Json, JsonRecord } from "../../schemas/json.ts";
import { TELEMETRY_CHANNEL } from "../../schemas/telemetry.ts";
import { UsageFault } from "../command.ts";
import type { Knowledge } from "../compile-graph.ts";
import { sayFailure } from "../faults.ts";
import { FrameCount, StreamTime } from "../run/frame-count.ts";
import { exitOnUncaught } from "../run/interrupt.ts";
import { type Reporter, reportEvent } from "../run/reporter.ts";
import { Status } from "../run/status.ts";
import type { Flight } from "../run/telemetry-file.ts";
import type { Terminal } from "../terminal.ts";

export interface ClipOrder {
  readonly compiled: Compiled;
  readonly plan: GraphPlan;
  readonly startMs: number;
  readonly flight: Flight | null;
  readonly isQuiet: boolean;
  /** Awaited: nothing is played faster than it is told. */
  take(channel: string, message: JsonRecord): Promise<void>;
  /** Aborted: the stream is ended, and what is under way arrives. */
  readonly signal: AbortSignal;
}

export interface ClipOutcome {
  readonly clipSeconds: number;
  readonly frames: number;
  /** Why it ended before the clip did; null when it did not. */
  readonly failure: string | null;
  /** Of elements, which lost something and went on. */
  readonly errors: number;
}

export async function playClip(
  { compiled, plan, startMs, flight, isQuiet, take, signal }: ClipOrder,
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
  const unguard = exitOnUncaught(reporter, terminal);
  let failure: GraphFailure | null = null;
  try {
    graph = await RunningGraph.start(compiled, {
      ...knowledge,
      signal: cut.signal,
      epochNs: BigInt(startMs) * 1_000_000n,
      deliver: flight?.samples.map((message) => ({ channel: TELEMETRY_CHANNEL, message })) ?? [],
      send: (_node, channel, message) => take(channel, message),
      onEvent(event) {
        const isNoise = event.type === "element" && (event.event.type === "stats" || event.event.type === "output");
        if (!isNoise) reportEvent(event, reporter);
        if (event.type === "log" && event.level === "error") errors += 1;
      },
      onBuilt(pipeline, _segments, origins) {
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
    unguard();
    status?.close();
  }
  const explained = failure === null || signal.aborted ? null : await sayFailure(failure, plan);
  return { clipSeconds: Number(time.spentNs) / 1e9, frames: count.frames, failure: explained, errors };
}

const ELEMENT = "alerts";

/** Throws `UsageFault` for a graph that evaluates no rules. */
export function expectAlerts({ graph, offers }: Pick<GraphPlan, "graph" | "offers">): void {
  if (offers.includes(ELEMENT)) return;
  throw new UsageFault(
    `--alerts is for the element \`${ELEMENT}\`, and the graph "${graph}" has none; put it behind \`track\`, as \`npx windhover explain detect\` shows`,
  );
}

/** The same graph with these rules beside its own from the first frame on; of several elements the first has them, as in the service. */
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

// Names of classes: what alerts may ask for, and what this graph can find.
/** Of all installed models, as the service takes them. Null where none is: then nobody can say. */
export async function listKnownClasses(): Promise<readonly string[] | null> {
  const found = listCardFiles().map(async ({ name, file, origin }) => {
    try {
      const card = readCard(file);
      return (await isInstalled({ card, file, origin, askedFor: name })) ? labelsOf(card) : [];
    } catch {
      return []; // a card that is faulty is none
    }
  });
  const names = [...new Set((await Promise.all(found)).flat())];
  return names.length === 0 ? null : names;
}

export interface Looking {
  readonly model: string;
  readonly classes: ReadonlySet<string>;
}

/** What the graph looks for, by its first element `detect`; null where it has none, or a model that cannot be read. */
export function findLooking({ main, branches }: GraphPlan): Looking | null {
  const detect = [main, ...branches].flatMap(({ nodes }) => nodes).find(({ element }) => element === "detect");
  if (detect === undefined) return null;
  const { model = "default", classes = [] } = detect.properties as JsonRecord & {
    readonly classes?: readonly string[];
  };
  try {
    const labels = labelsOf(findCard(String(model)).card);
    return { model: String(model), classes: new Set(classes.length === 0 ? labels : classes) };
  } catch {
    return null; // the graph itself will say so
  }
}

/** Of those that an alert asks for, the ones that this graph never finds. */
export const listMissed = (filter: JsonRecord, { classes }: Looking): readonly string[] =>
  Array.isArray(filter.class_names) ? (filter.class_names as string[]).filter((name) => !classes.has(name)) : [];
