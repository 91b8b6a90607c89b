/**
 * The life of a process on this machine: run after run, until it has finished or failed, or is given up because the
 * server ends or another machine took it. Owns the current run.
 */
import type { Logger } from "pino";
import { maskCredentials } from "../../schemas/mask.ts";
import { sleep } from "../async/timing.ts";
import { Judge } from "./judge.ts";
import { blame, type FailedLaunch, type Launched, type LaunchTimes, type Patience } from "./launch.ts";
import type { LaunchOrder } from "./launcher.ts";
import type { Ledger } from "./ledger.ts";
import type { ProcessLimits } from "./process-parts.ts";
import type { ProcessError, ProcessState } from "./processes.ts";
import type { Reception } from "./reception.ts";
import { refuseLate, refuseStart } from "./refusals.ts";
import type { Run, RunEnd, RunFault } from "./run.ts";
import { showState } from "./shown-state.ts";
import type { StartLimit } from "./start-limit.ts";

/** `halt`: it is given up, and what should be stays as it is. `lose`: it is not ours any more. */
type Intent = "run" | "stop" | "halt" | "lose";

/** Of a first start, which has its limit. */
const BOUNDLESS: Patience = { graphMs: Number.POSITIVE_INFINITY, sourceMs: Number.POSITIVE_INFINITY };

export interface LifeParts {
  readonly ledger: Ledger;
  readonly reception: Reception;
  readonly limits: ProcessLimits;
  readonly log: Logger;
  readonly isFile: boolean;
  /** What clients are told of the source. */
  readonly label: string;
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
  /** Its last runner crashed, and the next one does not flow yet. */
  #hasCrashed = false;
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

  /** A runner has crashed and another is not there yet. */
  get isRestarting(): boolean {
    return this.#hasCrashed;
  }

  get shownState(): ProcessState {
    const { state, desired } = this.#parts.ledger;
    return showState({ state, desired, isKept: this.#isKept });
  }

  /** The first start. Rejects within its limit when it comes to nothing; what is left of it then goes by itself. */
  async start(limit: StartLimit): Promise<LaunchTimes> {
    const { ledger, log, restore } = this.#parts;
    const withdraw = (): void => this.#interruption.abort(limit.signal.reason);
    limit.signal.addEventListener("abort", withdraw);
    if (limit.signal.aborted) withdraw();
    const launched = await this.#launch(() => BOUNDLESS);
    limit.signal.removeEventListener("abort", withdraw);
    if ("end" in launched) {
      log.warn({ end: launched.end, phase: launched.phase, isLate: limit.isLate }, "its start came to nothing");
      this.#fail(launched.gone);
      throw this.#refuse(launched, limit);
    }
    ledger.startedAt = new Date();
    void this.#keep(launched.run);
    await limit.race(restore());
    await limit.race(ledger.promise());
    return launched.times;
  }

  /** Of a start that came to nothing: ends it, if it has not ended yet, without a word to the database. */
  abandon(): void {
    this.#parts.ledger.close();
    if (this.#isKept) void this.stop();
    else this.#fail(Promise.resolve());
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
      const { error, lastError } = ledger;
      log.info({ from: ledger.state, to: state, error }, "state");
      ledger.state = state;
      const crash = this.#hasCrashed ? lastError : null;
      reception.tell(
        this.shownState === state ? { type: "state", state, error, lastError } : { type: "restarting", crash },
      );
    }
    void ledger.save();
  }

  noteRun(run: Run): void {
    this.#run = run;
  }

  /** The source's data has come. */
  noteFlowing(): void {
    this.#judge.noteFlowing();
    this.#hasCrashed = false;
    this.#parts.reception.noteFlowing();
  }

  /** Run after run, until its end. */
  async #keep(first: Run | null): Promise<void> {
    const { ledger } = this.#parts;
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
        await this.#restore(launched.run);
        end = await launched.run.ended;
      } else {
        await launched.gone;
        end = launched.end;
      }
    }
  }

  #launch(patienceNow: () => Patience): Promise<Launched> {
    this.#parts.reception.beginRun();
    return this.#parts.launch({ isUrgent: !this.#isKept, patienceNow }, this.#interruption.signal);
  }

  /** A run that cannot be made what the process should be is of no use: that is a crash like any other. */
  async #restore(run: Run): Promise<void> {
    try {
      await this.#parts.restore();
    } catch (error) {
      if (this.isWanted) run.kill(`what was set before could not be set again: ${(error as Error).message}`);
    }
  }

  #refuse({ end, phase }: FailedLaunch, limit: StartLimit): Error {
    const { isFile } = this.#parts;
    if (end.kind !== "stopped" || !limit.isLate) return refuseStart(end, isFile);
    const seconds = (limit.limitMs / 1000).toFixed(1);
    return phase === "source" ? refuseStart(blame(phase, seconds, this.#parts), isFile) : refuseLate(limit.limitMs);
  }

  /** No first run: it has ended as soon as nothing is left of it. */
  #fail(gone: Promise<unknown>): void {
    const { ledger } = this.#parts;
    if (!ledger.isActive) return;
    ledger.close();
    ledger.state = "failed";
    void gone.then(() => {
      this.#forgetRun();
      this.#close();
      this.#settle();
    });
  }

  /** Of a run that is not the first: a lost source may take its time. */
  #nextPatience(): Patience {
    const { limits, isFile } = this.#parts;
    const { loadMs, startMs } = limits;
    const sourceMs = isFile ? loadMs : Math.max(startMs, this.#judge.patienceMs(performance.now()));
    return { graphMs: loadMs, sourceMs };
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
    if (end.kind === "crash") this.#noteCrash(end);
    const verdict = this.#judge.judge(end, { isFile, hasFlowed, nowMs: performance.now(), random: Math.random() });
    if ("state" in verdict) {
      await this.#conclude(verdict.state, verdict.error);
      return false;
    }
    if (verdict.isCrash) {
      log.info({ waitMs: Math.round(verdict.waitMs) }, "runner is restarted");
      ledger.restarts++;
      // Of a run that never flowed: the state is what it was.
      if (ledger.state === "starting") reception.tell({ type: "restarting", crash: ledger.lastError });
    } else this.#awaitSource(end);
    this.enter("starting");
    await sleep(verdict.waitMs, this.#interruption.signal);
    return true;
  }

  #noteCrash({ detail, node, trace = [] }: RunFault): void {
    const { ledger, log } = this.#parts;
    const crash = { at: new Date(), node: node ?? null, detail: maskCredentials(detail), trace };
    log.warn({ node: crash.node, detail: crash.detail, trace }, "runner crashed");
    ledger.lastError = crash;
    this.#hasCrashed = true;
  }

  /** Told once: it is tried again and again. */
  #awaitSource(end: RunEnd): void {
    const { log, reception, label } = this.#parts;
    if (!reception.reconnecting) log.info({ end }, `it waits for ${label}`);
    reception.reconnect(true);
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
    this.#hasCrashed = false;
    if (state === "failed") ledger.loseFrames(reception.framesLeft);
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
