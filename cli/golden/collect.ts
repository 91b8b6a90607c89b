/** Runs a graph on a clip at pace fast and keeps what it sends. */
import type { Compiled } from "../../graphs/compiler/compile.ts";
import type { GraphPlan } from "../../graphs/compiler/plan.ts";
import { GraphFailure } from "../../graphs/runtime/events.ts";
import { RunningGraph, type RunResult } from "../../graphs/runtime/running-graph.ts";
import type { JsonRecord } from "../../schemas/json.ts";
import { TRACK_REPORT_CHANNEL } from "../../schemas/track-report.ts";
import { CommandFailure } from "../command.ts";
import type { Knowledge } from "../knowledge.ts";
import { FrameCount } from "../run/frame-count.ts";
import { onInterrupt } from "../run/interrupt.ts";
import { Status } from "../run/status.ts";
import { sayFailure } from "../say-failure.ts";
import type { Terminal } from "../terminal.ts";
import type { Said } from "./golden.ts";

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
