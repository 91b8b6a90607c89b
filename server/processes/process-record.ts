/**
 * What is known about a process: its state, and what its runners report. Current here, published to the subscribers of the
 * process, and stored in the background, enough to resume it on any node.
 */
import type { Logger } from "pino";
import type { TelemetryInfo } from "../../schemas/api/processes.ts";
import { CAMERA_CHANNEL, CameraReport } from "../../schemas/camera-message.ts";
import type { Config } from "../../schemas/config.ts";
import type { JsonRecord } from "../../schemas/json.ts";
import { dropLive, type LivePlace, mergeLive } from "../../schemas/live-values.ts";
import { maskCredentials } from "../../schemas/mask.ts";
import { MAX_KEEPERS, type RunnerMessage, type RunnerStats } from "../../schemas/runner.ts";
import {
  CALIBRATION_CHANNEL,
  type HeadingCalibration,
  TELEMETRY_CHANNEL,
  type TelemetryBatch,
  type TelemetrySample,
} from "../../schemas/telemetry.ts";
import { LatestWriter } from "../async/latest-writer.ts";
import { TIMED_OUT, withTimeout } from "../async/timing.ts";
import { ServiceError } from "../service-error.ts";
import type { TelemetrySetting } from "../sources/telemetry-cfg.ts";
import { releaseClaim } from "../store/claims.ts";
import type { Sql } from "../store/client.ts";
import {
  type Claim,
  type LiveProperties,
  type ProcessRow,
  type ProcessSnapshot,
  saveSnapshot,
} from "../store/processes.ts";
import type { ProcessProgress } from "../store/progress.ts";
import { loadTelemetry } from "../store/source-telemetry.ts";
import { ProcessTelemetry } from "../telemetry/process-telemetry.ts";
import { StoredSamples } from "../telemetry/stored-samples.ts";
import { checkBy } from "../validation.ts";
import { type LifecycleState, type RunFault, storedState } from "./lifecycle.ts";
import type {
  CrashCounts,
  ProcessCrash,
  ProcessError,
  ProcessNotice,
  ProcessOffers,
  ProcessState,
  RunningGraph,
} from "./processes.ts";
import type { RunnerLink } from "./runner.ts";

export interface ProcessRecordDeps {
  readonly sql: Sql;
  readonly log: Logger;
  readonly config: Pick<Config, "telemetry" | "network" | "http">;
  readonly link: RunnerLink;
  readonly isFile: boolean;
  readonly offers: ProcessOffers;
  /** What a client is promised must be stored within this time. */
  readonly saveMs: number;
  /** Another node owns the process. */
  onLost(): void;
}

/** The channel of telemetry in native form. */
const DRONE_DATA = "drone_data";
const checkCamera = checkBy(CameraReport);

/** What an upgrade replaces. */
export interface GraphSetting {
  readonly graph: RunningGraph;
  readonly params: JsonRecord;
  readonly live: LiveProperties;
}

/** Reports that a process which was started paused holds back; `progress` stays at the first frame. */
const HELD: readonly RunnerMessage["type"][] = ["message", "element", "progress"];
const MAX_HELD = 1000;

type Listener = (notice: ProcessNotice) => void;
type Report<T> = Extract<RunnerMessage, { type: T }>;

export class ProcessRecord {
  readonly claim: Claim;
  readonly trackIds: TrackIds;
  /** Null: its source has none. */
  readonly telemetry: ProcessTelemetry | null;
  /** States that nodes of its graph have kept for the next runner. */
  readonly kept = new Map<string, string>();
  /** Also gets the telemetry that its runner gets: its shadow. Must not throw. */
  mirror: ((channel: string, message: JsonRecord) => void) | null = null;
  /** As stored. */
  state: ProcessState;
  error: ProcessError | null = null;
  desired: ProcessRow["desired"];
  live: LiveProperties;
  params: JsonRecord;
  graph: RunningGraph;
  /** An upgrade is being launched: what to return to, and what is stored until it runs. */
  before: GraphSetting | null = null;
  positionNs: number;
  restarts: number;
  lastError: ProcessCrash | null;
  /** Frames of a file that no runner has processed; null for a live source. */
  framesLost: number | null;
  startedAt: Date | null;
  finishedAt: Date | null = null;
  /** The last runner crashed, and no frame has come from the next one yet. */
  hasCrashed = false;
  /** The current runner has decoded a frame. */
  hasFlowed = false;
  reconnecting: boolean;
  /** Of the claim under which frames have flowed last. */
  runFence: number | null;
  /** While it waits for its source: when it fails; null: never. */
  waitsUntil: Date | null;
  /** Null until the current runner has reported any. */
  stats: RunnerStats | null = null;
  /** Of its runners. */
  readonly load = new LoadSamples();
  /** Of `runningMs`, what was queued to be stored. */
  meteredMs = 0;
  readonly #deps: ProcessRecordDeps;
  readonly #writer: LatestWriter<ProcessSnapshot>;
  readonly #listeners = new Set<{ readonly listener: Listener }>();
  /** The current runner has lost its source. */
  #isSourceLost = false;
  /** Of the current runner. */
  #framesLost = 0;
  /** Frames of a file after the current position, as far as known. */
  #framesLeft = 0;
  /** Each runner counts from zero: of those that have ended, and of the current one. */
  #endedMs = 0;
  #currentMs = 0;
  /** Of a process that was started paused, until it is resumed: what its first frames gave. */
  #held: RunnerMessage[] | null;

  constructor(row: ProcessRow, deps: ProcessRecordDeps) {
    const { sql, log, onLost } = deps;
    this.claim = { uuid: row.uuid, fence: row.fence };
    this.trackIds = new TrackIds(row.nextTrackId);
    this.desired = row.desired;
    this.live = row.live;
    this.params = row.params;
    this.graph = { ...deps.offers, text: row.graphText, version: row.graphVersion };
    this.positionNs = row.positionNs;
    this.restarts = row.restarts;
    this.lastError = row.lastError === null ? null : { ...row.lastError, at: new Date(row.lastError.at) };
    this.framesLost = deps.isFile ? (row.framesLost ?? 0) : null;
    this.startedAt = row.startedAt;
    this.#held = deps.isFile && row.desired === "paused" && row.positionNs === 0 ? [] : null;
    this.state = row.state === "waiting" ? "waiting" : "starting";
    this.reconnecting = row.reconnecting;
    this.runFence = row.runFence;
    this.waitsUntil = row.waitsUntil;
    this.#deps = deps;
    this.#writer = new LatestWriter({
      write: (snapshot) => saveSnapshot(sql, this.claim, snapshot),
      onLost,
      onRetry: (error) => log.warn({ err: error }, "process state could not be stored"),
    });
    this.telemetry = row.telemetryCfg === null ? null : this.#openTelemetry(row.telemetryCfg, row);
  }

  get isActive(): boolean {
    return this.state !== "finished" && this.state !== "failed";
  }

  /** For clients: a process that is restarted keeps the state that it should have. */
  get shownState(): ProcessState {
    if (this.state !== "starting" || this.startedAt === null) return this.state;
    return this.desired === "paused" ? "paused" : "running";
  }

  /** How long it has run under this claim. Only grows. */
  get runningMs(): number {
    return Math.round(this.#endedMs + this.#currentMs);
  }

  /** Of its shadow, which uses minutes of the key as well. */
  addRunning(ms: number): void {
    this.#endedMs += Math.max(0, ms);
  }

  /** The listener receives the current state first. Returns a function that unsubscribes. */
  follow(listener: Listener): () => void {
    const { shownState: state, error, lastError } = this;
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
        this.#deps.log.error({ err: error }, "process listener failed");
      }
    }
    if (notice.type === "ended") this.#listeners.clear();
  }

  /** Records, publishes and stores a transition. */
  enter(from: LifecycleState, to: LifecycleState): void {
    const stored = storedState(to);
    if (stored === null) return;
    this.state = stored;
    if (to === "withdrawn") return;
    // The next runner begins with the first frame again.
    if (to === "restarting" && this.#held !== null) this.#held = [];
    if (from !== to) {
      const { error, lastError } = this;
      this.#deps.log.info({ from, to, error }, "process state changed");
      this.telemetry?.noteRunner(to === "running" || to === "paused" ? to : "gone");
      if (to === "restarting") this.notify({ type: "restarting", crash: this.hasCrashed ? lastError : null });
      else this.notify({ type: "state", state: stored, error, lastError });
    }
    void this.save();
  }

  beginRun(): void {
    this.hasFlowed = false;
    this.#isSourceLost = false;
    this.stats = null;
    this.#framesLost = 0;
    this.load.beginRun();
  }

  endRun(): void {
    this.#endedMs += this.#currentMs;
    this.#currentMs = 0;
  }

  /** The runner is being set up. It may have lost its source again since its first frame. */
  noteFlowing(): void {
    this.hasCrashed = false;
    this.waitsUntil = null;
    this.runFence = this.claim.fence;
    this.setReconnecting(this.#isSourceLost);
  }

  /** Before the transition. A process that waits already keeps its time limit. */
  noteWaiting(seconds: number | null): void {
    this.hasCrashed = false;
    if (this.state !== "waiting") this.waitsUntil = seconds === null ? null : new Date(Date.now() + seconds * 1000);
    // It is stored with the transition.
    this.#setReconnecting(false);
  }

  noteCrash({ detail, node, trace = [] }: RunFault): void {
    this.lastError = { at: new Date(), node: node ?? null, detail: maskCredentials(detail), trace };
    this.#deps.log.warn({ node: this.lastError.node, detail: this.lastError.detail, trace }, "runner crashed");
    this.hasCrashed = true;
  }

  /** Before its last transition: `error` is null when it has finished. */
  noteEnd(error: ProcessError | null, hasFailed: boolean): void {
    this.hasCrashed = false;
    if (hasFailed) this.#loseFrames(this.#framesLeft);
    this.error = error === null ? null : { ...error, detail: maskCredentials(error.detail) };
    this.desired = "stopped";
    this.finishedAt = new Date();
    this.waitsUntil = null;
    this.#setReconnecting(false);
  }

  /** Nothing is held any longer; what was is handled now. */
  releaseHeld(): void {
    const held = this.#held ?? [];
    this.#held = null;
    for (const report of held) this.handle(report);
  }

  setReconnecting(reconnecting: boolean): void {
    if (this.#setReconnecting(reconnecting)) void this.save();
  }

  #setReconnecting(reconnecting: boolean): boolean {
    if (this.reconnecting === reconnecting) return false;
    this.reconnecting = reconnecting;
    this.notify({ type: "reconnecting", reconnecting });
    return true;
  }

  handle(report: RunnerMessage): void {
    if (this.#held !== null && HELD.includes(report.type)) {
      // The pipeline pauses after its first frames: there are few.
      if (report.type !== "progress" && this.#held.length < MAX_HELD) this.#held.push(report);
      return;
    }
    if (report.type === "flowing") this.hasFlowed = true;
    else if (report.type === "message") this.#publish(report.channel, report.message as JsonRecord);
    else if (report.type === "progress") this.#advance(report);
    else if (report.type === "log") this.#log(report);
    else if (report.type === "kept") this.#keep(report);
    else if (report.type === "element") this.#handleEvent(report.event as JsonRecord);
    else if (report.type === "reconnecting") {
      this.#isSourceLost = report.reconnecting;
      this.setReconnecting(report.reconnecting);
    }
  }

  /** `replaced`: properties that follow a param again. */
  merge(nodes: LiveProperties, params: JsonRecord, replaced: readonly LivePlace[]): void {
    this.params = { ...this.params, ...params };
    this.live = mergeLive(dropLive(this.live, replaced), nodes);
  }

  get setting(): GraphSetting {
    const { graph, params, live } = this;
    return { graph, params, live };
  }

  /** Another version of its graph. */
  adopt({ graph, params, live }: GraphSetting): void {
    this.graph = graph;
    this.params = params;
    this.live = live;
  }

  /** Resolves with true when it is stored, with false when it never will be. */
  save(): Promise<boolean> {
    return this.#writer.save(this.#snapshot(this.trackIds.reserved));
  }

  /** Before a client gets its response: rejects when storing takes too long or is impossible. */
  async saveForClient(): Promise<void> {
    const isSaved = await withTimeout(this.#deps.saveMs, this.save());
    if (isSaved === false)
      throw new ServiceError("wrong_state", {
        detail:
          "the process ended, or another node took it over, before the change was stored; read the process before you try again",
      });
    if (isSaved === TIMED_OUT)
      throw new ServiceError("database_unavailable", {
        detail: "the change is applied but not stored yet; read the process before you try again",
      });
  }

  /** Stores it for the next owner, who may take it over at once. */
  async release(): Promise<void> {
    const { sql, log } = this.#deps;
    await this.#writer.save(this.#snapshot(this.trackIds.next));
    this.close();
    await releaseClaim(sql, this.claim).catch((error) => log.warn({ err: error }, "claim not released"));
  }

  /** Nothing is stored from now on. */
  close(): void {
    this.#writer.close();
  }

  #keep({ node, state }: Report<"kept">): void {
    if (this.kept.has(node) || this.kept.size < MAX_KEEPERS) this.kept.set(node, state);
  }

  #log({ level, node, message }: Report<"log">): void {
    const known = level === "error" || level === "warn" || level === "debug" ? level : "info";
    this.#deps.log[known]({ node }, maskCredentials(message));
  }

  #publish(channel: string, message: JsonRecord): void {
    if (this.trackIds.noteMessage(message)) void this.save();
    this.notify({ type: "message", channel, message });
  }

  /** Of an element in the runner. */
  #handleEvent(event: JsonRecord): void {
    if (event.type !== CAMERA_CHANNEL) this.telemetry?.handleEvent(event);
    else if (checkCamera(event.message).length === 0)
      this.notify({
        ...{ type: "message", channel: CAMERA_CHANNEL },
        message: { ...(event.message as JsonRecord), process_uuid: this.claim.uuid },
      });
  }

  /** Stored every few seconds, with that of the other processes of this node. */
  get progress(): Omit<ProcessProgress, "view"> {
    const { claim, positionNs, framesLost, restarts, load } = this;
    return { ...claim, positionNs, framesLost, restarts, nextTrackId: this.trackIds.reserved, ...load.used };
  }

  #advance(report: Report<"progress">): void {
    const { positionNs, nextTrackId, runningMs, stats, framesLost = 0, framesLeft, cpuMs } = report;
    if (cpuMs !== undefined) this.load.add(cpuMs, stats.rss_bytes, performance.now());
    const position = Number(positionNs);
    if (Number.isSafeInteger(position)) this.positionNs = position;
    this.#currentMs = Math.max(this.#currentMs, runningMs);
    this.stats = stats;
    if (this.trackIds.advance(nextTrackId)) void this.save();
    // Those of earlier runners are counted already.
    this.#loseFrames(framesLost - this.#framesLost);
    this.#framesLost = framesLost;
    this.#framesLeft = framesLeft ?? this.#framesLeft;
    const counts: CrashCounts = { restarts: this.restarts, frames_lost: this.framesLost };
    this.notify({ type: "stats", stats: { ...stats, ...counts } });
  }

  #loseFrames(count: number): void {
    if (this.framesLost !== null) this.framesLost += count;
  }

  #openTelemetry(setting: TelemetrySetting, { graph, userUuid, sourceUuid }: ProcessRow): ProcessTelemetry {
    const { config, link, log, sql } = this.#deps;
    let known: TelemetryInfo["state"] | null = null;
    const deliver = async (
      channel: string,
      message: TelemetrySample | TelemetryBatch | HeadingCalibration,
    ): Promise<unknown> => {
      this.mirror?.(channel, message as unknown as JsonRecord);
      // Not by `link.request`: a runner that is slow with telemetry must not be killed for it.
      return link.runner?.request({ type: "deliver", channel, message });
    };
    return new ProcessTelemetry({
      ...{ setting, config, graph, userUuid },
      ...(setting.type === "file" && {
        load: async () => {
          const row = await loadTelemetry(sql, sourceUuid);
          if (row === null) return null;
          return { samples: await StoredSamples.open(row.content, row.offsetMs, row.offsetErrorMs), lack: row.lack };
        },
      }),
      deliver: (message) => deliver(TELEMETRY_CHANNEL, message),
      calibrate: (message) => deliver(CALIBRATION_CHANNEL, message),
      publish: (message) => this.notify({ type: "message", channel: DRONE_DATA, message }),
      announce: (info) => {
        const { state, detail } = info;
        if (state !== known) log.info({ state, detail }, "telemetry state changed");
        known = state;
        this.notify({ type: "telemetry", telemetry: info });
      },
    });
  }

  #snapshot(nextTrackId: number): ProcessSnapshot {
    const { desired, state, positionNs, restarts, framesLost, startedAt, finishedAt } = this;
    const { reconnecting, runFence, waitsUntil } = this;
    const { graph, params, live } = this.before ?? this.setting;
    return {
      ...{ graphText: graph.text, graphVersion: graph.version, models: graph.models ?? [] },
      ...{ desired, live, params, state, positionNs, nextTrackId, restarts, framesLost, startedAt, finishedAt },
      ...{ reconnecting, runFence, waitsUntil },
      errorCode: this.error?.code ?? null,
      errorDetail: this.error?.detail ?? null,
      lastError: this.lastError === null ? null : { ...this.lastError, at: this.lastError.at.toISOString() },
    };
  }
}

/** Interval of samples. */
const SAMPLE_MS = 5_000;
/** One hour. */
const MAX_SAMPLES = 720;

/** How much of its node a process uses: 95 % quantiles, so that a later start of the same can be placed. */
export class LoadSamples {
  readonly #cores: number[] = [];
  readonly #bytes: number[] = [];
  #last: { readonly cpuMs: number; readonly atMs: number } | null = null;

  /** Each runner counts from zero. */
  beginRun(): void {
    this.#last = null;
  }

  add(cpuMs: number, rssBytes: number, atMs: number): void {
    // The first sample is only a beginning: loading is not what it uses.
    if (this.#last === null) this.#last = { cpuMs, atMs };
    const passedMs = atMs - this.#last.atMs;
    if (passedMs < SAMPLE_MS) return;
    this.#cores.push((cpuMs - this.#last.cpuMs) / passedMs);
    this.#bytes.push(rssBytes);
    if (this.#cores.length > MAX_SAMPLES) {
      this.#cores.shift();
      this.#bytes.shift();
    }
    this.#last = { cpuMs, atMs };
  }

  get used(): { readonly usedCores: number | null; readonly usedBytes: number | null } {
    return { usedCores: quantile(this.#cores), usedBytes: quantile(this.#bytes) };
  }
}

function quantile(values: readonly number[]): number | null {
  const sorted = [...values].sort((a, b) => a - b);
  return sorted[Math.ceil(sorted.length * 0.95) - 1] ?? null;
}

/** How far ahead of the ids in use the stored one is. */
const RESERVE = 1000;

/**
 * Track ids are never used twice, whatever crashes. The stored number is some seconds old, so it stays ahead of the ids
 * in use.
 */
export class TrackIds {
  /** The first that no client has received. */
  next: number;
  /** To be stored: after a crash of the server the next runner begins there. */
  reserved: number;

  constructor(next: number) {
    this.next = next;
    this.reserved = next + RESERVE;
  }

  /** True when more had to be reserved, which must be stored. */
  advance(next: number): boolean {
    if (next <= this.next) return false;
    this.next = next;
    if (next <= this.reserved - RESERVE / 2) return false;
    this.reserved = next + RESERVE;
    return true;
  }

  /** From a message to clients (`active_tracks`), or from a track report (`tracks`), which is stored. */
  noteMessage({ active_tracks: shown, tracks: reported }: JsonRecord): boolean {
    let highest = 0;
    for (const track of Array.isArray(shown) ? shown : []) highest = Math.max(highest, readId(track, "track_id"));
    for (const track of Array.isArray(reported) ? reported : []) highest = Math.max(highest, readId(track, "id"));
    return this.advance(highest + 1);
  }
}

function readId(track: unknown, name: string): number {
  const id = (track as JsonRecord | null)?.[name];
  return typeof id === "number" ? id : 0;
}
