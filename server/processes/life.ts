/**
 * The life of a process on this machine: run after run, until it has finished or failed, or is given up because the
 * server ends or another machine took it. Owns the current run.
 */
import type { Logger } from "pino";
import { maskCredentials } from "../../schemas/mask.ts";
import { Judge } from "./judge.ts";
import type { Launched, LaunchTimes, Patience } from "./launch.ts";
import type { LaunchOrder } from "./launcher.ts";
import type { Ledger } from "./ledger.ts";
import type { ProcessLimits } from "./process-parts.ts";
import type { ProcessError, ProcessState } from "./processes.ts";
import type { Reception } from "./reception.ts";
import { refuseStart } from "./refusals.ts";
import type { Run, RunEnd } from "./run.ts";
import { showState } from "./shown-state.ts";
import { sleep } from "./sleep.ts";

/** `halt`: it is given up, and what should be stays as it is. `lose`: it is not ours any more. */
type Intent = "run" | "stop" | "halt" | "lose";

export interface LifeParts {
  readonly ledger: Ledger;
  readonly reception: Reception;
  readonly limits: ProcessLimits;
  readonly log: Logger;
  readonly isFile: boolean;
  /** When it stops by itself. */
  readonly endsAt: Date | null;
  launch(order: LaunchOrder, signal: AbortSignal): Promise<Launched>;
  /** Data flows: makes the run what it should be. */
  restore(): Promise<void>;
  /** A run is over; its end is not judged yet. */
  onRunEnded(): void;
  /** No run follows. */
  onClose(): void;
}

export class Life {
  /** Settles when no runner is left and its end is written down, or never will be. Never rejects. */
  readonly ended: Promise<void>;
  readonly #parts: LifeParts;
  readonly #judge: Judge;
  readonly #interruption = new AbortController();
  #settle: () => void = () => {};
  #intent: Intent = "run";
  #run: Run | null = null;
  /** Its run was ended because the source is elsewhere now. */
  #hasMoved = false;
  /** Its first start succeeded, or was another server's. */
  #isKept = false;
  #endTimer: NodeJS.Timeout | undefined;

  constructor(parts: LifeParts) {
    this.#parts = parts;
    this.#judge = new Judge(parts.limits.restart, parts.limits.giveUpMs);
    this.ended = new Promise((resolve) => {
      this.#settle = resolve;
    });
  }

  /** Null while there is none to ask. */
  get run(): Run | null {
    return this.#run;
  }

  /** Nobody wants it to end. */
  get isWanted(): boolean {
    return this.#intent === "run";
  }

  get shownState(): ProcessState {
    const { state, desired } = this.#parts.ledger;
    return showState({ state, desired, isKept: this.#isKept });
  }

  /**
   * The first start. Data of a live source must come by the deadline; only where the machine itself is slow, half of the
   * limit is left to the source once the graph plays. Files are given the time that loading may take. Rejects when it
   * comes to nothing: then no runner is left, and it has ended.
   */
  async start(deadlineMs: number, signal: AbortSignal | undefined): Promise<LaunchTimes> {
    const { ledger, log, isFile, limits, restore } = this.#parts;
    const { loadMs, startMs } = limits;
    const withdraw = (): void => void this.stop();
    signal?.addEventListener("abort", withdraw);
    if (signal?.aborted) withdraw();
    const leastSourceMs = isFile ? loadMs : startMs / 2;
    const launched = await this.#launch(() => ({ graphMs: loadMs, deadlineMs, leastSourceMs }));
    signal?.removeEventListener("abort", withdraw);
    if ("end" in launched) {
      log.warn({ end: launched.end }, "its start came to nothing");
      await this.abandon();
      throw refuseStart(launched.end, isFile);
    }
    ledger.startedAt = new Date();
    void this.#keep(launched.run);
    await restore();
    await ledger.promise();
    return launched.times;
  }

  /** Of a start that came to nothing: ends it, if it has not ended yet, without a word to the database. */
  async abandon(): Promise<void> {
    const { ledger } = this.#parts;
    ledger.close();
    if (this.#isKept) return this.stop();
    ledger.state = "failed";
    this.#forgetRun();
    this.#close();
    this.#settle();
  }

  /** Goes on with what another server left. */
  resume(): void {
    void this.#keep(null);
  }

  /** At any moment, any number of times. Resolves when it is gone. `error` is why, if not because somebody wished it. */
  async stop(error: ProcessError | null = null): Promise<void> {
    const { ledger } = this.#parts;
    if (this.#intent === "run" && ledger.isActive) {
      this.#intent = "stop";
      ledger.error = error;
      ledger.desired = "stopped";
      this.enter("stopping");
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
    const { ledger, log } = this.#parts;
    if (this.#intent === "lose" || !ledger.isActive) return;
    log.warn("this process is not ours any more");
    this.#intent = "lose";
    ledger.close();
    this.#run?.kill("the process is another machine's now");
    this.#interrupt();
  }

  /** Its source is elsewhere: another run finds it there. */
  move(): void {
    this.#parts.log.info("its source has another address now; it is started again");
    this.#hasMoved = true;
    void this.#run?.stop();
  }

  enter(state: ProcessState): void {
    const { ledger, log, reception } = this.#parts;
    if (ledger.state !== state) {
      const { error } = ledger;
      log.info({ from: ledger.state, to: state, error }, "state");
      ledger.state = state;
      reception.tell(this.shownState === state ? { type: "state", state, error } : { type: "restarting" });
    }
    void ledger.save();
  }

  noteRun(run: Run): void {
    this.#run = run;
  }

  /** The source's data has come. */
  noteFlowing(): void {
    this.#judge.noteFlowing();
    this.#parts.reception.reconnect(false);
  }

  /** Run after run, until its end. */
  async #keep(first: Run | null): Promise<void> {
    const { ledger, log, restore } = this.#parts;
    this.#isKept = true;
    this.#scheduleEnd();
    let end = first === null ? null : await first.ended;
    for (;;) {
      this.#forgetRun();
      if (this.#intent === "halt" || this.#intent === "lose") return this.#giveUp();
      if (this.#intent === "stop") return this.#conclude("finished", ledger.error);
      if (end !== null && !this.#beginElsewhere() && !(await this.#mayGoOn(end))) return;
      const launched = await this.#launch(() => this.#nextPatience());
      if ("run" in launched) {
        await restore().catch((error) => log.warn({ err: error }, "it did not go on"));
        end = await launched.run.ended;
      } else {
        end = launched.end;
      }
    }
  }

  #launch(patienceNow: () => Patience): Promise<Launched> {
    this.#parts.reception.beginRun();
    // Somebody waits for a first start: it need not wait for others.
    return this.#parts.launch({ isInLine: this.#isKept, patienceNow }, this.#interruption.signal);
  }

  /** Of a run that is not the first: a lost source may take its time. */
  #nextPatience(): Patience {
    const { limits, isFile } = this.#parts;
    const { loadMs, startMs } = limits;
    const nowMs = performance.now();
    const sourceMs = isFile ? loadMs : Math.max(startMs, this.#judge.patienceMs(nowMs));
    return { graphMs: loadMs, deadlineMs: nowMs + sourceMs, leastSourceMs: sourceMs };
  }

  /** True when its run ended for no other reason. */
  #beginElsewhere(): boolean {
    if (!this.#hasMoved) return false;
    this.#hasMoved = false;
    this.#parts.reception.reconnect(true);
    this.enter("starting");
    return true;
  }

  /** False when that was its end. Otherwise the wait until the next run is over. */
  async #mayGoOn(end: RunEnd): Promise<boolean> {
    const { ledger, log, reception, isFile } = this.#parts;
    const { hasFlowed } = reception;
    const verdict = this.#judge.judge(end, { isFile, hasFlowed, nowMs: performance.now(), random: Math.random() });
    if ("state" in verdict) {
      await this.#conclude(verdict.state, verdict.error);
      return false;
    }
    log.warn({ end, waitMs: Math.round(verdict.waitMs) }, "its runner ended; it is started again");
    if (verdict.isCrash) ledger.restarts++;
    else reception.reconnect(true);
    this.enter("starting");
    await sleep(verdict.waitMs, this.#interruption.signal);
    return true;
  }

  /** Whatever is waited for is waited for no longer. */
  #interrupt(): void {
    this.#interruption.abort();
    void this.#run?.stop();
  }

  #forgetRun(): void {
    this.#run = null;
    this.#parts.onRunEnded();
    this.#parts.reception.endRun();
  }

  async #conclude(state: "finished" | "failed", error: ProcessError | null): Promise<void> {
    const { ledger, reception } = this.#parts;
    ledger.error = error === null ? null : { ...error, detail: maskCredentials(error.detail) };
    ledger.desired = "stopped";
    ledger.finishedAt = new Date();
    reception.reconnect(false);
    this.enter(state);
    this.#close();
    await ledger.save();
    this.#settle();
  }

  /** Ends here; goes on elsewhere, or later. */
  async #giveUp(): Promise<void> {
    this.#close();
    if (this.#intent === "halt") await this.#parts.ledger.release();
    this.#settle();
  }

  #close(): void {
    clearTimeout(this.#endTimer);
    this.#parts.onClose();
    this.#parts.reception.tell({ type: "ended" });
  }

  #scheduleEnd(): void {
    const { endsAt } = this.#parts;
    if (endsAt === null) return;
    const leftMs = Math.max(0, endsAt.getTime() - Date.now());
    this.#endTimer = setTimeout(() => void this.stop(), leftMs);
  }
}
