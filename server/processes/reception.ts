/** What the runners of a process tell: noted down, and passed on to those who follow it. */
import type { Logger } from "pino";
import type { JsonRecord } from "../../schemas/json.ts";
import { maskCredentials } from "../../schemas/mask.ts";
import type { RunnerStats } from "../../schemas/runner.ts";
import { Followers } from "./followers.ts";
import type { Ledger } from "./ledger.ts";
import { Meter } from "./meter.ts";
import type { ProcessNotice, ProcessState } from "./processes.ts";
import type { RunnerReport } from "./runner.ts";

export class Reception {
  readonly meter = new Meter();
  readonly #ledger: Ledger;
  readonly #log: Logger;
  readonly #followers: Followers;
  #hasFlowed = false;
  #reconnecting = false;
  /** This run has lost its source, by its own last word. */
  #isLost = false;
  #stats: RunnerStats | null = null;
  /** Of this run. */
  #framesLost = 0;
  #framesLeft = 0;

  constructor(ledger: Ledger, log: Logger) {
    this.#ledger = ledger;
    this.#log = log;
    this.#followers = new Followers((error) => log.error({ err: error }, "a follower threw"));
  }

  /** The source's data came in this run. */
  get hasFlowed(): boolean {
    return this.#hasFlowed;
  }

  get reconnecting(): boolean {
    return this.#reconnecting;
  }

  /** The last that a runner told; null while a run has not told any. */
  get stats(): RunnerStats | null {
    return this.#stats;
  }

  /** Hears the present state first. */
  follow(state: ProcessState, isRestarting: boolean, listener: (notice: ProcessNotice) => void): () => void {
    const { error, lastError } = this.#ledger;
    listener({ type: "state", state, error, lastError });
    if (isRestarting) listener({ type: "restarting", crash: lastError });
    if (this.#reconnecting) listener({ type: "reconnecting", reconnecting: true });
    return this.#followers.add(listener);
  }

  tell(notice: ProcessNotice): void {
    this.#followers.tell(notice);
  }

  hear(report: RunnerReport): void {
    if (report.type === "flowing") this.#hasFlowed = true;
    else if (report.type === "message") this.#pass(report.channel, report.message as JsonRecord);
    else if (report.type === "progress") this.#advance(report);
    else if (report.type === "reconnecting") this.#lose(report.reconnecting);
    else if (report.type === "log") this.#write(report);
  }

  reconnect(reconnecting: boolean): void {
    if (this.#reconnecting === reconnecting) return;
    this.#reconnecting = reconnecting;
    this.tell({ type: "reconnecting", reconnecting });
  }

  /** The run is what it should be: what was lost before it is found, unless it has been lost again since. */
  noteFlowing(): void {
    this.reconnect(this.#isLost);
  }

  beginRun(): void {
    this.#hasFlowed = false;
    this.#isLost = false;
    this.#stats = null;
    this.#framesLost = 0;
  }

  endRun(): void {
    this.meter.endRun();
  }

  #lose(isLost: boolean): void {
    this.#isLost = isLost;
    this.reconnect(isLost);
  }

  #write({ level, node, message }: RunnerReport & { type: "log" }): void {
    const line = maskCredentials(message);
    if (level === "error") this.#log.error({ node }, line);
    else if (level === "warn") this.#log.warn({ node }, line);
    else if (level === "debug") this.#log.debug({ node }, line);
    else this.#log.info({ node }, line);
  }

  #pass(channel: string, message: JsonRecord): void {
    if (this.#ledger.trackIds.noteMessage(message)) void this.#ledger.save();
    this.tell({ type: "message", channel, message });
  }

  /** Frames of a file behind what has been processed, as far as its runner has told. */
  get framesLeft(): number {
    return this.#framesLeft;
  }

  #advance(report: RunnerReport & { type: "progress" }): void {
    const { positionNs, nextTrackId, runningMs, stats, framesLost = 0, framesLeft } = report;
    const position = Number(positionNs);
    if (Number.isSafeInteger(position)) this.#ledger.positionNs = position;
    this.meter.record(runningMs);
    this.#stats = stats;
    if (this.#ledger.trackIds.advance(nextTrackId)) void this.#ledger.save();
    // Of this run; those of runs before are in it already.
    this.#ledger.loseFrames(framesLost - this.#framesLost);
    this.#framesLost = framesLost;
    this.#framesLeft = framesLeft ?? this.#framesLeft;
    this.tell({ type: "stats", stats: { ...stats, ...this.#ledger.crashCounts } });
  }
}
