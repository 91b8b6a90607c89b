/** The reports of a process's runners and its telemetry: recorded, and published to the subscribers of the process. */
import type { Logger } from "pino";
import type { TelemetryInfo } from "../../schemas/api/processes.ts";
import type { Config } from "../../schemas/config.ts";
import type { JsonRecord } from "../../schemas/json.ts";
import { maskCredentials } from "../../schemas/mask.ts";
import type { RunnerStats } from "../../schemas/runner.ts";
import { TELEMETRY_CHANNEL } from "../../schemas/telemetry.ts";
import type { TelemetrySetting } from "../sources/telemetry-cfg.ts";
import type { ProcessRow } from "../store/processes.ts";
import { ProcessTelemetry } from "../telemetry/process-telemetry.ts";
import type { ProcessRecord } from "./process-record.ts";
import type { ProcessNotice } from "./processes.ts";
import type { RunnerLink, RunnerReport } from "./runner.ts";

/** The channel of telemetry in native form. */
const DRONE_DATA = "drone_data";

export interface ReportsDeps {
  readonly row: Pick<ProcessRow, "graph" | "telemetryCfg">;
  readonly record: ProcessRecord;
  readonly link: RunnerLink;
  readonly log: Logger;
  readonly config: Pick<Config, "telemetry" | "network">;
}

type Listener = (notice: ProcessNotice) => void;
type Report<T> = Extract<RunnerReport, { type: T }>;

export class Reports {
  readonly meter = new Meter();
  /** Null: its source has none. */
  readonly telemetry: ProcessTelemetry | null;
  /** The last runner crashed, and no frame has come from the next one yet. */
  hasCrashed = false;
  /** The current runner has decoded a frame. */
  hasFlowed = false;
  reconnecting = false;
  /** Null until the current runner has reported any. */
  stats: RunnerStats | null = null;
  /** Frames of a file after the current position, as far as known. */
  framesLeft = 0;
  readonly #deps: ReportsDeps;
  readonly #record: ProcessRecord;
  readonly #log: Logger;
  readonly #listeners = new Set<{ readonly listener: Listener }>();
  /** The current runner has lost its source. */
  #isSourceLost = false;
  /** Of the current runner. */
  #framesLost = 0;

  constructor(deps: ReportsDeps) {
    const { row, record, log } = deps;
    this.#deps = deps;
    this.#record = record;
    this.#log = log;
    this.telemetry = row.telemetryCfg === null ? null : this.#openTelemetry(row.telemetryCfg);
  }

  /** The listener receives the current state first. Returns a function that unsubscribes. */
  follow(listener: Listener): () => void {
    const { shownState: state, error, lastError } = this.#record;
    listener({ type: "state", state, error, lastError });
    if (this.hasCrashed) listener({ type: "restarting", crash: lastError });
    if (this.reconnecting) listener({ type: "reconnecting", reconnecting: true });
    const entry = { listener };
    this.#listeners.add(entry);
    if (this.telemetry !== null) {
      const { info, lasting } = this.telemetry;
      listener({ type: "telemetry", telemetry: info });
      // Static telemetry is published once: later subscribers get it here.
      if (lasting !== null) listener({ type: "message", channel: DRONE_DATA, message: lasting });
    }
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
    if (report.type === "flowing") this.hasFlowed = true;
    else if (report.type === "message") this.#publish(report.channel, report.message as JsonRecord);
    else if (report.type === "progress") this.#advance(report);
    else if (report.type === "log") this.#write(report);
    else if (report.type === "element") this.telemetry?.hear(report.event as JsonRecord);
    else if (report.type === "reconnecting") {
      this.#isSourceLost = report.reconnecting;
      this.setReconnecting(report.reconnecting);
    }
  }

  setReconnecting(reconnecting: boolean): void {
    if (this.reconnecting === reconnecting) return;
    this.reconnecting = reconnecting;
    this.notify({ type: "reconnecting", reconnecting });
  }

  /** The runner is being set up. It may have lost its source again since its first frame. */
  noteFlowing(): void {
    this.setReconnecting(this.#isSourceLost);
  }

  beginRun(): void {
    this.hasFlowed = false;
    this.#isSourceLost = false;
    this.stats = null;
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
    this.stats = stats;
    if (this.#record.trackIds.advance(nextTrackId)) void this.#record.save();
    // The record already has those of earlier runners.
    this.#record.loseFrames(framesLost - this.#framesLost);
    this.#framesLost = framesLost;
    this.framesLeft = framesLeft ?? this.framesLeft;
    this.notify({ type: "stats", stats: { ...stats, ...this.#record.crashCounts } });
  }

  #openTelemetry(setting: TelemetrySetting): ProcessTelemetry {
    const { row, config, link, log } = this.#deps;
    let known: TelemetryInfo["state"] | null = null;
    return new ProcessTelemetry({
      ...{ setting, config, graph: row.graph },
      // Not by `link.request`: a runner that is slow with telemetry must not be killed for it.
      deliver: async (message) => link.runner?.request({ type: "deliver", channel: TELEMETRY_CHANNEL, message }),
      publish: (message) => this.notify({ type: "message", channel: DRONE_DATA, message }),
      announce: (info) => {
        const { state, detail } = info;
        if (state !== known) log.info({ state, detail }, "telemetry state changed");
        known = state;
        this.notify({ type: "telemetry", telemetry: info });
      },
    });
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
