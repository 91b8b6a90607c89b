/** The media hub, kept running: one process after another, on the same ports. */
import { setTimeout as wait } from "node:timers/promises";
import type { Logger } from "pino";
import type { Config } from "../../schemas/config.ts";
import type { AuthorizeRequest, HubRequest, StreamInfo } from "../../schemas/hub.ts";
import { backoff } from "../async/timing.ts";
import type { Judgement } from "./admission.ts";
import {
  describeHubExit,
  type HubExit,
  HubFault,
  HubProcess,
  type HubReport,
  type RecordingReport,
} from "./hub-process.ts";
import { type HubPlaces, hubSettings } from "./hub-settings.ts";
import { LiveStreams, type MediaNumbers } from "./live-streams.ts";
import type { Media, RunToken } from "./media.ts";
import type { Action, RunTokens } from "./run-tokens.ts";

export interface MediaHubParts {
  readonly config: Config;
  readonly log: Logger;
  readonly entry: URL;
  readonly places: HubPlaces;
  readonly tokens: RunTokens;
  /** Never rejects. */
  judge(request: AuthorizeRequest): Promise<Judgement>;
  readonly recordings: {
    hear(report: RecordingReport): void;
    /** What it was recording is over. */
    loseHub(): void;
    /** Names of those that the next hub is to tell of. */
    readonly untold: readonly string[];
  };
}

/** After so long without a crash the next one counts as the first. */
const WELL_MS = 60_000;
/** Of a predecessor that was killed a moment ago, the ports may be taken still. */
const FIRST_ATTEMPTS = 3;
const FIRST_PAUSE_MS = 250;

export class MediaHub implements Media {
  readonly #parts: MediaHubParts;
  readonly #streams = new LiveStreams();
  #hub: HubProcess | null = null;
  #ports = { rtsp: 0, rtmp: 0 };
  #trouble: string | null = "the media hub is being started";
  #restarts = 0;
  #crashes = 0;
  #isRecordingAllowed = true;
  readonly #closing = new AbortController();
  #kept: Promise<void> = Promise.resolve();

  private constructor(parts: MediaHubParts) {
    this.#parts = parts;
    const { rtsp, rtmp } = parts.config;
    this.#ports = { rtsp: rtsp.port, rtmp: rtmp.port };
  }

  /** Resolves when it listens. Rejects with `HubFault` when it cannot, and then nothing is left running. */
  static async open(parts: MediaHubParts): Promise<MediaHub> {
    const media = new MediaHub(parts);
    for (let attempt = 1; ; attempt++) {
      try {
        media.#kept = media.#keep(await media.#start());
        return media;
      } catch (error) {
        const isPassing = error instanceof HubFault && error.isRefusal && attempt < FIRST_ATTEMPTS;
        if (!isPassing) throw error;
        await wait(FIRST_PAUSE_MS);
      }
    }
  }

  get rtspPort(): number {
    return this.#ports.rtsp;
  }

  get rtmpPort(): number {
    return this.#ports.rtmp;
  }

  get trouble(): string | null {
    return this.#trouble;
  }

  get numbers(): MediaNumbers {
    return { ...this.#streams.numbers, restarts: this.#restarts };
  }

  /** Of its process, for tests and the log. */
  get pid(): number | undefined {
    return this.#hub?.pid;
  }

  get livePaths(): readonly string[] {
    return this.#streams.paths;
  }

  /** A process of ours may publish there. */
  isOwn(path: string): boolean {
    return this.#parts.tokens.publishes(path);
  }

  find(path: string): StreamInfo | null {
    return this.#streams.find(path);
  }

  issueToken(action: Action, path: string): RunToken {
    const { token, revoke } = this.#parts.tokens.issue(action, path);
    return { url: `rtsp://run:${token}@${this.#ownHost}:${this.#ports.rtsp}/${path}`, revoke };
  }

  expel(path: string, reason: string): void {
    this.#send({ type: "expel", path, reason });
  }

  /** Holds for the hubs to come, too. */
  allowRecording(allowed: boolean): void {
    if (allowed === this.#isRecordingAllowed) return;
    this.#isRecordingAllowed = allowed;
    this.#send({ type: "recording", allowed });
  }

  /** A stream that is live, from now on. To a hub that is gone: nothing. */
  record(path: string, recording: string): void {
    this.#send({ type: "record", path, recording });
  }

  /** Resolves when no process is left and what it said last was heard. */
  async close(): Promise<void> {
    this.#closing.abort();
    this.#trouble = "the media hub is being shut down";
    await this.#hub?.stop(this.#parts.config.media.stop_seconds * 1000);
    await this.#kept;
  }

  /** What runners of this machine reach it at: one that listens on a single address is not at another. */
  get #ownHost(): string {
    const { rtsp, http } = this.#parts.config;
    const host = rtsp.host ?? http.host;
    if (host === "0.0.0.0" || host === "localhost") return "127.0.0.1";
    if (host === "::") return "[::1]";
    return host.includes(":") ? `[${host}]` : host;
  }

  #send(request: HubRequest): void {
    this.#hub?.send(request);
  }

  /** Rejects with `HubFault`, and then it is gone. */
  async #start(): Promise<HubProcess> {
    const { config, entry, log, places, recordings } = this.#parts;
    const settings = hubSettings(config, { ...places, untold: recordings.untold });
    const { rtsp, rtmp } = settings;
    const hub: HubProcess = new HubProcess({
      entry,
      settings: { ...settings, rtsp: { ...rtsp, port: this.#ports.rtsp }, rtmp: { ...rtmp, port: this.#ports.rtmp } },
      log,
      loadMs: config.media.load_seconds * 1000,
      silentMs: config.media.silent_seconds * 1000,
      onReport: (report) => this.#hear(hub, report),
    });
    this.#hub = hub;
    if (this.#closing.signal.aborted) hub.kill("the server is being shut down");
    try {
      this.#ports = await hub.ready;
    } catch (error) {
      hub.kill("it does not listen");
      await hub.gone;
      // One port listens before the other: somebody may have published.
      this.#forgetStreams();
      throw error;
    }
    if (!this.#isRecordingAllowed) hub.send({ type: "recording", allowed: false });
    this.#trouble = null;
    log.info({ pid: hub.pid, rtsp: this.#ports.rtsp, rtmp: this.#ports.rtmp }, "the media hub listens");
    return hub;
  }

  /** Never rejects. */
  async #keep(first: HubProcess): Promise<void> {
    let hub: HubProcess | null = first;
    let startedMs = performance.now();
    while (!this.#closing.signal.aborted) {
      if (hub !== null) this.#lose(await hub.gone, hub.lastLines);
      if (this.#closing.signal.aborted) return;
      if (performance.now() - startedMs > WELL_MS) this.#crashes = 0;
      await this.#pause();
      if (this.#closing.signal.aborted) return;
      startedMs = performance.now();
      hub = await this.#start().catch((error: Error) => {
        this.#trouble = `the media hub cannot be started: ${error.message}`;
        this.#parts.log.error({ err: error }, "the media hub cannot be started; it is tried again");
        return null;
      });
    }
    await hub?.gone;
    this.#lose(null, []);
  }

  #lose(exit: HubExit | null, lastLines: readonly string[]): void {
    this.#forgetStreams();
    if (exit === null || this.#closing.signal.aborted) return;
    this.#trouble = `${describeHubExit(exit)}; it is being started again`;
    this.#restarts++;
    this.#parts.log.error({ exit, lines: lastLines }, describeHubExit(exit));
  }

  #forgetStreams(): void {
    this.#streams.clear();
    this.#parts.recordings.loseHub();
  }

  async #pause(): Promise<void> {
    const { restart_first_seconds, restart_most_seconds } = this.#parts.config.media;
    const rule = { firstMs: restart_first_seconds * 1000, maxMs: restart_most_seconds * 1000 };
    const pauseMs = backoff(++this.#crashes, rule);
    await wait(pauseMs, undefined, { signal: this.#closing.signal }).catch(() => {});
  }

  #hear(hub: HubProcess, report: HubReport): void {
    if (report.type === "authorize") void this.#answer(hub, report);
    else if (report.type === "published") this.#streams.add(report.stream);
    else if (report.type === "unpublished") this.#streams.remove(report.path);
    else if (report.type === "stats") this.#streams.measure(report);
    else if (report.type === "log") this.#log(report);
    else this.#parts.recordings.hear(report);
  }

  async #answer(hub: HubProcess, request: AuthorizeRequest): Promise<void> {
    const judgement = await this.#parts.judge(request);
    hub.send({ type: "verdict", id: request.id, ...judgement });
  }

  #log({ level, message, fields = {} }: HubReport & { readonly type: "log" }): void {
    const { log } = this.#parts;
    if (level === "error" || level === "fatal") log.error(fields, message);
    else if (level === "warn") log.warn(fields, message);
    else if (level === "info") log.info(fields, message);
    else log.debug(fields, message);
  }
}
