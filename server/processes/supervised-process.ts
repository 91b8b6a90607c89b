/**
 * One process that this machine holds: kept running through as many runners as it takes, until it has finished or
 * failed, or is given up because the server ends or another machine took it. Owns its runs, followers and feed.
 */
import type { Logger } from "pino";
import type { JsonRecord } from "../../schemas/json.ts";
import { maskCredentials } from "../../schemas/mask.ts";
import type { RunnerStats } from "../../schemas/runner.ts";
import { ServiceError } from "../service-error.ts";
import type { AttachedOutput } from "../store/attachments.ts";
import { type Claim, type ProcessSnapshot, releaseClaim, saveSnapshot } from "../store/claims.ts";
import type { Sql } from "../store/client.ts";
import type { ProcessRow } from "../store/processes.ts";
import { Feed } from "./feed.ts";
import { Followers } from "./followers.ts";
import { attachmentOf, FEED, makeJob } from "./job.ts";
import { Judge } from "./judge.ts";
import { Meter } from "./meter.ts";
import type { PictureSocket, PictureSockets } from "./picture-sockets.ts";
import type { Picture, ProcessError, ProcessNotice, ProcessState } from "./processes.ts";
import { refuseOffer, refuseRequest, refuseStart, refuseState } from "./refusals.ts";
import type { RestartRule } from "./restart.ts";
import { Run, type RunEnd, type RunLimits } from "./run.ts";
import { type Runner, type RunnerOrder, type RunnerReport, RunnerSilence } from "./runner.ts";
import { sleep } from "./sleep.ts";
import { StateWriter } from "./state-writer.ts";
import { TrackIds } from "./track-ids.ts";

/** What comes in. */
export interface ProcessInput {
  /** With credentials. */
  readonly uri: string;
  readonly isFile: boolean;
}

/** What a process can be asked for, as its graph says. */
export interface ProcessOffers {
  readonly offers: ReadonlySet<string>;
  readonly slots: Readonly<Record<string, unknown>>;
}

export interface ProcessLimits extends RunLimits {
  readonly startMs: number;
  readonly loadMs: number;
  readonly giveUpMs: number;
  /** What a client is promised must be written down within this time. */
  readonly saveMs: number;
  readonly restart: RestartRule;
}

export interface ProcessNeeds {
  readonly sql: Sql;
  readonly log: Logger;
  readonly limits: ProcessLimits;
  readonly pictures: PictureSockets;
  takeRunner(): Promise<Runner>;
}

export interface ProcessParts extends ProcessOffers {
  readonly row: ProcessRow;
  readonly input: ProcessInput;
  readonly outputs: readonly AttachedOutput[];
}

/** `halt`: it is given up, and what should be stays as it is. `lose`: it is not ours any more. */
type Intent = "run" | "stop" | "halt" | "lose";
type Launched = { readonly run: Run } | { readonly end: RunEnd };

const LIVING: readonly ProcessState[] = ["running", "paused"];

export class SupervisedProcess {
  readonly row: ProcessRow;
  readonly meter = new Meter();
  /** Settles when no runner is left and its end is written down, or never will be. Never rejects. */
  readonly ended: Promise<void>;
  readonly #parts: ProcessParts;
  readonly #needs: ProcessNeeds;
  readonly #log: Logger;
  readonly #claim: Claim;
  readonly #writer: StateWriter;
  readonly #followers: Followers;
  readonly #feed: Feed;
  readonly #judge: Judge;
  readonly #trackIds: TrackIds;
  readonly #outputs: Map<string, AttachedOutput>;
  readonly #interruption = new AbortController();
  #settle: () => void = () => {};
  #intent: Intent = "run";
  #state: ProcessState = "starting";
  #error: ProcessError | null = null;
  #desired: ProcessRow["desired"];
  #live: ProcessRow["live"];
  #positionNs: number;
  #restarts: number;
  #startedAt: Date | null;
  /** A file's first frame counts as taken then, in every run. */
  readonly #epochMs: number;
  #finishedAt: Date | null = null;
  #reconnecting = false;
  #stats: RunnerStats | null = null;
  #run: Run | null = null;
  #hasFlowed = false;
  /** The first start succeeded, or was another server's. */
  #isKept = false;
  #pictureSocket: PictureSocket | null = null;
  #endTimer: NodeJS.Timeout | undefined;
  /** What is asked of it happens one after the other. */
  #turn: Promise<unknown> = Promise.resolve();

  constructor(parts: ProcessParts, needs: ProcessNeeds) {
    const { row } = parts;
    this.row = row;
    this.#parts = parts;
    this.#needs = needs;
    this.#log = needs.log.child({ process: row.uuid });
    this.#claim = { uuid: row.uuid, fence: row.fence };
    this.#desired = row.desired;
    this.#live = row.live;
    this.#positionNs = row.positionNs;
    this.#restarts = row.restarts;
    this.#startedAt = row.startedAt;
    this.#epochMs = (row.startedAt ?? new Date()).getTime();
    this.#trackIds = new TrackIds(row.nextTrackId);
    this.#judge = new Judge(needs.limits.restart, needs.limits.giveUpMs);
    this.#outputs = new Map(parts.outputs.map((output) => [output.outputUuid, output]));
    this.ended = new Promise((resolve) => {
      this.#settle = resolve;
    });
    this.#followers = new Followers((error) => this.#log.error({ err: error }, "a follower threw"));
    this.#feed = new Feed({
      attach: (attachment) => this.#ask({ type: "attach", attachment, slot: FEED, params: {} }),
      detach: (attachment) => this.#ask({ type: "detach", attachment }),
    });
    this.#writer = new StateWriter({
      write: (snapshot) => saveSnapshot(needs.sql, this.#claim, snapshot),
      onLost: () => this.lose(),
      onTrouble: (error) => this.#log.warn({ err: error }, "its state could not be written down; it is tried again"),
    });
  }

  get fence(): number {
    return this.#claim.fence;
  }

  get state(): ProcessState {
    return this.#state;
  }

  get error(): ProcessError | null {
    return this.#error;
  }

  get startedAt(): Date | null {
    return this.#startedAt;
  }

  get finishedAt(): Date | null {
    return this.#finishedAt;
  }

  get reconnecting(): boolean {
    return this.#reconnecting;
  }

  get restarts(): number {
    return this.#restarts;
  }

  /** Null while no runner has told any. */
  get stats(): RunnerStats | null {
    return this.#stats;
  }

  get runnerPid(): number | undefined {
    return this.#run?.pid;
  }

  get isActive(): boolean {
    return this.#state !== "finished" && this.#state !== "failed";
  }

  /**
   * The first start. The source's data must come within the limit; half of it is left to the source even when the runner
   * took long to load. Rejects when it comes to nothing: then no runner is left, and it has ended.
   */
  async start(limitMs: number, signal: AbortSignal | undefined): Promise<void> {
    const withdraw = (): void => void this.stop();
    signal?.addEventListener("abort", withdraw);
    if (signal?.aborted) withdraw();
    const launched = await this.#launch(performance.now() + limitMs, limitMs / 2);
    signal?.removeEventListener("abort", withdraw);
    if ("end" in launched) {
      await this.abandon();
      throw refuseStart(launched.end, this.#parts.input.isFile);
    }
    this.#isKept = true;
    void this.#keep(launched.run);
    this.#startedAt = new Date(this.#epochMs);
    await this.#inTurn(() => this.#goOn());
    await this.#saved(this.#save());
  }

  /** Of a start that came to nothing: ends it, if it has not ended yet, without a word to the database. */
  async abandon(): Promise<void> {
    this.#writer.close();
    if (this.#isKept) return this.stop();
    this.#state = "failed";
    this.#forgetRun();
    this.#close();
    this.#settle();
  }

  /** Goes on with what another server left. */
  resume(): void {
    this.#isKept = true;
    void this.#keep(null);
  }

  pause(): Promise<void> {
    return this.#inTurn(async () => {
      this.#expect(["running"], "paused");
      await this.#ask({ type: "pause" });
      this.#expect(["running"], "paused");
      this.#desired = "paused";
      await this.#saved(this.#enter("paused"));
    });
  }

  unpause(): Promise<void> {
    return this.#inTurn(async () => {
      this.#expect(["paused"], "resumed");
      await this.#ask({ type: "resume" });
      this.#expect(["paused"], "resumed");
      this.#desired = "running";
      await this.#saved(this.#enter("running"));
      await this.#feed.sync();
    });
  }

  /** At any moment, any number of times. Resolves when it is gone. `error` is why, if not because somebody wished it. */
  async stop(error: ProcessError | null = null): Promise<void> {
    if (this.#intent === "run" && this.isActive) {
      this.#intent = "stop";
      this.#error = error;
      this.#desired = "stopped";
      void this.#enter("stopping");
      this.#interruption.abort();
      void this.#run?.stop();
    }
    await this.ended;
  }

  /** The server ends: the runner goes, what should be stays, and whoever comes next may have it at once. */
  async halt(): Promise<void> {
    if (this.#intent === "run") this.#intent = "halt";
    this.#interruption.abort();
    void this.#run?.stop();
    await this.ended;
  }

  /** Somebody else runs it: ours must not. */
  lose(): void {
    if (this.#intent === "lose" || !this.isActive) return;
    this.#log.warn("this process is not ours any more");
    this.#intent = "lose";
    this.#writer.close();
    this.#interruption.abort();
    this.#run?.kill("the process is another machine's now");
  }

  /** Nothing is written any more, whatever comes. */
  closeWriter(): void {
    this.#writer.close();
  }

  /** To the database: how far it is. */
  saveProgress(): void {
    if (LIVING.includes(this.#state)) void this.#save();
  }

  attach(output: AttachedOutput): Promise<void> {
    return this.#inTurn(async () => {
      this.#expect(LIVING, "given an output");
      const attachment = attachmentOf(output);
      if (attachment !== null) {
        const { id, slot, params } = attachment;
        this.expectSlot(slot);
        await this.#ask({ type: "attach", attachment: id, slot, params });
      }
      this.#outputs.set(output.outputUuid, output);
    });
  }

  detach(outputUuid: string): Promise<void> {
    return this.#inTurn(async () => {
      const output = this.#outputs.get(outputUuid);
      if (output === undefined) return;
      this.#expect(LIVING, "relieved of an output");
      if (attachmentOf(output) !== null) await this.#ask({ type: "detach", attachment: outputUuid });
      this.#outputs.delete(outputUuid);
    });
  }

  expectLiving(wish: string): void {
    this.#expect(LIVING, wish);
  }

  expectSlot(slot: string): void {
    const slots = Object.keys(this.#parts.slots);
    if (!slots.includes(slot)) throw refuseOffer(this.row.graph, slot, slots);
  }

  expectOffer(offer: string): void {
    const offers = [...this.#parts.offers, ...Object.keys(this.#parts.slots)];
    if (!offers.includes(offer)) throw refuseOffer(this.row.graph, offer, [...new Set(offers)]);
  }

  setProperties(nodes: ProcessRow["live"]): Promise<void> {
    return this.#inTurn(async () => {
      this.#expect(LIVING, "changed");
      await this.#ask({ type: "set", nodes });
      this.#live = mergeLive(this.#live, nodes);
      await this.#saved(this.#save());
    });
  }

  describe(format: "json" | "dot" | "mermaid" | "launch"): Promise<unknown> {
    return this.#inTurn(async () => {
      this.#expect(LIVING, "described");
      return this.#ask({ type: "describe", format });
    });
  }

  async deliver(channel: string, message: JsonRecord): Promise<void> {
    this.#expect(LIVING, "sent something");
    await this.#ask({ type: "deliver", channel, message });
  }

  follow(listener: (notice: ProcessNotice) => void): () => void {
    listener({ type: "state", state: this.#state, error: this.#error });
    return this.#followers.add(listener);
  }

  /** While it is paused or started again, the feed comes with the next frames. */
  async watch(listener: (picture: Picture) => void): Promise<() => Promise<void>> {
    this.expectSlot(FEED);
    const leave = this.#feed.add(listener);
    const sync = () => this.#inTurn(async () => (this.#state === "running" ? this.#feed.sync() : undefined));
    const stop = async (): Promise<void> => {
      leave();
      // A runner that is gone has no feed to take away.
      await sync().catch(() => {});
    };
    try {
      await sync();
    } catch (error) {
      await stop();
      throw error;
    }
    return stop;
  }

  async #keep(first: Run | null): Promise<void> {
    this.#scheduleEnd();
    let end = first === null ? null : await first.ended;
    for (;;) {
      this.#forgetRun();
      if (this.#intent === "halt" || this.#intent === "lose") return this.#giveUp();
      if (this.#intent === "stop") return this.#conclude("finished", this.#error);
      if (end !== null && !(await this.#mayGoOn(end))) return;
      const launched = await this.#launch(this.#relaunchDeadlineMs(), 0);
      if ("run" in launched) {
        await this.#inTurn(() => this.#goOn()).catch((error) => this.#log.warn({ err: error }, "it did not go on"));
        end = await launched.run.ended;
      } else {
        end = launched.end;
      }
    }
  }

  /** False when that was its end. Otherwise the wait until the next run is over. */
  async #mayGoOn(end: RunEnd): Promise<boolean> {
    const verdict = this.#judge.judge(end, {
      isFile: this.#parts.input.isFile,
      hasFlowed: this.#hasFlowed,
      nowMs: performance.now(),
      random: Math.random(),
    });
    if ("state" in verdict) {
      await this.#conclude(verdict.state, verdict.error);
      return false;
    }
    this.#log.warn({ end, waitMs: Math.round(verdict.waitMs) }, "its runner ended; it is started again");
    if (verdict.isCrash) this.#restarts++;
    else this.#reconnect(true);
    void this.#enter("starting");
    await sleep(verdict.waitMs, this.#interruption.signal);
    return true;
  }

  /** Resolves when data flows, or with how it ended before that. `leastMs`: the source has so long in any case. */
  async #launch(deadlineMs: number, leastMs: number): Promise<Launched> {
    this.#hasFlowed = false;
    const { signal } = this.#interruption;
    if (signal.aborted) return { end: { kind: "stopped" } };
    let runner: Runner;
    try {
      this.#pictureSocket ??= await this.#needs.pictures.listen((picture) => this.#feed.show(picture));
      runner = await this.#needs.takeRunner();
    } catch (error) {
      return { end: { kind: "crash", detail: `no runner could be had: ${(error as Error).message}` } };
    }
    const hasViewers = this.#feed.hasViewers;
    const run = new Run(runner, this.#makeJob(hasViewers), this.#needs.limits, (report) => this.#hear(report));
    this.#run = run;
    this.#feed.noteRun(hasViewers);
    if (signal.aborted) void run.stop();
    const limitMs = Math.max(leastMs, deadlineMs - performance.now());
    const waiting = new AbortController();
    const late = sleep(limitMs, waiting.signal).then(() => "late" as const);
    const first = await Promise.race([run.flowing.then(() => "flowing" as const), run.ended, late]);
    waiting.abort();
    if (first === "flowing") return { run };
    if (first !== "late") return { end: first };
    run.kill("no data came in time");
    const end = await run.ended;
    if (end.kind !== "crash") return { end };
    const detail = `no data came within ${(limitMs / 1000).toFixed(1)} s`;
    return { end: { kind: this.#parts.input.isFile ? "crash" : "source", detail } };
  }

  #makeJob(hasViewers: boolean) {
    return makeJob({
      row: this.row,
      sourceUri: this.#parts.input.uri,
      positionNs: this.#parts.input.isFile ? this.#positionNs : 0,
      epochMs: this.#epochMs,
      firstTrackId: this.#trackIds.next,
      outputs: [...this.#outputs.values()],
      hasViewers,
      pictureSocket: this.#pictureSocket?.path ?? "",
      giveUpSeconds: this.#needs.limits.giveUpMs / 1000,
    });
  }

  #relaunchDeadlineMs(): number {
    const { loadMs, startMs } = this.#needs.limits;
    const nowMs = performance.now();
    return nowMs + (this.#parts.input.isFile ? loadMs : Math.max(startMs, this.#judge.patienceMs(nowMs)));
  }

  /** Data flows: makes it what it should be. */
  async #goOn(): Promise<void> {
    if (this.#run === null || this.#intent !== "run") return;
    this.#judge.noteFlowing();
    this.#reconnect(false);
    if (Object.keys(this.#live).length > 0) await this.#ask({ type: "set", nodes: this.#live });
    const isPaused = this.#desired === "paused";
    if (isPaused) await this.#ask({ type: "pause" });
    if (this.#intent !== "run") return;
    void this.#enter(isPaused ? "paused" : "running");
    if (!isPaused && this.#hasFeed) await this.#feed.sync();
  }

  get #hasFeed(): boolean {
    return FEED in this.#parts.slots;
  }

  #hear(report: RunnerReport): void {
    if (report.type === "flowing") this.#hasFlowed = true;
    else if (report.type === "message") this.#pass(report.channel, report.message as JsonRecord);
    else if (report.type === "progress") this.#advance(report);
    else if (report.type === "reconnecting") this.#reconnect(report.reconnecting);
    else if (report.type === "log")
      this.#log.info({ node: report.node, level: report.level }, maskCredentials(report.message));
  }

  #pass(channel: string, message: JsonRecord): void {
    if (this.#trackIds.noteMessage(message)) void this.#save();
    this.#followers.tell({ type: "message", channel, message });
  }

  #advance({ positionNs, nextTrackId, runningMs, stats }: RunnerReport & { type: "progress" }): void {
    const position = Number(positionNs);
    if (Number.isSafeInteger(position)) this.#positionNs = position;
    this.meter.record(runningMs);
    this.#stats = stats;
    if (this.#trackIds.advance(nextTrackId)) void this.#save();
    this.#followers.tell({ type: "stats", stats: { ...stats, restarts: this.#restarts } });
  }

  #reconnect(reconnecting: boolean): void {
    if (this.#reconnecting === reconnecting) return;
    this.#reconnecting = reconnecting;
    this.#followers.tell({ type: "reconnecting", reconnecting });
  }

  #forgetRun(): void {
    this.#run = null;
    this.#stats = null;
    this.meter.endRun();
  }

  /** Resolves when it is written down. */
  #enter(state: ProcessState): Promise<void> {
    if (this.#state !== state) {
      this.#log.info({ from: this.#state, to: state, error: this.#error }, "state");
      this.#state = state;
      this.#followers.tell({ type: "state", state, error: this.#error });
    }
    return this.#save();
  }

  async #conclude(state: "finished" | "failed", error: ProcessError | null): Promise<void> {
    this.#error = error === null ? null : { ...error, detail: maskCredentials(error.detail) };
    this.#desired = "stopped";
    this.#finishedAt = new Date();
    this.#reconnecting = false;
    const saved = this.#enter(state);
    this.#close();
    await saved;
    this.#settle();
  }

  /** Ends here; goes on elsewhere, or later. */
  async #giveUp(): Promise<void> {
    if (this.#intent === "halt") {
      await this.#writer.save({ ...this.#snapshot(), nextTrackId: this.#trackIds.next });
      this.#writer.close();
      await releaseClaim(this.#needs.sql, this.#claim).catch(() => {});
    }
    this.#close();
    this.#settle();
  }

  #close(): void {
    clearTimeout(this.#endTimer);
    this.#pictureSocket?.close();
    this.#pictureSocket = null;
    this.#followers.tell({ type: "ended" });
  }

  #scheduleEnd(): void {
    if (this.row.endsAt === null) return;
    const leftMs = Math.max(0, this.row.endsAt.getTime() - Date.now());
    this.#endTimer = setTimeout(() => void this.stop(), leftMs);
  }

  #save(): Promise<void> {
    return this.#writer.save(this.#snapshot());
  }

  #snapshot(): ProcessSnapshot {
    return {
      desired: this.#desired,
      live: this.#live,
      state: this.#state,
      errorCode: this.#error?.code ?? null,
      errorDetail: this.#error?.detail ?? null,
      positionNs: this.#positionNs,
      nextTrackId: this.#trackIds.reserved,
      restarts: this.#restarts,
      startedAt: this.#startedAt,
      finishedAt: this.#finishedAt,
    };
  }

  /** What is promised is written down: else the client is told that it may not last. */
  async #saved(saving: Promise<void>): Promise<void> {
    const waiting = new AbortController();
    const late = sleep(this.#needs.limits.saveMs, waiting.signal).then(() => "late");
    const first = await Promise.race([saving, late]);
    waiting.abort();
    if (first === "late")
      throw new ServiceError("database_unavailable", {
        detail: "it is done, but could not be written down yet; ask for the process before you try again",
      });
  }

  async #ask(order: RunnerOrder): Promise<unknown> {
    const run = this.#run;
    if (run === null) throw refuseState(this.#state, "asked for that", LIVING);
    try {
      return await run.request(order);
    } catch (error) {
      if (this.#intent !== "run") throw refuseState("stopping", "asked for that", LIVING);
      // It hangs. What follows is a crash, and a restart.
      if (error instanceof RunnerSilence) run.kill(error.message);
      throw refuseRequest(error as Error);
    }
  }

  #expect(states: readonly ProcessState[], wish: string): void {
    if (!states.includes(this.#state)) throw refuseState(this.#state, wish, states);
  }

  #inTurn<T>(act: () => Promise<T>): Promise<T> {
    const done = this.#turn.then(act, act);
    this.#turn = done.catch(() => {});
    return done;
  }
}

function mergeLive(before: ProcessRow["live"], nodes: ProcessRow["live"]): ProcessRow["live"] {
  const merged = { ...before };
  for (const [node, properties] of Object.entries(nodes)) merged[node] = { ...merged[node], ...properties };
  return merged;
}
