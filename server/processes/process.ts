/**
 * A process on this node, from its launch to its end: one runner after the other until it finishes, fails, or is released
 * because the server shuts down or another node owns it. `lifecycle.ts` lists its states.
 */
import type { Logger } from "pino";
import type { Config } from "../../schemas/config.ts";
import type { JsonRecord } from "../../schemas/json.ts";
import type { ModelFiles, RunnerJob, RunnerMessage } from "../../schemas/runner.ts";
import { readListeningPort } from "../../schemas/srt-address.ts";
import { TELEMETRY_CHANNEL } from "../../schemas/telemetry.ts";
import { Poller } from "../async/poller.ts";
import { SerialQueue } from "../async/serial-queue.ts";
import { backoff, MAX_TIMER_MS, type RequestLimit, sleep, unlessAborted, withTimeout } from "../async/timing.ts";
import type { ClusterNode } from "../cluster/node.ts";
import type { GraphOrder, PreparedOrder } from "../graphs/library.ts";
import type { MediaHub } from "../media/media-hub.ts";
import type { RouteOutput } from "../outputs/route-output.ts";
import { SourceLocator } from "../sources/sources.ts";
import type { Sql } from "../store/client.ts";
import type { ProcessRow } from "../store/processes.ts";
import type { Span } from "../tracing/span.ts";
import { Attachments, type AttachmentsOptions, type SuppliedValues } from "./attachments.ts";
import { Commands } from "./commands.ts";
import { describeLate, startFailed, tooBusy } from "./errors.ts";
import { RestartPolicy, type RunEnd, StateMachine } from "./lifecycle.ts";
import { ProcessRecord } from "./process-record.ts";
import type {
  FirstInput,
  ProcessError,
  ProcessInput,
  ProcessLimits,
  ProcessNotice,
  ProcessOffers,
  ProcessState,
  UpgradeAnswer,
  UpgradeOrder,
} from "./processes.ts";
import type { RecordingPlace } from "./recorder.ts";
import { failLaunch, type Launched, type LaunchTimes, type Runner, RunnerLink, type RunnerPool } from "./runner.ts";
import { Shadow } from "./shadow.ts";
import { Upgrades } from "./upgrade.ts";
import { type LiveProcess, viewProcess } from "./view.ts";

/** What processes, their starts and their claims need of this node. */
export interface ProcessDeps {
  readonly sql: Sql;
  readonly config: Config;
  readonly log: Logger;
  readonly node: ClusterNode;
  readonly limits: ProcessLimits;
  readonly pool: RunnerPool;
  readonly listeners?: readonly ProcessListener[] | undefined;
  readonly routeOutput: RouteOutput;
  readonly recordings: RecordingPlace;
  /** Where cameras are published, to be recorded. */
  readonly hub?: Pick<MediaHub, "issueToken">;
  /** The files of models that the user has uploaded, by name. Default: none has. */
  openModels?(userUuid: string, names: readonly string[]): Promise<Readonly<Record<string, ModelFiles>>>;
  /** Rejects with `graph_not_found`, or with `invalid_input` when the graph does not accept the values. */
  prepare(
    order: GraphOrder,
  ): Promise<ProcessOffers & { readonly params: JsonRecord } & Partial<Pick<PreparedOrder, "plan">>>;
  /**
   * Rejects with `source_not_found`, `source_file_missing` or `address_refused`. `isResumed`: it has run before, and
   * `locate` finds its current address when it is launched.
   */
  resolveInput(userUuid: string, sourceUuid: string, options?: { readonly isResumed: boolean }): Promise<FirstInput>;
}

/** Follows every process of this node from its beginning: tracks, alerts, webhooks. */
export interface ProcessListener {
  follow(process: Process): void;
  /** Resolves when everything so far is stored. Rejects, or waits, while the database is unreachable. */
  flush(): Promise<void>;
}

export interface ProcessOptions extends ProcessOffers, Omit<AttachmentsOptions, "isPulled"> {
  readonly input: ProcessInput;
  /** Of its first start; null or undefined: it is not traced. */
  readonly span?: Span | null;
}

export class Process {
  readonly row: ProcessRow;
  readonly record: ProcessRecord;
  readonly attachments: Attachments;
  readonly commands: Commands;
  readonly shadow: Shadow;
  /** Resolves when no runner is left and the end is stored, or never will be. Never rejects. */
  readonly ended: Promise<void>;
  readonly #input: ProcessInput;
  /** In texts for clients. */
  readonly #source: { readonly url: string; readonly isFile: boolean };
  readonly #deps: ProcessDeps;
  readonly #log: Logger;
  readonly #machine: StateMachine;
  readonly #policy: RestartPolicy;
  readonly #locator: SourceLocator;
  readonly #link: RunnerLink;
  readonly #upgrades: Upgrades;
  /** Of everything that changes the runner. */
  readonly #queue = new SerialQueue();
  readonly #tending: Poller;
  /** Aborts delays and launches. */
  readonly #interruption = new AbortController();
  /** Uploaded models that the next runner gets. */
  #models: Readonly<Record<string, ModelFiles>> = {};
  /** Of a file: when its first runner was started. */
  #epoch: Date | null = null;
  /** The runner was stopped because its source has another address now. */
  #hasMoved = false;
  /** While it waits: launches in a row without a frame. */
  #failedLaunches = 0;
  #endTimer: NodeJS.Timeout | undefined;
  readonly #span: Span | null;
  /** While its first runner is launched. */
  #launching: Span | null = null;
  /** Until its first message. */
  #firstMessage: Span | null = null;
  #settle = (): void => {};

  constructor(options: ProcessOptions, deps: ProcessDeps) {
    const { row, input, span = null } = options;
    const { limits, sql, config, routeOutput, recordings, hub = null } = deps;
    const log = deps.log.child({ process: row.uuid, ...(span !== null && { trace_id: span.traceId }) });
    const begun = row.state === "waiting" ? "waiting" : "restarting";
    const machine = new StateMachine(row.startedAt === null ? "starting" : begun, (from, to) =>
      this.record.enter(from, to),
    );
    const link = new RunnerLink(machine);
    const queue = this.#queue;
    this.row = row;
    this.#span = span;
    this.#input = input;
    this.#source = { url: row.sourceUrl, isFile: input.isFile };
    this.#deps = deps;
    this.#log = log;
    this.#machine = machine;
    this.#link = link;
    this.record = new ProcessRecord(row, {
      ...{ sql, log, config, link, isFile: input.isFile, saveMs: limits.saveMs },
      offers: {
        offers: options.offers,
        slots: options.slots,
        alertNode: options.alertNode ?? null,
        models: options.models ?? [],
      },
      onLost: () => this.lose(),
    });
    this.attachments = new Attachments(
      { ...options, isPulled: input.isPulled === true },
      { record: this.record, link, machine, queue, log, routeOutput, recordings, hub },
    );
    this.#policy = new RestartPolicy(limits.restart, limits.giveUpMs);
    this.#locator = new SourceLocator(input.locate, limits.lookupMs, () => this.#move());
    this.commands = new Commands(options, {
      ...{ sql, log, queue, machine, link, record: this.record, attachments: this.attachments },
      replyMs: limits.replyMs,
      prepare: (order) => deps.prepare(order),
    });
    this.#upgrades = new Upgrades({
      ...{ row, input, sql, link, limits, record: this.record, attachments: this.attachments, commands: this.commands },
      prepare: (order) => deps.prepare(order),
    });
    this.shadow = new Shadow({
      ...{ row, input, sql, log, limits, record: this.record, pool: deps.pool },
      prepare: (order) => deps.prepare(order),
      openModels: async (names) => (await deps.openModels?.(row.userUuid, names)) ?? {},
      describeInput: (sourceUri) => this.#describeInput(sourceUri),
    });
    this.ended = new Promise((resolve) => {
      this.#settle = resolve;
    });
    // What fails is retried, or fails because the runner ends.
    this.#tending = new Poller(async () => {
      await this.attachments.tend().catch(() => {});
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

  /** It continues on another node, or with the next server: it reports nothing any longer. */
  get isLeaving(): boolean {
    const { state } = this.#machine;
    return state === "halting" || state === "lost" || state === "released";
  }

  get fence(): number {
    return this.record.claim.fence;
  }

  /** Capture time of second 0 of a video file; null for a live source, and before its first runner. */
  get videoStartMs(): number | null {
    return this.#epoch?.getTime() ?? null;
  }

  get runnerPid(): number | undefined {
    return this.#link.runner?.pid;
  }

  /** Newer than the database. */
  get view(): LiveProcess {
    return viewProcess(this.record, this.attachments, this.#link.runner !== null);
  }

  /** The first start. Rejects within the limit; what is left then ends in the background. */
  async start(limit: RequestLimit): Promise<Partial<LaunchTimes>> {
    if (this.row.wait !== null) {
      this.record.startedAt = new Date();
      this.#startWaiting();
      void this.#run(null);
      await limit.race(this.record.saveForClient());
      return {};
    }
    const signal = AbortSignal.any([this.#interruption.signal, limit.signal]);
    this.#launching = this.#span?.start("launch process", { "windhover.process": this.row.uuid }) ?? null;
    this.#firstMessage = this.#launching?.start("first message") ?? null;
    const launched = await this.#launch(true, signal);
    this.#launching?.end("end" in launched ? { error: launched.end.kind } : {});
    this.#launching = null;
    if ("end" in launched) {
      const { end, phase } = launched;
      this.#log.warn({ end, phase, isLate: limit.isLate }, "start failed");
      this.#withdraw(launched.gone);
      if (end.kind !== "stopped" || !limit.isLate) throw startFailed(end, this.#input.isFile);
      if (phase !== "source") throw tooBusy(limit.limitMs);
      throw startFailed(describeLate(phase, limit.limitMs, this.#source), this.#input.isFile);
    }
    // That of its messages: seconds of a file and capture times can be converted into each other.
    this.record.startedAt = this.#epoch ?? new Date();
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

  /** Its runner silences its outputs by itself when this time is over; null: never. */
  extendLease(untilMs: number | null): void {
    if (untilMs !== null) this.#link.runner?.extendLease(untilMs);
  }

  /** To another version of its graph. Resolves when that runs; when it does not, the process continues as it was. */
  upgrade(order: UpgradeOrder): Promise<UpgradeAnswer> {
    return this.#upgrades.run(order);
  }

  /** The listener receives the current state first. Returns a function that unsubscribes. */
  follow(listener: (notice: ProcessNotice) => void): () => void {
    return this.record.follow(listener);
  }

  /** Asks an element of its runner; null: none answers on the channel. Rejects with `ServiceError` while it has no runner. */
  ask(channel: string, message: JsonRecord): Promise<unknown> {
    return this.#link.request({ type: "ask", channel, message });
  }

  /** Publishes to all subscribers. */
  notify(notice: ProcessNotice): void {
    this.record.notify(notice);
  }

  /** Properties that every runner has from its first frame on. Clients do not set these. */
  supplyLive(values: SuppliedValues): void {
    this.attachments.supplied.values = values;
  }

  /** They have changed. Resolves when the runner has them; at once while there is none, which begins with them. */
  syncSupply(): Promise<void> {
    return this.#queue.run(async () => {
      if (this.#machine.isLive) await this.attachments.supplied.sync(this.#link);
    });
  }

  /** Runner after runner, until no other one follows. */
  async #run(first: Runner | null): Promise<void> {
    const { endsAt } = this.row;
    if (endsAt !== null)
      this.#endTimer = setTimeout(() => void this.stop(), Math.max(0, endsAt.getTime() - Date.now()));
    let end = first === null ? null : await first.ended;
    for (;;) {
      this.#endRun();
      if (!(await this.#continueAfter(end))) return;
      end = null;
      if (this.#machine.state === "waiting" && !(await this.#awaitSource())) continue;
      const signals = [this.#interruption.signal, this.#upgrades.signal].filter((signal) => signal !== null);
      const launched = await this.#launch(false, AbortSignal.any(signals));
      if ("end" in launched) {
        await launched.gone;
        end = launched.end;
        this.#upgrades.noteFailed("detail" in end ? end.detail : "it was stopped");
      } else {
        const setUp = this.#setUp().then(() => this.#upgrades.confirm(launched.runner));
        await setUp.catch((error: Error) => {
          this.#upgrades.noteFailed(error.message);
          // A runner that cannot be set up is of no use: this counts as a crash.
          if (this.#machine.isWanted) launched.runner.kill(`its state could not be restored: ${error.message}`);
        });
        end = await launched.runner.ended;
      }
    }
  }

  /** Its source is offline: without a runner until it may be there. */
  #startWaiting(): void {
    this.record.noteWaiting(this.row.wait?.seconds ?? null);
    this.#machine.apply("wait");
  }

  /** Its source may be offline now. */
  get #mayWait(): boolean {
    return this.row.wait !== null && (this.row.wait.keep || this.#machine.state === "waiting");
  }

  /** Resolves with true when the source may be there; with false when the process is to end, or has. */
  async #awaitSource(): Promise<boolean> {
    const { waitMs, waitPull } = this.#deps.limits;
    for (let attempt = 1; this.#machine.isWanted; attempt += 1) {
      const leftMs = this.#waitLeftMs;
      if (leftMs <= 0) {
        const detail = `no frame arrived from ${this.row.sourceUrl} within ${this.row.wait?.seconds} s (wait_seconds)`;
        await this.#conclude("fail", { code: "source_not_live", detail });
        return false;
      }
      const isThere = await unlessAborted(this.#input.locate(), this.#interruption.signal).then(
        () => true,
        () => false,
      );
      if (isThere) return this.#machine.isWanted;
      const pauseMs = this.#input.isPulled === true ? backoff(attempt, waitPull) : waitMs;
      await sleep(Math.min(pauseMs, leftMs), this.#interruption.signal);
    }
    return false;
  }

  get #waitLeftMs(): number {
    const { waitsUntil } = this.record;
    return waitsUntil === null ? Number.POSITIVE_INFINITY : waitsUntil.getTime() - Date.now();
  }

  /** Finds the source, then waits for a runner, its graph and the first frame. Never rejects. */
  async #launch(isFirst: boolean, signal: AbortSignal): Promise<Launched> {
    this.record.beginRun();
    let sourceUri: string;
    try {
      const prepared = Promise.all([
        this.#locator.find(),
        this.attachments.prepare(),
        this.#openModels(),
        // Without its telemetry a video is processed all the same.
        this.record.telemetry
          ?.prepare()
          .catch((error) => this.#log.warn({ err: error }, "telemetry could not be read")),
      ]);
      [sourceUri] = await unlessAborted(prepared, signal);
    } catch (error) {
      const { message: detail } = error as Error;
      return failLaunch("source", signal.aborted ? { kind: "stopped" } : { kind: "source", detail });
    }
    // Not before: a name lookup must not keep other launches waiting.
    const launched = await this.#deps.pool.launch({
      ...{ isFirst, signal },
      listener: {
        onReport: (report) => {
          this.record.handle(report);
          this.#trace(report);
          if (report.type === "attachment") this.attachments.handle(report);
          if (report.type === "reconnecting") this.#locator.setLost(report.reconnecting);
        },
        onPicture: (slot, picture) => this.attachments.feed.show(slot, picture),
      },
      begin: () => ({ job: this.#makeJob(sourceUri), ...(isFirst ? UNLIMITED : this.#retryLimits) }),
      ...{ source: this.#source, span: this.#launching },
    });
    if ("end" in launched) return launched;
    // In this tick: later interruptions find the runner in the link.
    if (!signal.aborted) this.#link.runner = launched.runner;
    else launched.runner.kill("the launch was aborted");
    return signal.aborted ? failLaunch("source", { kind: "stopped" }, launched.runner.ended) : launched;
  }

  /** What its first runner reports of its start, and its first message. */
  #trace(report: RunnerMessage): void {
    if (report.type === "spans")
      for (const { name, startMs, endMs } of report.spans) this.#launching?.start(name, {}, startMs).end({ endMs });
    if (this.#firstMessage === null || report.type !== "message" || !RESULTS.has(report.channel)) return;
    this.#firstMessage.end({ attributes: { "windhover.channel": report.channel } });
    this.#firstMessage = null;
  }

  async #openModels(): Promise<void> {
    const { models = [] } = this.record.graph;
    this.#models = (await this.#deps.openModels?.(this.row.userUuid, models)) ?? {};
  }

  #makeJob(sourceUri: string): RunnerJob {
    const { graph } = this.row;
    const { params, positionNs, trackIds, kept } = this.record;
    const { text: graphText } = this.record.graph;
    if (this.#input.isFile) this.#epoch ??= this.record.startedAt ?? new Date();
    const { validUntilMs } = this.#deps.node;
    const startedAt = this.#startedAt;
    const batch = startedAt === null ? null : this.record.telemetry?.beginRun(startedAt.getTime(), positionNs / 1e6);
    return {
      ...this.#describeInput(sourceUri),
      ...{ graph, graphText, params },
      ...(Object.keys(this.#models).length > 0 && { models: this.#models }),
      ...(batch != null && { deliver: [{ channel: TELEMETRY_CHANNEL, message: batch }] }),
      firstTrackId: trackIds.next,
      // A file that loops begins again, with other objects.
      ...(this.#input.loops !== true && kept.size > 0 && { kept: Object.fromEntries(kept) }),
      ...this.attachments.beginRun(),
      ...(validUntilMs !== null && { leaseUntilMs: validUntilMs }),
      ...(this.#launching !== null && { traceparent: this.#launching.traceparent }),
    };
  }

  /** The source, from its current position, and what of the machine belongs to it. */
  #describeInput(sourceUri: string) {
    const { uuid, sourceUrl, telemetryCfg } = this.row;
    const { folder: terrainFolder } = this.#deps.config.terrain;
    const { keepMs, giveUpMs } = this.#deps.limits;
    const sourceAddresses = this.#input.addresses?.() ?? [];
    const startedAt = this.#startedAt;
    return {
      ...{ uuid, sourceUri, sourceLabel: sourceUrl },
      ...(sourceAddresses.length > 0 && { sourceAddresses: [...sourceAddresses] }),
      ...(this.#input.loops === true && { sourceLoops: true }),
      ...(telemetryCfg?.type === "embedded" && { sourceMetadata: true }),
      positionNs: String(this.#input.isFile ? this.record.positionNs : 0),
      // The first frame is captured at the start.
      ...(startedAt !== null && { epochMs: startedAt.getTime() - (this.#input.startMs ?? 0) }),
      giveUpSeconds: (this.row.wait?.keep === true ? Math.min(keepMs, giveUpMs) : giveUpMs) / 1000,
      ...(terrainFolder !== null && { terrainFolder }),
    };
  }

  get #startedAt(): Date | null {
    return this.record.startedAt ?? this.#epoch;
  }

  /** Of a launch that no client waits for. A lost live source may take its time to return. */
  get #retryLimits(): typeof UNLIMITED {
    const { loadMs, startMs } = this.#deps.limits;
    if (this.#machine.state === "waiting") {
      // A listener can only be reached while its runner listens.
      const isListening = readListeningPort(this.row.sourceUrl) !== null;
      return { graphMs: loadMs, sourceMs: isListening ? Math.min(this.#waitLeftMs, MAX_TIMER_MS) : startMs * 2 };
    }
    const waitMs = Math.max(startMs, this.#policy.sourceWaitMs(performance.now()));
    return { graphMs: loadMs, sourceMs: this.#input.isFile ? loadMs : waitMs };
  }

  /** Frames flow: sets the runner to the state that the process should have. */
  #setUp(): Promise<void> {
    this.#policy.noteFlowing();
    this.record.noteFlowing();
    const { supplied, branches, feed } = this.attachments;
    branches.noteFlowing();
    const link = this.#link;
    return this.#queue.run(async () => {
      const { live, desired } = this.record;
      if (Object.keys(live).length > 0) await link.request({ type: "set", nodes: live });
      // They, and the viewers, may have changed since the job was made.
      await supplied.sync(link);
      if (this.#machine.state === "waiting") await this.attachments.syncOutputs();
      if (desired === "paused") await link.request({ type: "pause" });
      if (link.runner === null) return;
      if (!this.#machine.apply(desired === "paused" ? "pause" : "play")) return;
      if (desired === "running") await feed.sync();
    });
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
    if (end.kind === "crash") this.record.noteCrash(end);
    if (this.#upgrades.takeReplaced()) return void this.#machine.apply("restart");
    if (end.kind === "source" && this.#mayWait) return this.#waitAgain(end);
    const { hasFlowed } = this.record;
    const facts = { isFile: this.#input.isFile, hasFlowed, nowMs: performance.now(), random: Math.random() };
    const decision = this.#hasMoved ? { waitMs: 0, isCrash: false } : this.#policy.decide(end, facts);
    this.#hasMoved = false;
    if ("event" in decision) return this.#conclude(decision.event, decision.error);
    const { waitMs, isCrash } = decision;
    if (isCrash) this.#noteRestart(waitMs);
    else this.#noteSourceLost(end);
    this.#machine.apply("restart");
    await sleep(waitMs, this.#interruption.signal);
  }

  /** After a pause: a source that answers and sends no frames must not be tried without end. */
  async #waitAgain(end: RunEnd): Promise<void> {
    this.#failedLaunches = this.record.hasFlowed ? 0 : this.#failedLaunches + 1;
    if (this.#machine.state !== "waiting") this.#log.info({ end, source: this.row.sourceUrl }, "waiting for source");
    this.#startWaiting();
    if (this.#failedLaunches > 0)
      await sleep(backoff(this.#failedLaunches, this.#deps.limits.waitPull), this.#interruption.signal);
  }

  #noteRestart(waitMs: number): void {
    this.#log.info({ waitMs: Math.round(waitMs) }, "runner restarts");
    this.record.restarts += 1;
    // A crash while restarting does not change the state: subscribers are notified here.
    if (this.#machine.state === "restarting") this.record.notify({ type: "restarting", crash: this.record.lastError });
  }

  /** Logged once, however often the source is retried. */
  #noteSourceLost(end: RunEnd): void {
    if (!this.record.reconnecting) this.#log.info({ end, source: this.row.sourceUrl }, "waiting for source");
    this.record.setReconnecting(true);
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
    this.#firstMessage?.end({ error: "it ended before its first message" });
    this.#firstMessage = null;
    this.#locator.setLost(false);
    this.attachments.endRun();
    this.record.endRun();
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
    this.record.noteEnd(error, event === "fail");
    this.#machine.apply(event);
    this.#close();
    await this.record.save();
    this.#settle();
  }

  /** It continues elsewhere, or later. */
  async #release(state: "halting" | "lost"): Promise<void> {
    this.#close();
    if (state === "halting") {
      await this.#flush();
      await this.record.release();
    }
    this.#machine.apply("release");
    this.#settle();
  }

  /** What it has reported is stored while it is still its owner: later writes would be rejected. */
  async #flush(): Promise<void> {
    const { node, listeners = [], limits } = this.#deps;
    if (node.isAlone) return;
    await withTimeout(limits.saveMs, Promise.allSettled(listeners.map((listener) => listener.flush())));
  }

  #close(): void {
    clearTimeout(this.#endTimer);
    this.#upgrades.noteFailed("the process has ended");
    this.shadow.close();
    this.record.telemetry?.close();
    void this.#tending.close();
    this.#input.release?.();
    this.record.notify({ type: "ended" });
  }
}

/** Channels of messages for clients; others are for the service itself. */
const RESULTS: ReadonlySet<string> = new Set(["detection_data", "print"]);

/** A client waits, and its own limit applies. */
const UNLIMITED = { graphMs: Number.POSITIVE_INFINITY, sourceMs: Number.POSITIVE_INFINITY };
