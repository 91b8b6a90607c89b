/** From a runner that waits to one through which data flows. */
import type { RunnerJob } from "../../schemas/runner.ts";
import { Run, type RunEnd, type RunLimits } from "./run.ts";
import type { Runner, RunnerReport } from "./runner.ts";
import { sleep } from "./sleep.ts";

/** How long a launch may take. */
export interface Patience {
  /** Until the graph plays. */
  readonly graphMs: number;
  /** When the source's data must be there. */
  readonly deadlineMs: number;
  /** The source has so long in any case, once the graph plays. */
  readonly leastSourceMs: number;
}

export interface LaunchParts {
  readonly limits: RunLimits;
  readonly isFile: boolean;
  /** Aborted: it is not wanted any more. */
  readonly signal: AbortSignal;
  takeRunner(): Promise<Runner>;
  makeJob(): RunnerJob;
  onReport(report: RunnerReport): void;
  /** There is a run: whoever wants it to end must end it from now on. */
  onRun(run: Run): void;
}

/** Milliseconds that a launch took: for a runner, until its graph played, until data flowed. */
export interface LaunchTimes {
  readonly runnerMs: number;
  readonly graphMs: number;
  readonly sourceMs: number;
}

export type Launched = { readonly run: Run; readonly times: LaunchTimes } | { readonly end: RunEnd };

const LATE_GRAPH = "the graph did not play in time";
const LATE_SOURCE = "nothing came from the source in time";
type Late = typeof LATE_GRAPH | typeof LATE_SOURCE;

/** Resolves when data flows, or with how it ended before that: then no runner is left. Never rejects. */
export async function launch(parts: LaunchParts, patience: Patience): Promise<Launched> {
  if (parts.signal.aborted) return { end: { kind: "stopped" } };
  const beganMs = performance.now();
  let runner: Runner;
  try {
    runner = await parts.takeRunner();
  } catch (error) {
    return { end: { kind: "crash", detail: `no runner could be had: ${(error as Error).message}` } };
  }
  const takenMs = performance.now();
  let playingMs = takenMs;
  const run = new Run(runner, parts.makeJob(), parts.limits, parts.onReport);
  parts.onRun(run);
  if (parts.signal.aborted) void run.stop();
  void run.playing.then(() => {
    playingMs = performance.now();
  });
  const first = await awaitFlow(run, patience);
  if (first === "flowing")
    return {
      run,
      times: {
        runnerMs: Math.round(takenMs - beganMs),
        graphMs: Math.round(playingMs - takenMs),
        sourceMs: Math.round(performance.now() - playingMs),
      },
    };
  if (typeof first !== "string") return { end: first };
  run.kill(first);
  const end = await run.ended;
  if (end.kind !== "crash") return { end };
  return { end: { kind: first === LATE_SOURCE && !parts.isFile ? "source" : "crash", detail: first } };
}

/** Resolves with how it ended, or with what did not come in time. */
async function awaitFlow(
  run: Run,
  { graphMs, deadlineMs, leastSourceMs }: Patience,
): Promise<"flowing" | RunEnd | Late> {
  const waiting = new AbortController();
  const after = async <L extends Late>(ms: number, late: L): Promise<L> => {
    await sleep(ms, waiting.signal);
    return late;
  };
  const flowing = run.flowing.then(() => "flowing" as const);
  const playing = run.playing.then(() => "playing" as const);
  try {
    const first = await Promise.race([flowing, run.ended, playing, after<typeof LATE_GRAPH>(graphMs, LATE_GRAPH)]);
    if (first !== "playing") return first;
    const sourceMs = Math.max(leastSourceMs, deadlineMs - performance.now());
    return await Promise.race([flowing, run.ended, after<typeof LATE_SOURCE>(sourceMs, LATE_SOURCE)]);
  } finally {
    waiting.abort();
  }
}
