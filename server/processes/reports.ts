/** The reports of a process's runners: recorded, and published to the subscribers of the process. */
import type { Logger } from "pino";
import type { JsonRecord } from "../../schemas/json.ts";
import { maskCredentials } from "../../schemas/mask.ts";
import type { RunnerStats } from "../../schemas/runner.ts";
import type { ProcessRecord } from "./process-record.ts";
import type { ProcessNotice } from "./processes.ts";
import type { RunnerReport } from "./runner.ts";

type Listener = (notice: ProcessNotice) => void;
type Report<T> = Extract<RunnerReport, { type: T }>;

export class Reports {
  readonly meter = new Meter();
  readonly #record: ProcessRecord;
  readonly #log: Logger;
  readonly #listeners = new Set<{ readonly listener: Listener }>();
  #hasFlowed = false;
  #reconnecting = false;
  /** The current runner has lost its source. */
  #isSourceLost = false;
  #stats: RunnerStats | null = null;
  /** Of the current runner. */
  #framesLost = 0;
  #framesLeft = 0;

  constructor(record: ProcessRecord, log: Logger) {
    this.#record = record;
    this.#log = log;
  }

  /** The current runner has decoded a frame. */
  get hasFlowed(): boolean {
    return this.#hasFlowed;
  }

  get reconnecting(): boolean {
    return this.#reconnecting;
  }

  /** Null until the current runner has reported any. */
  get stats(): RunnerStats | null {
    return this.#stats;
  }

  /** Frames of a file after the current position, as far as known. */
  get framesLeft(): number {
    return this.#framesLeft;
  }

  /** The listener receives the current state first. Returns a function that unsubscribes. */
  follow(isRestarting: boolean, listener: Listener): () => void {
    const { shownState: state, error, lastError } = this.#record;
    listener({ type: "state", state, error, lastError });
    if (isRestarting) listener({ type: "restarting", crash: lastError });
    if (this.#reconnecting) listener({ type: "reconnecting", reconnecting: true });
    const entry = { listener };
    this.#listeners.add(entry);
    return () => void this.#listeners.delete(entry);
  }

  /** A listener that throws does not affect the others. */
  notify(notice: ProcessNotice): void {
    for (const { listener } of [...this.#listeners]) {
      try {
        listener(notice);
      } catch (error) {
        this.#log.error({ err: error }, "process listener failed");
      }
    }
    if (notice.type === "ended") this.#listeners.clear();
  }

  handle(report: RunnerReport): void {
    if (report.type === "flowing") this.#hasFlowed = true;
    else if (report.type === "message") this.#publish(report.channel, report.message as JsonRecord);
    else if (report.type === "progress") this.#advance(report);
    else if (report.type === "log") this.#write(report);
    else if (report.type === "reconnecting") {
      this.#isSourceLost = report.reconnecting;
      this.setReconnecting(report.reconnecting);
    }
  }

  setReconnecting(reconnecting: boolean): void {
    if (this.#reconnecting === reconnecting) return;
    this.#reconnecting = reconnecting;
    this.notify({ type: "reconnecting", reconnecting });
  }

  /** The runner is being set up. It may have lost its source again since its first frame. */
  noteFlowing(): void {
    this.setReconnecting(this.#isSourceLost);
  }

  beginRun(): void {
    this.#hasFlowed = false;
    this.#isSourceLost = false;
    this.#stats = null;
    this.#framesLost = 0;
  }

  #write({ level, node, message }: Report<"log">): void {
    const line = maskCredentials(message);
    const known = level === "error" || level === "warn" || level === "debug" ? level : "info";
    this.#log[known]({ node }, line);
  }

  #publish(channel: string, message: JsonRecord): void {
    if (this.#record.trackIds.noteMessage(message)) void this.#record.save();
    this.notify({ type: "message", channel, message });
  }

  #advance({ positionNs, nextTrackId, runningMs, stats, framesLost = 0, framesLeft }: Report<"progress">): void {
    const position = Number(positionNs);
    if (Number.isSafeInteger(position)) this.#record.positionNs = position;
    this.meter.record(runningMs);
    this.#stats = stats;
    if (this.#record.trackIds.advance(nextTrackId)) void this.#record.save();
    // The record already has those of earlier runners.
    this.#record.loseFrames(framesLost - this.#framesLost);
    this.#framesLost = framesLost;
    this.#framesLeft = framesLeft ?? this.#framesLeft;
    this.notify({ type: "stats", stats: { ...stats, ...this.#record.crashCounts } });
  }
}

/** How long a process has run under one claim. Each runner counts from zero; the sum only grows. */
class Meter {
  #endedMs = 0;
  #currentMs = 0;

  /** Time in `running` since the current runner was started. */
  record(runningMs: number): void {
    this.#currentMs = Math.max(this.#currentMs, runningMs);
  }

  /** The next report comes from another runner. */
  endRun(): void {
    this.#endedMs += this.#currentMs;
    this.#currentMs = 0;
  }

  get totalMs(): number {
    return Math.round(this.#endedMs + this.#currentMs);
  }
}
