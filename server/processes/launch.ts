/** From a runner that waits to one through which data flows. */
import type { RunnerJob } from "../../schemas/runner.ts";
import { TIMED_OUT, unlessAborted, withTimeout } from "../async/timing.ts";
import { Run, type RunEnd, type RunLimits } from "./run.ts";
import type { Runner, RunnerReport } from "./runner.ts";

/** How long a launch may take, unless its signal ends it. */
export interface Patience {
  /** Until the graph plays. */
  readonly graphMs: number;
  /** From then until the source's data is there. */
  readonly sourceMs: number;
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
  /** Rejects when the signal is aborted. */
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

/** What was waited for. */
export type Phase = "runner" | "graph" | "source";

export interface FailedLaunch {
  /** `stopped` when the signal was aborted. */
  readonly end: RunEnd;
  readonly phase: Phase;
  /** Settles once no runner is left; never rejects. */
  readonly gone: Promise<unknown>;
}

export type Launched = { readonly run: Run; readonly times: LaunchTimes } | FailedLaunch;

/** Resolves when data flows, or with how it ended before that: at once when the signal is aborted. Never rejects. */
export async function launch(parts: LaunchParts, patienceNow: () => Patience): Promise<Launched> {
  const { signal } = parts;
  let sourceUri: string;
  try {
    sourceUri = await unlessAborted(parts.findSource(), signal);
  } catch (error) {
    return fail("source", signal.aborted ? STOPPED : { kind: "source", detail: (error as Error).message });
  }
  // Not sooner: others need not wait while a name is looked up.
  const leave = await parts.acquireSlot();
  try {
    return await launchAt(sourceUri, parts, patienceNow(), leave);
  } finally {
    leave();
  }
}

async function launchAt(
  sourceUri: string,
  parts: LaunchParts,
  patience: Patience,
  onPlaying: () => void,
): Promise<Launched> {
  const { signal } = parts;
  const startedMs = performance.now();
  let runner: Runner;
  try {
    runner = await parts.takeRunner();
  } catch (error) {
    const detail = `no runner could be had: ${(error as Error).message}`;
    return fail("runner", signal.aborted ? STOPPED : { kind: "crash", detail });
  }
  const takenMs = performance.now();
  let playingMs = takenMs;
  const run = new Run(runner, parts.makeJob(sourceUri), parts.limits, parts.onReport);
  parts.onRun(run);
  void run.playing.then(() => {
    playingMs = performance.now();
    onPlaying();
  });
  const { phase, outcome } = await awaitFlow(run, patience, signal);
  if (outcome === "flowing")
    return {
      run,
      times: {
        runnerMs: Math.round(takenMs - startedMs),
        graphMs: Math.round(playingMs - takenMs),
        sourceMs: Math.round(performance.now() - playingMs),
      },
    };
  if (typeof outcome === "object") return fail(phase, outcome);
  // Nothing came of it yet: there is nothing that it could put in order.
  run.kill(outcome === TIMED_OUT ? `its ${phase} was late` : "it is not wanted any more");
  if (outcome === "aborted") return fail(phase, STOPPED, run.ended);
  const seconds = ((performance.now() - takenMs) / 1000).toFixed(1);
  const end = await run.ended;
  return fail(phase, end.kind === "crash" ? blame(phase, seconds, parts) : end);
}

const STOPPED: RunEnd = { kind: "stopped" };

const fail = (phase: Phase, end: RunEnd, gone: Promise<unknown> = Promise.resolve()): FailedLaunch => ({
  end,
  phase,
  gone,
});

/** Of what did not come in time. */
export function blame(
  phase: Phase,
  seconds: string,
  { isFile, label }: Pick<LaunchParts, "isFile" | "label">,
): RunEnd & { readonly detail: string } {
  if (phase === "runner") return { kind: "crash", detail: `no runner was loaded within ${seconds} s` };
  if (phase === "graph") return { kind: "crash", detail: `the graph did not play within ${seconds} s` };
  const detail = `no frame came from ${label} within ${seconds} s; check that it is there and streams`;
  return { kind: isFile ? "crash" : "source", detail };
}

interface Flow {
  readonly phase: Phase;
  readonly outcome: "flowing" | "aborted" | RunEnd | typeof TIMED_OUT;
}

async function awaitFlow(run: Run, { graphMs, sourceMs }: Patience, signal: AbortSignal): Promise<Flow> {
  const flowing = run.flowing.then(() => "flowing" as const);
  const playing = run.playing.then(() => "playing" as const);
  const wait = async <T>(limitMs: number, ...events: readonly Promise<T>[]) => {
    try {
      return await unlessAborted(withTimeout(limitMs, Promise.race([flowing, ...events, run.ended])), signal);
    } catch {
      return "aborted" as const;
    }
  };
  const first = await wait(graphMs, playing);
  if (first !== "playing") return { phase: "graph", outcome: first };
  return { phase: "source", outcome: await wait<never>(sourceMs) };
}
