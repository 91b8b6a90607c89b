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
  /** What clients are told of the source. */
  readonly label: string;
  /** Aborted: it is not wanted any more. */
  readonly signal: AbortSignal;
  /** Until the graph plays; resolves with how to leave. */
  acquireSlot(): Promise<() => void>;
  takeRunner(): Promise<Runner>;
  /** Rejects when the source is nowhere. */
  findSource(): Promise<string>;
  makeJob(sourceUri: string): RunnerJob;
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

/** What did not come in time. */
type Late = "graph" | "source";

/** Resolves when data flows, or with how it ended before that: then no runner is left. Never rejects. */
export async function launch(parts: LaunchParts, patienceNow: () => Patience): Promise<Launched> {
  const leave = await parts.acquireSlot();
  try {
    return await launchNow(parts, patienceNow(), leave);
  } finally {
    leave();
  }
}

async function launchNow(parts: LaunchParts, patience: Patience, onPlaying: () => void): Promise<Launched> {
  if (parts.signal.aborted) return { end: { kind: "stopped" } };
  let sourceUri: string;
  try {
    sourceUri = await parts.findSource();
  } catch (error) {
    return { end: { kind: "source", detail: (error as Error).message } };
  }
  const beganMs = performance.now();
  let runner: Runner;
  try {
    runner = await parts.takeRunner();
  } catch (error) {
    return { end: { kind: "crash", detail: `no runner could be had: ${(error as Error).message}` } };
  }
  const takenMs = performance.now();
  let playingMs = takenMs;
  const run = new Run(runner, parts.makeJob(sourceUri), parts.limits, parts.onReport);
  parts.onRun(run);
  if (parts.signal.aborted) void run.stop();
  void run.playing.then(() => {
    playingMs = performance.now();
    onPlaying();
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
  const seconds = ((performance.now() - takenMs) / 1000).toFixed(1);
  run.kill(`its ${first} was late`);
  const end = await run.ended;
  if (end.kind !== "crash") return { end };
  if (first === "graph") return { end: { kind: "crash", detail: `the graph did not play within ${seconds} s` } };
  const detail = `no frame came from ${parts.label} within ${seconds} s; check that it is there and streams`;
  return { end: { kind: parts.isFile ? "crash" : "source", detail } };
}

/** Resolves with how it ended, or with what did not come in time. */
async function awaitFlow(
  run: Run,
  { graphMs, deadlineMs, leastSourceMs }: Patience,
): Promise<"flowing" | RunEnd | Late> {
  const waiting = new AbortController();
  const after = (ms: number, late: Late): Promise<Late> => sleep(ms, waiting.signal).then(() => late);
  const flowing = run.flowing.then(() => "flowing" as const);
  const playing = run.playing.then(() => "playing" as const);
  try {
    const first = await Promise.race([flowing, run.ended, playing, after(graphMs, "graph")]);
    if (first !== "playing") return first;
    const sourceMs = Math.max(leastSourceMs, deadlineMs - performance.now());
    return await Promise.race([flowing, run.ended, after(sourceMs, "source")]);
  } finally {
    waiting.abort();
  }
}
