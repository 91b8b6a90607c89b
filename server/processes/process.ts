/**
 * A process on this node, from its launch to its end: one runner after the other until it finishes, fails, or is released
 * because the server shuts down or another node owns it. `state-machine.ts` lists its states.
 */
import type { Logger } from "pino";
import type { Config } from "../../schemas/config.ts";
import type { JsonRecord } from "../../schemas/json.ts";
import { maskCredentials } from "../../schemas/mask.ts";
import { Poller } from "../async/poller.ts";
import type { Semaphore } from "../async/semaphore.ts";
import { SerialQueue } from "../async/serial-queue.ts";
import { sleep } from "../async/timing.ts";
import type { AlertNode, GraphOrder } from "../graphs/library.ts";
import type { RouteOutput } from "../outputs/route-output.ts";
import type { Sql } from "../store/client.ts";
import type { AttachedOutput, BranchRow } from "../store/outputs.ts";
import type { ProcessRow } from "../store/processes.ts";
import { Commands } from "./commands.ts";
import { startFailed, tooBusy } from "./errors.ts";
import { Feed } from "./feed.ts";
import {
  type Launched,
  Launcher,
  type LaunchTimes,
  type ProcessLimits,
  SourceLocator,
  type StartLimit,
} from "./launch.ts";
import { ProcessBranches, ProcessOutputs } from "./outputs.ts";
import { ProcessRecord } from "./process-record.ts";
import type {
  FirstInput,
  ProcessError,
  ProcessInput,
  ProcessNotice,
  ProcessOffers,
  ProcessState,
} from "./processes.ts";
import { Recorder, type RecordingPlace } from "./recorder.ts";
import { Reports } from "./reports.ts";
import { RestartPolicy, type RunEnd, type RunFault } from "./restart-policy.ts";
import { type Runner, RunnerLink, type RunnerReport, SuppliedProperties, type SuppliedValues } from "./runner.ts";
import { RECORDING } from "./runner-folders.ts";
import type { RunnerPool } from "./runner-pool.ts";
import { type LifecycleState, StateMachine, storedState } from "./state-machine.ts";
import { explainOutputs, type LiveProcess, zeroRates } from "./view.ts";

/** What processes, their starts and their claims need of this node. */
export interface ProcessDeps {
  readonly sql: Sql;
  readonly config: Config;
  readonly log: Logger;
  /** Of this node, new with every start of the server. */
  readonly nodeUuid: string;
  /** No other server can use this database: earlier owners of processes have ended. */
  readonly isAlone: boolean;
  readonly limits: ProcessLimits;
  readonly pool: RunnerPool;
  /** Launches in parallel: many at once would slow each other down until all fail. */
  readonly slots: Semaphore;
  readonly routeOutput: RouteOutput;
  readonly recordings: RecordingPlace;
  /** Rejects with `graph_not_found`, or with `invalid_input` when the graph does not accept the values. */
  prepare(order: GraphOrder): Promise<ProcessOffers & { readonly params: JsonRecord }>;
  /**
   * Rejects with `source_not_found`, `source_file_missing` or `address_refused`. `isResumed`: it has run before, and
   * `locate` finds its current address when it is launched.
   */
  resolveInput(userUuid: string, sourceUuid: string, options?: { readonly isResumed: boolean }): Promise<FirstInput>;
}

export interface ProcessOptions extends ProcessOffers {
  readonly row: ProcessRow;
  readonly input: ProcessInput;
  readonly outputs: readonly AttachedOutput[];
  readonly branches: readonly BranchRow[];
  /** Its key has process recording. */
  readonly hasRecording: boolean;
}

export class Process {
  readonly row: ProcessRow;
  /** Where alert rules are evaluated; null where the graph does not. */
  readonly alertNode: AlertNode | null;
  readonly record: ProcessRecord;
  readonly branches: ProcessBranches;
  readonly feed: Feed;
  readonly commands: Commands;
  readonly reports: Reports;
  /** Resolves when no runner is left and the end is stored, or never will be. Never rejects. */
  readonly ended: Promise<void>;
  readonly #input: ProcessInput;
  readonly #log: Logger;
  readonly #machine: StateMachine;
  readonly #policy: RestartPolicy;
  readonly #launcher: Launcher;
  readonly #locator: SourceLocator;
  readonly #link: RunnerLink;
  readonly #outputs: ProcessOutputs;
  readonly #recorder: Recorder;
  readonly #supplied = new SuppliedProperties();
  readonly #tending: Poller;
  /** Aborts delays and launches. */
  readonly #interruption = new AbortController();
  /** The runner was stopped because its source has another address now. */
  #hasMoved = false;
  #endTimer: NodeJS.Timeout | undefined;
  #settle = (): void => {};

  constructor(options: ProcessOptions, deps: ProcessDeps) {
    const { row, input, slots } = options;
    const { limits, sql, recordings } = deps;
    const log = deps.log.child({ process: row.uuid });
    const queue = new SerialQueue();
    const machine = new StateMachine(row.startedAt === null ? "starting" : "restarting", (from, to) =>
      this.#onTransition(from, to),
    );
    const link = new RunnerLink(machine);
    const isRecorded = options.hasRecording && RECORDING in slots;
    this.row = row;
    this.alertNode = options.alertNode ?? null;
    this.#input = input;
    this.#log = log;
    this.#machine = machine;
    this.#link = link;
    this.record = new ProcessRecord(row, {
      ...{ sql, saveMs: limits.saveMs, isFile: input.isFile },
      onLost: () => this.lose(),
      onRetry: (error) => log.warn({ err: error }, "process state could not be stored"),
    });
    this.reports = new Reports({ row, record: this.record, link, log, config: deps.config });
    this.feed = new Feed({ link, queue, machine });
    this.#outputs = new ProcessOutputs(options.outputs, deps.routeOutput);
    this.branches = new ProcessBranches(options.branches, slots);
    this.#recorder = new Recorder({ processUuid: row.uuid, log, isOffered: isRecorded, recordings, machine, link });
    this.#policy = new RestartPolicy(limits.restart, limits.giveUpMs);
    this.#locator = new SourceLocator(input.locate, limits.lookupMs, () => this.#move());
    const attached = { outputs: this.#outputs, branches: this.branches, recorder: this.#recorder, feed: this.feed };
    const parts = { ...attached, row, input, machine, link, record: this.record, supplied: this.#supplied };
    this.#launcher = new Launcher({
      ...{ ...parts, limits, pool: deps.pool, slots: deps.slots, policy: this.#policy, locator: this.#locator },
      listener: {
        onReport: (report) => this.#handle(report),
        onPicture: (slot, picture) => this.feed.show(slot, picture),
      },
    });
    this.commands = new Commands({
      ...{ ...parts, sql, log, offers: options.offers, slots, queue, replyMs: limits.replyMs },
      prepare: (order) => deps.prepare(order),
    });
    this.ended = new Promise((resolve) => {
      this.#settle = resolve;
    });
    // What fails is retried, or fails because the runner ends.
    this.#tending = new Poller(async () => {
      await this.commands.tend().catch(() => {});
      return limits.lookupMs * (0.75 + Math.random() / 2);
    });
    this.#tending.start(limits.lookupMs);
  }

  /** As stored: `starting` while it is restarted. */
  get state(): ProcessState {
    return this.record.state;
  }

  /** It has neither finished nor failed. */
  get isActive(): boolean {
    return this.record.isActive;
  }

  get fence(): number {
    return this.record.claim.fence;
  }

  get runnerPid(): number | undefined {
    return this.#link.runner?.pid;
  }

  /** With all runners under this claim. */
  get runningMs(): number {
    return this.reports.meter.totalMs;
  }

  /** Newer than the database. */
  get view(): LiveProcess {
    const { shownState: state, error, lastError, restarts, framesLost, startedAt, finishedAt } = this.record;
    const { reconnecting, stats } = this.reports;
    const isFlowing = state === "running" && this.#link.runner !== null;
    return {
      ...{ state, error, lastError, restarts, framesLost, startedAt, finishedAt, reconnecting },
      restarting: this.reports.hasCrashed,
      outputs: explainOutputs(this.#outputs.states, state, reconnecting),
      recording: this.#recorder.state,
      telemetry: this.reports.telemetry?.info ?? null,
      // A runner that is paused or has ended reports no new rates.
      stats: stats === null || isFlowing ? stats : zeroRates(stats),
    };
  }

  /** The first start. Rejects within the limit; what is left then ends in the background. */
  async start(limit: StartLimit): Promise<LaunchTimes> {
    const signal = AbortSignal.any([this.#interruption.signal, limit.signal]);
    const launched = await this.#launch(true, signal);
    if ("end" in launched) {
      const { end, phase } = launched;
      this.#log.warn({ end, phase, isLate: limit.isLate }, "start failed");
      this.#withdraw(launched.gone);
      if (end.kind !== "stopped" || !limit.isLate) throw startFailed(end, this.#input.isFile);
      if (phase !== "source") throw tooBusy(limit.limitMs);
      throw startFailed(this.#launcher.describeLate(phase, (limit.limitMs / 1000).toFixed(1)), this.#input.isFile);
    }
    this.record.startedAt = new Date();
    void this.#run(launched.runner);
    await limit.race(this.#setUp());
    await limit.race(this.record.saveForClient());
    return launched.times;
  }

  /** Ends a start that failed, without storing it: its row is deleted. */
  abandon(): void {
    this.record.close();
    if (this.record.startedAt === null) this.#withdraw(Promise.resolve());
    else void this.stop();
  }

  /** Continues a process that another server ran. */
  resume(): void {
    void this.#run(null);
  }

  /** In any state, any number of times. Resolves when it has ended. `error`: the reason, if it is not a client's request. */
  async stop(error: ProcessError | null = null): Promise<void> {
    if (this.#machine.accepts("stop")) {
      this.record.error = error;
      this.record.desired = "stopped";
      this.#machine.apply("stop");
      this.#interrupt();
    }
    await this.ended;
  }

  /** The server shuts down: the runner ends, the process stays wanted, and its next owner can take it over at once. */
  async halt(): Promise<void> {
    this.#machine.apply("halt");
    this.#interrupt();
    await this.ended;
  }

  /** Another node owns it: it must not run here. */
  lose(): void {
    if (!this.#machine.apply("lose")) return;
    this.#log.warn("lease lost: another node owns this process");
    this.record.close();
    this.#link.runner?.kill("another node owns its process");
    this.#interrupt();
  }

  /** The listener receives the current state first. Returns a function that unsubscribes. */
  follow(listener: (notice: ProcessNotice) => void): () => void {
    return this.reports.follow(listener);
  }

  /** Publishes to all subscribers. */
  tell(notice: ProcessNotice): void {
    this.reports.notify(notice);
  }

  /** Adds properties that every runner has from its first frame on. Clients do not set these. */
  supplyLive(values: SuppliedValues): void {
    this.#supplied.add(values);
  }

  /** They have changed. Resolves when the runner, if there is one, has them. */
  syncSupply(): Promise<void> {
    return this.commands.syncSupplied();
  }

  /** Runner after runner, until no other one follows. */
  async #run(first: Runner | null): Promise<void> {
    this.#scheduleEnd();
    let end = first === null ? null : await first.ended;
    for (;;) {
      this.#endRun();
      if (!(await this.#continueAfter(end))) return;
      const launched = await this.#launch(false, this.#interruption.signal);
      if ("end" in launched) {
        await launched.gone;
        end = launched.end;
      } else {
        await this.#setUp().catch((error: Error) => {
          // A runner that cannot be set up is of no use: this counts as a crash.
          if (this.#machine.isWanted) launched.runner.kill(`its state could not be restored: ${error.message}`);
        });
        end = await launched.runner.ended;
      }
    }
  }

  #launch(isFirst: boolean, signal: AbortSignal): Promise<Launched> {
    this.reports.beginRun();
    return this.#launcher.launch(isFirst, signal);
  }

  /** Frames flow: sets the runner to the state that the process should have. */
  #setUp(): Promise<void> {
    this.#policy.noteFlowing();
    this.reports.hasCrashed = false;
    this.reports.noteFlowing();
    this.branches.noteFlowing();
    return this.commands.restore();
  }

  /** False when no runner follows. Otherwise the delay before the next one is over. */
  async #continueAfter(end: RunEnd | null): Promise<boolean> {
    if (end !== null && this.#machine.isWanted) await this.#decide(end);
    const { state } = this.#machine;
    if (state === "stopping") await this.#conclude("finish", this.record.error);
    if (state === "halting" || state === "lost") await this.#release(state);
    return this.#machine.isWanted;
  }

  async #decide(end: RunEnd): Promise<void> {
    if (this.#hasMoved) {
      this.#hasMoved = false;
      this.reports.setReconnecting(true);
      this.#machine.apply("restart");
      return;
    }
    if (end.kind === "crash") this.#noteCrash(end);
    const { isFile } = this.#input;
    const { hasFlowed } = this.reports;
    const decision = this.#policy.decide(end, {
      ...{ isFile, hasFlowed, nowMs: performance.now(), random: Math.random() },
    });
    if ("event" in decision) return this.#conclude(decision.event, decision.error);
    const { waitMs, isCrash } = decision;
    if (isCrash) this.#noteRestart(waitMs);
    else this.#noteSourceLost(end);
    this.#machine.apply("restart");
    await sleep(waitMs, this.#interruption.signal);
  }

  #noteCrash({ detail, node, trace = [] }: RunFault): void {
    const crash = { at: new Date(), node: node ?? null, detail: maskCredentials(detail), trace };
    this.#log.warn({ node: crash.node, detail: crash.detail, trace }, "runner crashed");
    this.record.lastError = crash;
    this.reports.hasCrashed = true;
  }

  #noteRestart(waitMs: number): void {
    this.#log.info({ waitMs: Math.round(waitMs) }, "runner restarts");
    this.record.restarts += 1;
    // A crash while restarting does not change the state: subscribers are notified here.
    if (this.#machine.state === "restarting") this.reports.notify({ type: "restarting", crash: this.record.lastError });
  }

  /** Logged once, however often the source is retried. */
  #noteSourceLost(end: RunEnd): void {
    if (!this.reports.reconnecting) this.#log.info({ end, source: this.row.sourceUrl }, "waiting for source");
    this.reports.setReconnecting(true);
  }

  #onTransition(from: LifecycleState, to: LifecycleState): void {
    const record = this.record;
    const state = storedState(to);
    if (state === null) return;
    const isChange = from !== to;
    record.state = state;
    if (to === "withdrawn") return;
    if (isChange) {
      const { error, lastError } = record;
      this.#log.info({ from, to, error }, "process state changed");
      this.reports.telemetry?.noteRunner(to === "running" || to === "paused" ? to : "gone");
      this.reports.notify(
        to === "restarting"
          ? { type: "restarting", crash: this.reports.hasCrashed ? lastError : null }
          : { type: "state", state, error, lastError },
      );
    }
    void record.save();
  }

  /** Ends whatever is being waited for. */
  #interrupt(): void {
    this.#interruption.abort();
    void this.#link.runner?.stop();
  }

  /** The next runner finds the source at its new address. */
  #move(): void {
    this.#log.info("source has another address; restarting");
    this.#hasMoved = true;
    void this.#link.runner?.stop();
  }

  #endRun(): void {
    this.#link.runner = null;
    this.#locator.setLost(false);
    this.#outputs.endRun();
    this.branches.endRun();
    this.#recorder.endRun();
    this.reports.meter.endRun();
  }

  /** It ends, without storing it, as soon as no runner is left. */
  #withdraw(gone: Promise<unknown>): void {
    if (!this.#machine.apply("withdraw")) return;
    this.record.close();
    void gone.then(() => {
      this.#endRun();
      this.#close();
      this.#settle();
    });
  }

  async #conclude(event: "finish" | "fail", error: ProcessError | null): Promise<void> {
    const record = this.record;
    this.reports.hasCrashed = false;
    if (event === "fail") record.loseFrames(this.reports.framesLeft);
    record.error = error === null ? null : { ...error, detail: maskCredentials(error.detail) };
    record.desired = "stopped";
    record.finishedAt = new Date();
    this.reports.setReconnecting(false);
    this.#machine.apply(event);
    this.#close();
    await record.save();
    this.#settle();
  }

  /** It continues elsewhere, or later. */
  async #release(state: "halting" | "lost"): Promise<void> {
    this.#close();
    if (state === "halting") await this.record.release();
    this.#machine.apply("release");
    this.#settle();
  }

  #close(): void {
    clearTimeout(this.#endTimer);
    this.reports.telemetry?.close();
    void this.#tending.close();
    this.#input.release?.();
    this.reports.notify({ type: "ended" });
  }

  #scheduleEnd(): void {
    const { endsAt } = this.row;
    if (endsAt === null) return;
    this.#endTimer = setTimeout(() => void this.stop(), Math.max(0, endsAt.getTime() - Date.now()));
  }

  #handle(report: RunnerReport): void {
    this.reports.handle(report);
    if (report.type === "reconnecting") this.#locator.setLost(report.reconnecting);
    if (report.type !== "attachment") return;
    this.#outputs.handle(report);
    this.branches.handle(report);
    this.#recorder.handle(report);
  }
}
