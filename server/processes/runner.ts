/**
 * Runners: child processes in which processes run their graphs. Loaded in advance by the pool, launched with the job of one
 * process, and ended with it. A runner that stops reporting or exceeds its memory is killed, which counts as a crash.
 */
import { readdirSync } from "node:fs";
import { setPriority } from "node:os";
import type { Readable } from "node:stream";
import type { Logger } from "pino";
import { NoReply, RequestRejected } from "../../ipc/channel.ts";
import { Child, type ChildExit, describeExit } from "../../ipc/child.ts";
import { PictureReader } from "../../schemas/picture-stream.ts";
import { PICTURES, RUNNER_PROTOCOL, type RunnerJob, RunnerMessage, type RunnerRequest } from "../../schemas/runner.ts";
import { Semaphore } from "../async/semaphore.ts";
import { backoff, MAX_TIMER_MS, TIMED_OUT, unlessAborted, withTimeout } from "../async/timing.ts";
import type { Confinement } from "../confinement/confinement.ts";
import type { Span } from "../tracing/span.ts";
import { describeLate, requestError, wrongState } from "./errors.ts";
import type { RunEnd, StateMachine } from "./lifecycle.ts";
import type { Picture } from "./processes.ts";
import type { RunnerCommand, RunnerFolder, RunnerFolders } from "./runner-folders.ts";

export type AttachmentReport = Extract<RunnerMessage, { type: "attachment" }>;
/** A slot that is attached under an id. */
export type Attachment = RunnerJob["attach"][number];

const NAME = "the runner";

interface RunnerOptions {
  readonly entry: URL;
  readonly confinement: Confinement;
  /** It is killed beyond this. */
  readonly memoryBytes: number;
  /** Null: it can open no files of the data folder. */
  readonly folders: RunnerFolders | null;
  /** Further folders that it can write to. */
  readonly writes: readonly string[];
  readonly log: Logger;
  /** Until it is loaded. */
  readonly loadMs: number;
  readonly replyMs: number;
  readonly stopMs: number;
  /** A running runner reports every second. */
  readonly silentMs: number;
}

/** Receives what a started runner sends. */
interface RunnerListener {
  onReport(report: RunnerMessage): void;
  /** `attachment`: the id of the attached slot that encoded it. */
  onPicture(attachment: string, picture: Picture): void;
}

export class Runner {
  /** Resolves when the runner has exited; never rejects. */
  readonly ended: Promise<RunEnd>;
  /** Resolves with the first frame of the source; stays pending when none arrives. */
  readonly flowing: Promise<void>;
  /** Resolves when the graph plays, with or without input; stays pending when it never does. */
  readonly playing: Promise<void>;
  readonly child: Child<RunnerRequest, RunnerMessage>;
  readonly #folder: RunnerFolder | null;
  readonly #options: RunnerOptions;
  #listener: RunnerListener | null = null;
  /** The reason that the runner gave before it exited. */
  #reported: RunEnd | null = null;
  #isStopping = false;
  #exitTimer: NodeJS.Timeout | undefined;
  #flow = (): void => {};
  #play = (): void => {};

  constructor(options: RunnerOptions) {
    const { entry, confinement, memoryBytes, folders, writes, log, loadMs } = options;
    this.#options = options;
    const folder = folders?.make() ?? null;
    this.#folder = folder;
    this.flowing = new Promise((resolve) => {
      this.#flow = resolve;
    });
    this.playing = new Promise((resolve) => {
      this.#play = resolve;
    });
    this.child = new Child<RunnerRequest, RunnerMessage>({
      ...{ name: NAME, protocol: RUNNER_PROTOCOL, receives: RunnerMessage, log, loadMs, memoryBytes },
      spawn: () =>
        confinement.spawn({
          ...{ entry, memoryBytes, hasChannel: true, hasPictures: true },
          reads: folder?.reads ?? [],
          writes: [...(folder?.writes ?? []), ...writes],
        }),
      onMessage: (report) => this.#receive(report),
    });
    this.ended = this.child.gone.then((exit) => this.#end(exit));
  }

  get pid(): number | undefined {
    return this.child.pid;
  }

  /** Once, when it is loaded. The caller limits how long this takes by killing it. */
  start(job: RunnerJob, listener: RunnerListener): void {
    this.#listener = listener;
    this.#readPictures(listener);
    this.request({ type: "start", job }, MAX_TIMER_MS).then(this.#play, (error: Error) => {
      if (error instanceof NoReply) return; // it has exited, which says more
      if (!(error instanceof RequestRejected)) return this.kill(error.message);
      const { kind, message: detail } = error;
      this.#awaitExit({ kind: kind === "source" || kind === "graph" ? kind : "crash", detail });
    });
  }

  /** Rejects with `RequestRejected` or `NoReply`. */
  async request(command: RunnerCommand, limitMs = this.#options.replyMs): Promise<unknown> {
    return this.child.request(this.#folder?.lend(command) ?? command, limitMs);
  }

  extendLease(untilMs: number): void {
    this.child.send({ type: "lease", untilMs });
  }

  /** Lets it shut down within the limit, then kills it. Resolves when it has exited. */
  async stop(): Promise<RunEnd> {
    if (!this.#isStopping) {
      this.#isStopping = true;
      this.#killLater("it did not stop in time");
      this.request({ type: "stop" }, MAX_TIMER_MS).catch(() => {});
    }
    return this.ended;
  }

  /** At once. A crash, unless it was being stopped. */
  kill(reason: string): void {
    this.child.kill(reason);
  }

  #receive(report: RunnerMessage): void {
    if (report.type === "flowing") this.#flow();
    else if (report.type === "state") this.#enter(report);
    else this.child.refresh();
    this.#listener?.onReport(report);
  }

  #enter({ state, failure }: Extract<RunnerMessage, { type: "state" }>): void {
    const { silentMs } = this.#options;
    if (state === "running") this.child.expectWithin(silentMs, `it reported nothing for ${silentMs / 1000} s`);
    else this.child.unwatch();
    if (state === "finished") this.#awaitExit({ kind: "finished" });
    if (state === "failed") {
      const { kind, ...fault } = failure ?? { kind: "pipeline" as const, detail: "the runner gave no reason" };
      this.#awaitExit({ kind: kind === "pipeline" ? "crash" : kind, ...fault });
    }
  }

  /** It has reported its end and exits by itself. */
  #awaitExit(end: RunEnd): void {
    this.#reported ??= end;
    this.#killLater("it did not exit");
  }

  #killLater(reason: string): void {
    this.#exitTimer ??= setTimeout(() => this.kill(reason), this.#options.stopMs);
  }

  async #end(exit: ChildExit): Promise<RunEnd> {
    clearTimeout(this.#exitTimer);
    void this.#folder?.close().catch(() => {}); // the next start of the server removes it
    if (this.#isStopping && this.#reported?.kind !== "finished") return { kind: "stopped" };
    return this.#reported ?? { kind: "crash", detail: describeExit(NAME, exit) };
  }

  #readPictures(listener: RunnerListener): void {
    const stream = this.child.process.stdio[PICTURES] as Readable | null | undefined;
    const reader = new PictureReader();
    stream?.on("error", () => {}); // its exit is reported instead
    stream?.on("data", (chunk: Buffer) => {
      try {
        for (const { captureMs, attachment, bytes } of reader.read(chunk))
          listener.onPicture(attachment, { captureMs, bytes });
      } catch {
        stream.destroy();
        this.kill("it sent an invalid picture");
      }
    });
  }
}

/** The current runner of a process, for requests. Rejects with `ServiceError` what it rejects, or when there is none. */
export class RunnerLink {
  runner: Runner | null = null;
  readonly #machine: StateMachine;

  constructor(machine: StateMachine) {
    this.#machine = machine;
  }

  async request(command: RunnerCommand): Promise<unknown> {
    const { runner } = this;
    const reject = (): Error => wrongState(this.#machine.state, "changed", ["running", "paused"]);
    if (runner === null) throw reject();
    try {
      return await runner.request(command);
    } catch (error) {
      if (!this.#machine.isWanted) throw reject();
      // It hangs: that is a crash, and a restart follows.
      if (error instanceof NoReply) runner.kill(error.message);
      throw requestError(error as Error);
    }
  }

  async attach({ id, ...attachment }: Attachment): Promise<void> {
    await this.request({ type: "attach", attachment: id, ...attachment });
  }

  async detach(attachment: string): Promise<void> {
    await this.request({ type: "detach", attachment });
  }
}

interface RunnerPoolOptions extends RunnerOptions {
  /** Idle runners to keep. */
  readonly count: number;
  /** Launches in parallel on this node: many at once would slow each other down until all fail. */
  readonly parallel: number;
  /** Delays before idle runners that ended are replaced. */
  readonly firstMs: number;
  readonly maxMs: number;
}

const CLOSING = "the server is shutting down";
const STOPPED: RunEnd = { kind: "stopped" };

/** What a launch waits for: a loaded runner, then its graph to play, then the first frame of the source. */
type LaunchPhase = "runner" | "graph" | "source";

/** Milliseconds that each took. */
export type LaunchTimes = Readonly<Record<LaunchPhase, number>>;

interface FailedLaunch {
  /** `stopped` when the signal was aborted. */
  readonly end: RunEnd;
  readonly phase: LaunchPhase;
  /** Resolves when no runner is left; never rejects. */
  readonly gone: Promise<unknown>;
}

export type Launched = { readonly runner: Runner; readonly times: LaunchTimes } | FailedLaunch;

interface LaunchOrder {
  /** A client waits for it: it comes before others. */
  readonly isFirst: boolean;
  readonly signal: AbortSignal;
  readonly listener: RunnerListener;
  /** When the runner is loaded. `graphMs`: until its graph plays; `sourceMs`: from then until frames flow. */
  begin(): { readonly job: RunnerJob; readonly graphMs: number; readonly sourceMs: number };
  /** In texts for clients. */
  readonly source: { readonly url: string; readonly isFile: boolean };
  /** Above 0: others come first on the processor. Default: 0. */
  readonly niceness?: number;
  /** Of the launch; null or undefined: it is not traced. */
  readonly span?: Span | null;
}

export const failLaunch = (
  phase: LaunchPhase,
  end: RunEnd,
  gone: Promise<unknown> = Promise.resolve(),
): FailedLaunch => ({
  ...{ end, phase, gone },
});

/** Runners that are loaded in advance, so that a start need not wait for one. */
export class RunnerPool {
  readonly #options: RunnerPoolOptions;
  readonly #slots: Semaphore;
  /** Loading or idle. */
  readonly #kept = new Set<Runner>();
  /** Loading for a caller that waits, or being killed. */
  readonly #reserved = new Set<Runner>();
  #deaths = 0;
  #refill: NodeJS.Timeout | undefined;
  #isClosed = false;

  constructor(options: RunnerPoolOptions) {
    this.#options = options;
    this.#slots = new Semaphore(options.parallel);
  }

  /** Loads what is missing. */
  fill(): void {
    if (this.#isClosed || this.#refill !== undefined) return;
    while (this.#hasRoom) this.#load();
  }

  /** Resolves when a runner is loaded and idle, so that the next launch is quick. Rejects when none can be loaded. */
  async prepare(): Promise<void> {
    const [runner = this.#load()] = [...this.#idle, ...this.#kept];
    await runner.child.loaded;
  }

  /**
   * Resolves with a loaded runner, which the caller owns from then on; `fill` replaces it. Rejects when none can be
   * loaded, or when the signal is aborted: then the runner stays here, for the next caller.
   */
  async take(signal: AbortSignal): Promise<Runner> {
    if (this.#isClosed) throw new Error(CLOSING);
    signal.throwIfAborted();
    // One that is loading is ready sooner than a new one.
    const [runner = this.#load()] = [...this.#idle, ...this.#kept];
    this.#kept.delete(runner);
    this.#reserved.add(runner);
    try {
      await unlessAborted(runner.child.loaded, signal);
      if (this.#isClosed) throw new Error(CLOSING);
    } catch (error) {
      this.#takeBack(runner);
      throw error;
    }
    this.#reserved.delete(runner);
    this.#deaths = 0;
    return runner;
  }

  /** Resolves when frames flow, or with why they do not; at once when the signal is aborted. Never rejects. */
  async launch(order: LaunchOrder): Promise<Launched> {
    const release = await this.#slots.acquire(order.signal, order.isFirst);
    try {
      return await this.#launch(order, release);
    } finally {
      release();
      // Not before: loading another runner would slow this launch down on a machine with few cores.
      this.fill();
    }
  }

  async #launch(
    { signal, listener, begin, source, niceness = 0, span = null }: LaunchOrder,
    onPlaying: () => void,
  ): Promise<Launched> {
    const startedMs = performance.now();
    const loading = span?.start("load runner");
    let runner: Runner;
    try {
      runner = await this.take(signal);
    } catch (error) {
      const detail = `no runner is available: ${(error as Error).message}`;
      loading?.end({ error: detail });
      return failLaunch("runner", signal.aborted ? STOPPED : { kind: "crash", detail });
    }
    loading?.end();
    const takenMs = performance.now();
    let playingMs = takenMs;
    if (niceness > 0) lowerPriority(runner.pid, niceness);
    const { job, graphMs, sourceMs } = begin();
    const playing = span?.start("play graph");
    let flowing: Span | undefined;
    runner.start(job, listener);
    void runner.playing.then(() => {
      playingMs = performance.now();
      playing?.end();
      flowing = span?.start("first frame");
      onPlaying();
    });
    const { phase, outcome } = await awaitFlow(runner, graphMs, sourceMs, signal);
    for (const step of [playing, flowing]) step?.end(outcome === "flowing" ? {} : { error: `no ${phase}` });
    if (outcome === "flowing") {
      const source = Math.round(performance.now() - playingMs);
      const times = { runner: Math.round(takenMs - startedMs), graph: Math.round(playingMs - takenMs), source };
      return { runner, times };
    }
    if (typeof outcome === "object") return failLaunch(phase, outcome);
    // It has processed no frame, so it has nothing to close properly.
    runner.kill(outcome === TIMED_OUT ? `its ${phase} was late` : "the launch was aborted");
    if (outcome !== TIMED_OUT) return failLaunch(phase, STOPPED, runner.ended);
    const passedMs = performance.now() - takenMs;
    const end = await runner.ended;
    return failLaunch(phase, end.kind === "crash" ? describeLate(phase, passedMs, source) : end);
  }

  get idlePids(): readonly number[] {
    return this.#idle.flatMap(({ pid }) => pid ?? []);
  }

  /** Why no runner is available; null when all is well. */
  get trouble(): string | null {
    if (this.#idle.length > 0 || this.#deaths <= 2) return null;
    return `the last ${this.#deaths} runners ended while loading or idle`;
  }

  async close(): Promise<void> {
    this.#isClosed = true;
    clearTimeout(this.#refill);
    const runners = [...this.#kept, ...this.#reserved];
    for (const runner of runners) runner.kill(CLOSING);
    await Promise.all(runners.map(({ child }) => child.gone));
  }

  get #idle(): readonly Runner[] {
    return [...this.#kept].filter(({ child }) => child.isLoaded);
  }

  get #hasRoom(): boolean {
    return this.#kept.size < this.#options.count;
  }

  #takeBack(runner: Runner): void {
    if (runner.child.isGone) return;
    if (this.#isClosed || !this.#hasRoom) runner.kill("it is not needed");
    else {
      this.#reserved.delete(runner);
      this.#kept.add(runner);
    }
  }

  #load(): Runner {
    const runner = new Runner(this.#options);
    this.#kept.add(runner);
    void runner.child.gone.then((exit) => {
      const wasOurs = this.#kept.delete(runner);
      this.#reserved.delete(runner);
      if (!wasOurs || this.#isClosed) return;
      this.#deaths += 1;
      this.#options.log.warn({ exit, lines: runner.child.lastLines }, "idle runner ended");
      this.#refill ??= setTimeout(
        () => {
          this.#refill = undefined;
          this.fill();
        },
        backoff(this.#deaths, this.#options),
      );
    });
    return runner;
  }
}

/** Of all its threads, and of those that they start from now on. */
function lowerPriority(pid: number | undefined, niceness: number): void {
  if (pid === undefined) return;
  try {
    for (const thread of readdirSync(`/proc/${pid}/task`)) setPriority(Number(thread), niceness);
  } catch {
    // It has exited, which is reported.
  }
}

interface Flow {
  readonly phase: LaunchPhase;
  readonly outcome: "flowing" | "aborted" | RunEnd | typeof TIMED_OUT;
}

async function awaitFlow(runner: Runner, graphMs: number, sourceMs: number, signal: AbortSignal): Promise<Flow> {
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
