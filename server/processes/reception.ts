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
  follow(state: ProcessState, listener: (notice: ProcessNotice) => void): () => void {
    listener({ type: "state", state, error: this.#ledger.error });
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

  #advance({ positionNs, nextTrackId, runningMs, stats }: RunnerReport & { type: "progress" }): void {
    const position = Number(positionNs);
    if (Number.isSafeInteger(position)) this.#ledger.positionNs = position;
    this.meter.record(runningMs);
    this.#stats = stats;
    if (this.#ledger.trackIds.advance(nextTrackId)) void this.#ledger.save();
    this.tell({ type: "stats", stats: { ...stats, restarts: this.#ledger.restarts } });
  }
}
