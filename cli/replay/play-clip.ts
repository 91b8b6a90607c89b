/** The graph on the clip at pace fast, its rules in place before the first frame. */
import type { Compiled } from "../../graphs/compiler/compile.ts";
import type { GraphPlan } from "../../graphs/compiler/plan.ts";
import { GraphFailure } from "../../graphs/runtime/events.ts";
import { RunningGraph } from "../../graphs/runtime/running-graph.ts";
import type { JsonRecord } from "../../schemas/json.ts";
import { TELEMETRY_CHANNEL } from "../../schemas/telemetry.ts";
import type { Knowledge } from "../knowledge.ts";
import { reportEvent } from "../run/events.ts";
import { FrameCount } from "../run/frame-count.ts";
import type { Reporter } from "../run/reporter.ts";
import { Status } from "../run/status.ts";
import { StreamTime } from "../run/stream-time.ts";
import type { Flight } from "../run/telemetry-file.ts";
import { exitOnUncaught } from "../run/uncaught.ts";
import { sayFailure } from "../say-failure.ts";
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
