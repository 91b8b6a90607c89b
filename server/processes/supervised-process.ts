/**
 * One process that this machine holds: kept running through as many runners as it takes, until it has finished or
 * failed, or is given up because the server ends or another machine took it. Owns its runs, followers and feed.
 */
import type { Logger } from "pino";
import type { JsonRecord } from "../../schemas/json.ts";
import { maskCredentials } from "../../schemas/mask.ts";
import type { AttachedOutput } from "../store/attachments.ts";
import type { LiveProperties, ProcessRow } from "../store/processes.ts";
import type { LiveProcess } from "./describe-process.ts";
import { Feed } from "./feed.ts";
import { attachmentOf, FEED, makeJob } from "./job.ts";
import { Judge } from "./judge.ts";
import { type Launched, type LaunchTimes, launch, type Patience } from "./launch.ts";
import { Ledger } from "./ledger.ts";
import type { PictureSocket } from "./picture-sockets.ts";
import type { ProcessNeeds, ProcessParts } from "./process-parts.ts";
import type { Picture, ProcessError, ProcessNotice, ProcessState } from "./processes.ts";
import { Reception } from "./reception.ts";
import { refuseOffer, refuseRequest, refuseRestarting, refuseStart, refuseState } from "./refusals.ts";
import type { Run, RunEnd } from "./run.ts";
import { type Runner, type RunnerOrder, type RunnerReport, RunnerSilence } from "./runner.ts";
import { sleep } from "./sleep.ts";
import { Turns } from "./turns.ts";
import { Whereabouts } from "./whereabouts.ts";

/** `halt`: it is given up, and what should be stays as it is. `lose`: it is not ours any more. */
type Intent = "run" | "stop" | "halt" | "lose";

const LIVING: readonly ProcessState[] = ["running", "paused"];

export class SupervisedProcess {
  readonly row: ProcessRow;
  /** Settles when no runner is left and its end is written down, or never will be. Never rejects. */
  readonly ended: Promise<void>;
  readonly #parts: ProcessParts;
  readonly #needs: ProcessNeeds;
  readonly #log: Logger;
  readonly #ledger: Ledger;
  readonly #reception: Reception;
  readonly #feed: Feed;
  readonly #judge: Judge;
  readonly #whereabouts: Whereabouts;
  readonly #outputs: Map<string, AttachedOutput>;
  /** What is asked of it happens one after the other. */
  readonly #turns = new Turns();
  readonly #interruption = new AbortController();
  #settle: () => void = () => {};
  #intent: Intent = "run";
  #run: Run | null = null;
  /** Its run was ended because the source is elsewhere now. */
  #hasMoved = false;
  /** Its first start succeeded, or was another server's. */
  #isKept = false;
  #pictureSocket: PictureSocket | null = null;
  #endTimer: NodeJS.Timeout | undefined;

  constructor(parts: ProcessParts, needs: ProcessNeeds) {
    const { row } = parts;
    this.row = row;
    this.#parts = parts;
    this.#needs = needs;
    this.#log = needs.log.child({ process: row.uuid });
    this.#judge = new Judge(needs.limits.restart, needs.limits.giveUpMs);
    this.#whereabouts = new Whereabouts(parts.input.locate, needs.limits.lookupMs, () => this.#move());
    this.#outputs = new Map(parts.outputs.map((output) => [output.outputUuid, output]));
    this.ended = new Promise((resolve) => {
      this.#settle = resolve;
    });
    this.#feed = new Feed({
      attach: (attachment) => this.#ask({ type: "attach", attachment, slot: FEED, params: {} }),
      detach: (attachment) => this.#ask({ type: "detach", attachment }),
    });
    this.#ledger = new Ledger(row, {
      sql: needs.sql,
      saveMs: needs.limits.saveMs,
      onLost: () => this.lose(),
      onTrouble: (error) => this.#log.warn({ err: error }, "its state could not be written down"),
    });
    this.#reception = new Reception(this.#ledger, this.#log);
  }

  get fence(): number {
    return this.#ledger.claim.fence;
  }

  get state(): ProcessState {
    return this.#ledger.state;
  }

  get isActive(): boolean {
    return this.#ledger.isActive;
  }

  get runnerPid(): number | undefined {
    return this.#run?.pid;
  }

  /** In all its runs under this claim. */
  get runningMs(): number {
    return this.#reception.meter.totalMs;
  }

  /** As it is now, which the database hears of a little later. */
  get view(): LiveProcess {
    const { error, restarts, startedAt, finishedAt } = this.#ledger;
    const { reconnecting, stats } = this.#reception;
    const state = this.#shownState;
    // A runner that is paused has told its last numbers while it ran.
    return { state, error, restarts, startedAt, finishedAt, reconnecting, stats: state === "running" ? stats : null };
  }

  /** What it is to clients: one that is started again is still what it should be, and never back at its start. */
  get #shownState(): ProcessState {
    const { state, desired } = this.#ledger;
    if (state !== "starting" || !this.#isKept) return state;
    return desired === "paused" ? "paused" : "running";
  }

  /**
   * The first start. Data of a live source must come by the deadline; only where the machine itself is slow, half of the
   * limit is left to the source once the graph plays. Files are given the time that loading may take. Rejects when it
   * comes to nothing: then no runner is left, and it has ended.
   */
  async start(deadlineMs: number, signal: AbortSignal | undefined): Promise<LaunchTimes> {
    const { loadMs, startMs } = this.#needs.limits;
    const { isFile } = this.#parts.input;
    const withdraw = (): void => void this.stop();
    signal?.addEventListener("abort", withdraw);
    if (signal?.aborted) withdraw();
    const leastSourceMs = isFile ? loadMs : startMs / 2;
    const launched = await this.#launch(() => ({ graphMs: loadMs, deadlineMs, leastSourceMs }));
    signal?.removeEventListener("abort", withdraw);
    if ("end" in launched) {
      this.#log.warn({ end: launched.end }, "its start came to nothing");
      await this.abandon();
      throw refuseStart(launched.end, isFile);
    }
    this.#ledger.startedAt = new Date();
    void this.#keep(launched.run);
    await this.#turns.take(() => this.#goOn());
    await this.#ledger.promise();
    return launched.times;
  }

  /** Of a start that came to nothing: ends it, if it has not ended yet, without a word to the database. */
  async abandon(): Promise<void> {
    this.#ledger.close();
    if (this.#isKept) return this.stop();
    this.#ledger.state = "failed";
    this.#forgetRun();
    this.#close();
    this.#settle();
  }

  /** Goes on with what another server left. */
  resume(): void {
    void this.#keep(null);
  }

  pause(): Promise<void> {
    return this.#turns.take(async () => {
      this.#expect(["running"], "paused");
      await this.#ask({ type: "pause" });
      this.#expect(["running"], "paused");
      this.#ledger.desired = "paused";
      this.#enter("paused");
      await this.#ledger.promise();
    });
  }

  unpause(): Promise<void> {
    return this.#turns.take(async () => {
      this.#expect(["paused"], "resumed");
      await this.#ask({ type: "resume" });
      this.#expect(["paused"], "resumed");
      this.#ledger.desired = "running";
      this.#enter("running");
      await this.#feed.sync();
      await this.#ledger.promise();
    });
  }

  /** At any moment, any number of times. Resolves when it is gone. `error` is why, if not because somebody wished it. */
  async stop(error: ProcessError | null = null): Promise<void> {
    if (this.#intent === "run" && this.isActive) {
      this.#intent = "stop";
      this.#ledger.error = error;
      this.#ledger.desired = "stopped";
      this.#enter("stopping");
      this.#interrupt();
    }
    await this.ended;
  }

  /** The server ends: the runner goes, what should be stays, and whoever comes next may have it at once. */
  async halt(): Promise<void> {
    if (this.#intent === "run") this.#intent = "halt";
    this.#interrupt();
    await this.ended;
  }

  /** Somebody else runs it: ours must not. */
  lose(): void {
    if (this.#intent === "lose" || !this.isActive) return;
    this.#log.warn("this process is not ours any more");
    this.#intent = "lose";
    this.#ledger.close();
    this.#run?.kill("the process is another machine's now");
    this.#interrupt();
  }

  /** Nothing is written any more, whatever comes. */
  closeLedger(): void {
    this.#ledger.close();
  }

  /** To the database: how far it is. */
  saveProgress(): void {
    if (LIVING.includes(this.state)) void this.#ledger.save();
  }

  attach(output: AttachedOutput): Promise<void> {
    return this.#turns.take(async () => {
      this.expectLiving("given an output");
      const attachment = attachmentOf(output);
      if (attachment !== null) {
        const { id, slot, params } = attachment;
        this.#expectSlot(slot);
        await this.#ask({ type: "attach", attachment: id, slot, params });
      }
      this.#outputs.set(output.outputUuid, output);
    });
  }

  detach(outputUuid: string): Promise<void> {
    return this.#turns.take(async () => {
      const output = this.#outputs.get(outputUuid);
      if (output === undefined) return;
      this.expectLiving("relieved of an output");
      if (attachmentOf(output) !== null) await this.#ask({ type: "detach", attachment: outputUuid });
      this.#outputs.delete(outputUuid);
    });
  }

  setProperties(nodes: LiveProperties): Promise<void> {
    return this.#turns.take(async () => {
      this.expectLiving("changed");
      await this.#ask({ type: "set", nodes });
      this.#ledger.mergeLive(nodes);
      await this.#ledger.promise();
    });
  }

  describe(format: "json" | "dot" | "mermaid" | "launch"): Promise<unknown> {
    return this.#turns.take(async () => {
      this.expectLiving("described");
      return this.#ask({ type: "describe", format });
    });
  }

  async deliver(channel: string, message: JsonRecord): Promise<void> {
    this.expectLiving("sent something");
    await this.#ask({ type: "deliver", channel, message });
  }

  follow(listener: (notice: ProcessNotice) => void): () => void {
    return this.#reception.follow(this.#shownState, listener);
  }

  /** While it is paused or started again, the feed comes with the next frames. */
  async watch(listener: (picture: Picture) => void): Promise<() => Promise<void>> {
    this.#expectSlot(FEED);
    return this.#feed.watch(listener, (sync) =>
      this.#turns.take(async () => (this.state === "running" ? sync() : undefined)),
    );
  }

  expectLiving(wish: string): void {
    this.#expect(LIVING, wish);
  }

  expectOffer(offer: string): void {
    const offers = new Set([...this.#parts.offers, ...Object.keys(this.#parts.slots)]);
    if (!offers.has(offer)) throw refuseOffer(this.row.graph, offer, [...offers]);
  }

  #expectSlot(slot: string): void {
    const slots = Object.keys(this.#parts.slots);
    if (!slots.includes(slot)) throw refuseOffer(this.row.graph, slot, slots);
  }

  #expect(states: readonly ProcessState[], wish: string): void {
    if (states.includes(this.state)) return;
    throw this.state === this.#shownState ? refuseState(this.state, wish, states) : refuseRestarting(wish);
  }

  /** Run after run, until its end. */
  async #keep(first: Run | null): Promise<void> {
    this.#isKept = true;
    this.#scheduleEnd();
    let end = first === null ? null : await first.ended;
    for (;;) {
      this.#forgetRun();
      if (this.#intent === "halt" || this.#intent === "lose") return this.#giveUp();
      if (this.#intent === "stop") return this.#conclude("finished", this.#ledger.error);
      if (end !== null && !this.#beginElsewhere() && !(await this.#mayGoOn(end))) return;
      const launched = await this.#launch(() => this.#nextPatience());
      if ("run" in launched) {
        await this.#turns.take(() => this.#goOn()).catch((error) => this.#log.warn({ err: error }, "it did not go on"));
        end = await launched.run.ended;
      } else {
        end = launched.end;
      }
    }
  }

  #move(): void {
    this.#log.info("its source has another address now; it is started again");
    this.#hasMoved = true;
    void this.#run?.stop();
  }

  /** True when its run ended for no other reason. */
  #beginElsewhere(): boolean {
    if (!this.#hasMoved) return false;
    this.#hasMoved = false;
    this.#reception.reconnect(true);
    this.#enter("starting");
    return true;
  }

  /** False when that was its end. Otherwise the wait until the next run is over. */
  async #mayGoOn(end: RunEnd): Promise<boolean> {
    const verdict = this.#judge.judge(end, {
      isFile: this.#parts.input.isFile,
      hasFlowed: this.#reception.hasFlowed,
      nowMs: performance.now(),
      random: Math.random(),
    });
    if ("state" in verdict) {
      await this.#conclude(verdict.state, verdict.error);
      return false;
    }
    this.#log.warn({ end, waitMs: Math.round(verdict.waitMs) }, "its runner ended; it is started again");
    if (verdict.isCrash) this.#ledger.restarts++;
    else this.#reception.reconnect(true);
    this.#enter("starting");
    await sleep(verdict.waitMs, this.#interruption.signal);
    return true;
  }

  async #launch(patienceNow: () => Patience): Promise<Launched> {
    this.#reception.beginRun();
    const { limits, pictures, slots } = this.#needs;
    const { isFile } = this.#parts.input;
    const takeRunner = async (): Promise<Runner> => {
      this.#pictureSocket ??= await pictures.listen((picture) => this.#feed.show(picture));
      return this.#needs.takeRunner();
    };
    const onRun = (run: Run): void => {
      this.#run = run;
    };
    const onReport = (report: RunnerReport): void => {
      this.#reception.hear(report);
      if (report.type === "reconnecting") this.#whereabouts.setLost(report.reconnecting);
    };
    const { signal } = this.#interruption;
    const findSource = () => this.#whereabouts.find();
    const makeJob = (sourceUri: string) => this.#makeJob(sourceUri);
    const label = this.row.sourceUrl;
    // Somebody waits for a first start: it need not wait for others.
    const acquireSlot = async () => (this.#isKept ? slots.acquire(signal) : () => {});
    try {
      return await launch(
        { limits, isFile, label, signal, acquireSlot, findSource, takeRunner, makeJob, onReport, onRun },
        patienceNow,
      );
    } finally {
      // Not sooner: on a machine of few cores the one would slow the other.
      this.#needs.replaceRunner();
    }
  }

  #makeJob(sourceUri: string) {
    const { hasViewers } = this.#feed;
    this.#feed.noteRun(hasViewers);
    const { positionNs, startedAt, trackIds } = this.#ledger;
    return makeJob({
      row: this.row,
      sourceUri,
      positionNs: this.#parts.input.isFile ? positionNs : 0,
      startedAt,
      firstTrackId: trackIds.next,
      outputs: [...this.#outputs.values()],
      hasViewers,
      pictureSocket: this.#pictureSocket?.path ?? "",
      giveUpSeconds: this.#needs.limits.giveUpMs / 1000,
    });
  }

  /** Of a run that is not the first: a lost source may take its time. */
  #nextPatience(): Patience {
    const { loadMs, startMs } = this.#needs.limits;
    const nowMs = performance.now();
    const sourceMs = this.#parts.input.isFile ? loadMs : Math.max(startMs, this.#judge.patienceMs(nowMs));
    return { graphMs: loadMs, deadlineMs: nowMs + sourceMs, leastSourceMs: sourceMs };
  }

  /** Data flows: makes it what it should be. */
  async #goOn(): Promise<void> {
    this.#judge.noteFlowing();
    this.#reception.reconnect(false);
    const { live, desired } = this.#ledger;
    if (Object.keys(live).length > 0) await this.#ask({ type: "set", nodes: live });
    if (desired === "paused") await this.#ask({ type: "pause" });
    if (this.#run === null || this.#intent !== "run") return;
    this.#enter(desired === "paused" ? "paused" : "running");
    // Viewers may have come and gone since the job was made.
    if (desired === "running") await this.#feed.sync();
  }

  #enter(state: ProcessState): void {
    if (this.state !== state) {
      const { error } = this.#ledger;
      this.#log.info({ from: this.state, to: state, error }, "state");
      this.#ledger.state = state;
      this.#reception.tell(this.#shownState === state ? { type: "state", state, error } : { type: "restarting" });
    }
    void this.#ledger.save();
  }

  /** Whatever is waited for is waited for no longer. */
  #interrupt(): void {
    this.#interruption.abort();
    void this.#run?.stop();
  }

  #forgetRun(): void {
    this.#run = null;
    this.#whereabouts.setLost(false);
    this.#reception.endRun();
  }

  async #conclude(state: "finished" | "failed", error: ProcessError | null): Promise<void> {
    this.#ledger.error = error === null ? null : { ...error, detail: maskCredentials(error.detail) };
    this.#ledger.desired = "stopped";
    this.#ledger.finishedAt = new Date();
    this.#reception.reconnect(false);
    this.#enter(state);
    this.#close();
    await this.#ledger.save();
    this.#settle();
  }

  /** Ends here; goes on elsewhere, or later. */
  async #giveUp(): Promise<void> {
    this.#close();
    if (this.#intent === "halt") await this.#ledger.release();
    this.#settle();
  }

  #close(): void {
    clearTimeout(this.#endTimer);
    this.#pictureSocket?.close();
    this.#pictureSocket = null;
    this.#reception.tell({ type: "ended" });
  }

  #scheduleEnd(): void {
    if (this.row.endsAt === null) return;
    const leftMs = Math.max(0, this.row.endsAt.getTime() - Date.now());
    this.#endTimer = setTimeout(() => void this.stop(), leftMs);
  }

  async #ask(order: RunnerOrder): Promise<unknown> {
    const run = this.#run;
    if (run === null) throw refuseState(this.state, "asked for that", LIVING);
    try {
      return await run.request(order);
    } catch (error) {
      if (this.#intent !== "run") throw refuseState("stopping", "asked for that", LIVING);
      // It hangs. What follows is a crash, and a restart.
      if (error instanceof RunnerSilence) run.kill(error.message);
      throw refuseRequest(error as Error);
    }
  }
}
