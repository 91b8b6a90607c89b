/** Launches runners for a process: find the source, wait for a slot, take a runner, send the job, wait for the first frame. */
import type { Config } from "../../schemas/config.ts";
import type { RunnerJob } from "../../schemas/runner.ts";
import { Poller } from "../async/poller.ts";
import type { Semaphore } from "../async/semaphore.ts";
import { TIMED_OUT, unlessAborted, withTimeout } from "../async/timing.ts";
import { NODE_LEASE } from "../store/nodes.ts";
import type { ProcessRow } from "../store/processes.ts";
import type { Feed } from "./feed.ts";
import type { ProcessBranches, ProcessOutputs } from "./outputs.ts";
import type { ProcessRecord } from "./process-record.ts";
import type { ProcessInput } from "./processes.ts";
import type { Recorder } from "./recorder.ts";
import type { RestartPolicy, RunEnd } from "./restart-policy.ts";
import type { Runner, RunnerLink, RunnerListener, SuppliedProperties } from "./runner.ts";
import type { RunnerPool } from "./runner-pool.ts";
import type { StateMachine } from "./state-machine.ts";

/** An operator sets the others (`runners`, `reconnect`). */
export const LIMITS = {
  ...NODE_LEASE,
  /** Time limit for loading a runner. */
  loadMs: 30_000,
  /** Grace period before a stopping runner is killed. */
  stopMs: 5_000,
  /** Timeout of requests to a runner. */
  replyMs: 10_000,
  /** A running runner reports every second; without messages it is restarted after this time. */
  silentMs: 15_000,
  /** Number of processes that start concurrently; new processes before restarts. */
  parallel: 2,
  /** Time window for `runners.restarts`. */
  restartWindowMs: 300_000,
  /** Delay before the first restart of a crashed runner; doubles with every restart. */
  restartFirstMs: 500,
  /** Interval of name lookups for lost sources and failing outputs. */
  lookupMs: 10_000,
  /** Interval for storing the used minutes. */
  usageMs: 5_000,
};
export type FixedLimits = Readonly<typeof LIMITS>;

/** All of them, also those of the configuration. */
export const readLimits = ({ runners, reconnect, database }: Config, fixed: FixedLimits) => ({
  ...fixed,
  startMs: runners.start_seconds * 1000,
  saveMs: database.statement_seconds * 1000,
  /** A live source that stays lost for longer ends its process. */
  giveUpMs: reconnect.give_up_seconds * 1000,
  restart: {
    restarts: runners.restarts,
    windowMs: fixed.restartWindowMs,
    firstMs: fixed.restartFirstMs,
    maxMs: runners.restart_most_seconds * 1000,
  },
});
export type ProcessLimits = ReturnType<typeof readLimits>;

/** The collaborators of a process that its launches and its commands share. */
export interface ProcessParts {
  readonly row: ProcessRow;
  readonly input: ProcessInput;
  readonly machine: StateMachine;
  readonly record: ProcessRecord;
  readonly link: RunnerLink;
  readonly outputs: ProcessOutputs;
  readonly branches: ProcessBranches;
  readonly recorder: Recorder;
  readonly feed: Feed;
  readonly supplied: SuppliedProperties;
}

export interface LauncherDeps extends ProcessParts {
  readonly limits: ProcessLimits;
  readonly pool: RunnerPool;
  /** Launches in parallel on this node: many at once would slow each other down until all fail. */
  readonly slots: Semaphore;
  readonly policy: RestartPolicy;
  readonly locator: SourceLocator;
  readonly listener: RunnerListener;
}

/** What a launch waits for: a loaded runner, then its graph to play, then the first frame of the source. */
export type LaunchPhase = "runner" | "graph" | "source";

/** Milliseconds. */
export type LaunchTimes = Readonly<Record<LaunchPhase, number>>;

export interface FailedLaunch {
  /** `stopped` when the signal was aborted. */
  readonly end: RunEnd;
  readonly phase: LaunchPhase;
  /** Resolves when no runner is left; never rejects. */
  readonly gone: Promise<unknown>;
}

export type Launched = { readonly runner: Runner; readonly times: LaunchTimes } | FailedLaunch;

const STOPPED: RunEnd = { kind: "stopped" };

export class Launcher {
  readonly #deps: LauncherDeps;

  constructor(deps: LauncherDeps) {
    this.#deps = deps;
  }

  /**
   * Resolves when frames flow, with the runner set in `link`, or with why they do not; at once when the signal is aborted.
   * Never rejects. `isFirst`: a client waits; its launch comes before others and is limited by the signal alone.
   */
  async launch(isFirst: boolean, signal: AbortSignal): Promise<Launched> {
    const { locator, outputs, recorder, supplied, slots, pool } = this.#deps;
    let sourceUri: string;
    try {
      const preparations = [outputs.prepare(), recorder.prepare(), supplied.prepare()];
      [sourceUri] = await unlessAborted(Promise.all([locator.find(), ...preparations]), signal);
    } catch (error) {
      return fail("source", signal.aborted ? STOPPED : { kind: "source", detail: (error as Error).message });
    }
    // Not before: a name lookup must not keep others waiting.
    const release = await slots.acquire(signal, isFirst);
    try {
      return await this.#launchOn(sourceUri, isFirst, signal, release);
    } finally {
      release();
      // Not before: loading another runner would slow this launch down on a machine with few cores.
      pool.fill();
    }
  }

  async #launchOn(sourceUri: string, isFirst: boolean, signal: AbortSignal, onPlaying: () => void): Promise<Launched> {
    const { pool, link, listener } = this.#deps;
    const limits = isFirst ? UNLIMITED : this.#retryLimits();
    const startedMs = performance.now();
    let runner: Runner;
    try {
      runner = await pool.take(signal);
    } catch (error) {
      const detail = `no runner is available: ${(error as Error).message}`;
      return fail("runner", signal.aborted ? STOPPED : { kind: "crash", detail });
    }
    const takenMs = performance.now();
    let playingMs = takenMs;
    runner.start(this.#makeJob(sourceUri), listener);
    void runner.playing.then(() => {
      playingMs = performance.now();
      onPlaying();
    });
    const { phase, outcome } = await awaitFlow(runner, limits, signal);
    // Checked in the same tick: later interruptions find the runner in the link.
    if (outcome === "flowing" && !signal.aborted) {
      link.runner = runner;
      const source = Math.round(performance.now() - playingMs);
      const times = { runner: Math.round(takenMs - startedMs), graph: Math.round(playingMs - takenMs), source };
      return { runner, times };
    }
    if (typeof outcome === "object") return fail(phase, outcome);
    // It has processed no frame, so it has nothing to close properly.
    runner.kill(outcome === TIMED_OUT ? `its ${phase} was late` : "the launch was aborted");
    if (outcome !== TIMED_OUT) return fail(phase, STOPPED, runner.ended);
    const seconds = ((performance.now() - takenMs) / 1000).toFixed(1);
    const end = await runner.ended;
    return fail(phase, end.kind === "crash" ? this.describeLate(phase, seconds) : end);
  }

  /** What did not happen in time. */
  describeLate(phase: LaunchPhase, seconds: string): RunEnd {
    const { input, row } = this.#deps;
    if (phase === "runner") return { kind: "crash", detail: `no runner was loaded within ${seconds} s` };
    if (phase === "graph") return { kind: "crash", detail: `the graph did not play within ${seconds} s` };
    const detail = `no frame arrived from ${row.sourceUrl} within ${seconds} s; check that it is reachable and streams`;
    return { kind: input.isFile ? "crash" : "source", detail };
  }

  /** A lost live source may take its time to return. */
  #retryLimits(): LaunchLimits {
    const { limits, input, policy } = this.#deps;
    const { loadMs, startMs } = limits;
    const sourceMs = input.isFile ? loadMs : Math.max(startMs, policy.sourceWaitMs(performance.now()));
    return { graphMs: loadMs, sourceMs };
  }

  #makeJob(sourceUri: string): RunnerJob {
    const { row, input, record, feed, outputs, branches, recorder, supplied, limits } = this.#deps;
    const { uuid, sourceUrl, graph, graphText } = row;
    const sourceAddresses = input.addresses?.() ?? [];
    const live = supplied.beginRun();
    const watched = feed.beginRun().map((slot) => ({ id: slot, slot, params: {} }));
    return {
      ...{ uuid, graph, graphText, params: record.params, sourceUri, sourceLabel: sourceUrl },
      ...(sourceAddresses.length > 0 && { sourceAddresses: [...sourceAddresses] }),
      ...(input.loops === true && { sourceLoops: true }),
      positionNs: String(input.isFile ? record.positionNs : 0),
      ...(record.startedAt !== null && { epochMs: record.startedAt.getTime() }),
      firstTrackId: record.trackIds.next,
      ...(Object.keys(live).length > 0 && { live }),
      attach: [...outputs.attachments, ...branches.attachments, ...recorder.beginRun(), ...watched],
      giveUpSeconds: limits.giveUpMs / 1000,
    };
  }
}

interface LaunchLimits {
  /** Until the graph plays. */
  readonly graphMs: number;
  /** From then until frames flow. */
  readonly sourceMs: number;
}

const UNLIMITED: LaunchLimits = { graphMs: Number.POSITIVE_INFINITY, sourceMs: Number.POSITIVE_INFINITY };

const fail = (phase: LaunchPhase, end: RunEnd, gone: Promise<unknown> = Promise.resolve()): FailedLaunch => ({
  ...{ end, phase, gone },
});

interface Flow {
  readonly phase: LaunchPhase;
  readonly outcome: "flowing" | "aborted" | RunEnd | typeof TIMED_OUT;
}

async function awaitFlow(runner: Runner, { graphMs, sourceMs }: LaunchLimits, signal: AbortSignal): Promise<Flow> {
  const flowing = runner.flowing.then(() => "flowing" as const);
  const playing = runner.playing.then(() => "playing" as const);
  const wait = async <T>(limitMs: number, ...events: readonly Promise<T>[]) => {
    try {
      return await unlessAborted(withTimeout(limitMs, Promise.race([flowing, ...events, runner.ended])), signal);
    } catch {
      return "aborted" as const;
    }
  };
  const first = await wait(graphMs, playing);
  if (first !== "playing") return { phase: "graph", outcome: first };
  return { phase: "source", outcome: await wait<never>(sourceMs) };
}

/**
 * The current address of a source. Runners get a numeric address: while one has lost its source, the name is looked up
 * again and again, and the process is restarted when it resolves to another address.
 */
export class SourceLocator {
  readonly #locate: () => Promise<string>;
  readonly #everyMs: number;
  readonly #onMoved: () => void;
  #uri: string | null = null;
  #lookups: Poller | null = null;

  constructor(locate: () => Promise<string>, everyMs: number, onMoved: () => void) {
    this.#locate = locate;
    this.#everyMs = everyMs;
    this.#onMoved = onMoved;
  }

  /** For a new runner. Rejects when the source cannot be located. */
  async find(): Promise<string> {
    this.setLost(false);
    this.#uri = await this.#locate();
    return this.#uri;
  }

  setLost(isLost: boolean): void {
    if (isLost === (this.#lookups !== null)) return;
    void this.#lookups?.close();
    this.#lookups = isLost ? new Poller(() => this.#lookUp()) : null;
    this.#lookups?.start(this.#everyMs);
  }

  async #lookUp(): Promise<number> {
    const lookups = this.#lookups;
    const uri = await this.#locate().catch(() => null);
    if (lookups === this.#lookups && uri !== null && uri !== this.#uri) {
      this.setLost(false);
      this.#onMoved();
    }
    return this.#everyMs * (0.75 + Math.random() / 2);
  }
}

/** The time limit of a first start, and whether its client still waits. */
export class StartLimit {
  readonly limitMs: number;
  readonly #startedMs: number;
  readonly #late = new AbortController();
  readonly #timer: NodeJS.Timeout;
  /** Aborted when the time is over or the client has disconnected. */
  readonly signal: AbortSignal;

  constructor(startedMs: number, limitMs: number, client: AbortSignal | undefined) {
    this.#startedMs = startedMs;
    this.limitMs = limitMs;
    this.#timer = setTimeout(() => this.#late.abort(), Math.max(0, this.#leftMs));
    this.signal = client === undefined ? this.#late.signal : AbortSignal.any([client, this.#late.signal]);
  }

  /** For the last steps before the response must be sent. */
  get responseMs(): number {
    return Math.max(0, this.#leftMs + this.#reservedMs / 2);
  }

  get isLate(): boolean {
    return this.#late.signal.aborted && this.signal.reason === this.#late.signal.reason;
  }

  /** Rejects with the signal's reason when that is aborted before the promise is settled. */
  async race<T>(promise: Promise<T>): Promise<T> {
    const value = await unlessAborted(promise, this.signal);
    this.signal.throwIfAborted();
    return value;
  }

  close(): void {
    clearTimeout(this.#timer);
  }

  get #leftMs(): number {
    return this.#startedMs + this.limitMs - this.#reservedMs - performance.now();
  }

  /** The part of the limit that is reserved for the response. */
  get #reservedMs(): number {
    return Math.min(250, this.limitMs / 10);
  }
}
