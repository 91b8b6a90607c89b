/** The media hub: a child process that accepts and serves streams. It is restarted on the same ports when it ends. */
import { readFileSync } from "node:fs";
import { setTimeout as wait } from "node:timers/promises";
import type { Logger } from "pino";
import { RequestRejected } from "../../ipc/channel.ts";
import { Child, type ChildExit, describeExit, forkChild } from "../../ipc/child.ts";
import type { Config } from "../../schemas/config.ts";
import {
  type Authorization,
  type AuthorizeRequest,
  HUB_PROTOCOL,
  HubMessage,
  type HubPorts,
  type HubRequest,
  type HubSettings,
  type StreamInfo,
} from "../../schemas/hub.ts";
import { backoff, MAX_TIMER_MS, sleep } from "../async/timing.ts";
import { WITHOUT_SECRETS } from "../config/keys.ts";
import type { Action, RunTokens } from "./authorization.ts";
import type { ClusterStreams } from "./cluster-streams.ts";
import { LiveStreams, type MediaNumbers, type StreamNumbers } from "./live-streams.ts";
import type { StreamLog } from "./stream-log.ts";

export type RecordingReport = HubMessage & { readonly type: "segment" | "recorded" | "repaired" };

/** The hub does not listen. `isReported`: it gave the reason itself. */
export class HubFault extends Error {
  override readonly name = "HubFault";
  readonly isReported: boolean;

  constructor(message: string, isReported: boolean) {
    super(message);
    this.isReported = isReported;
  }
}

/** Lets one run of a process publish or play one path, until it is revoked. */
export interface RunToken {
  /** With the token in it, for the runner. Secret. */
  readonly url: string;
  revoke(): void;
}

interface MediaHubDeps {
  readonly config: Config;
  readonly log: Logger;
  readonly entry: URL;
  readonly httpSocket: string;
  readonly recordingsFolder: string;
  readonly tokens: RunTokens;
  /** Never rejects. */
  authorize(request: AuthorizeRequest): Promise<Authorization>;
  /** Absent: there are no other nodes. */
  readonly elsewhere?: Pick<ClusterStreams, "add" | "remove" | "clear" | "locate"> | undefined;
  /** Absent: events of streams are not stored. */
  readonly streamLog?: Pick<StreamLog, "add" | "remove" | "clear" | "reject"> | undefined;
  readonly recordings: {
    handle(report: RecordingReport): void;
    /** The hub has ended, and its recordings with it. */
    onHubLost(): void;
    /** Recordings whose files the next hub reports. */
    readonly unreported: readonly string[];
  };
  /** For tests. */
  readonly limits?: Partial<typeof LIMITS>;
}

/** What the rest of the server uses. */
export type Media = Pick<
  MediaHub,
  | "rtspPort"
  | "rtmpPort"
  | "srtPort"
  | "rtspsPort"
  | "rtmpsPort"
  | "streamNumbers"
  | "find"
  | "livePaths"
  | "streamsVersion"
  | "issueToken"
  | "expel"
  | "trouble"
>;

type HubChild = Child<HubRequest, HubMessage>;

const NAME = "the media hub";
/** Of its process. */
export const LIMITS = {
  /** Time limit for its start. */
  loadMs: 20_000,
  /** It sends statistics every second; without messages it is restarted after this time. */
  silentMs: 10_000,
  /** Grace period before a stopping hub is killed. */
  stopMs: 5_000,
  /** Delays before restarts of a crashed hub. */
  restart: { firstMs: 100, maxMs: 10_000 },
};
/** Of its clients; an operator sets the others (`media`). */
export const CLIENT_LIMITS = {
  /** Time limit for the first request on a connection. */
  helloMs: 10_000,
  /** A publisher without a keyframe at its start or after packet loss is disconnected after this time. */
  keylessMs: 30_000,
  /** A player that reads no data is disconnected after this time. */
  stalledMs: 10_000,
  /** Maximum queue of a player; beyond it, pictures are dropped. */
  readerBytes: 8 * 2 ** 20,
  /** Maximum size of a coded picture. */
  unitBytes: 8 * 2 ** 20,
  /** Maximum cache per stream from its last keyframe on. */
  cacheBytes: 32 * 2 ** 20,
  /** HLS segmenting stops without requests after this time. */
  hlsIdleMs: 30_000,
  /** Maximum size of a stream's HLS segments in memory. */
  hlsBytes: 64 * 2 ** 20,
  /** Time limit for connecting a WebRTC viewer. */
  connectMs: 5_000,
  /** Time limit for authorizing a publisher or player: longer than the delay after wrong keys. */
  verdictMs: 5_000,
};
/** Of streams that another node publishes. */
export const RELAY_LIMITS = { idleMs: 10_000, waitMs: 8_000 };
/** After this time without a crash the next one counts as the first. */
const STABLE_MS = 60_000;
/** Ports of a predecessor that was killed a moment ago may still be in use. */
const FIRST_ATTEMPTS = 3;
const FIRST_PAUSE_MS = 250;

export class MediaHub {
  readonly #deps: MediaHubDeps;
  readonly #limits: Readonly<typeof LIMITS>;
  readonly #streams = new LiveStreams();
  #child: HubChild | null = null;
  /** Of RTSPS and RTMPS: null without TLS. */
  #ports: Readonly<Record<"rtsp" | "rtmp" | "srt", number> & Record<"rtsps" | "rtmps", number | null>>;
  #trouble: string | null = "the media hub is starting";
  #restarts = 0;
  #crashes = 0;
  #isRecordingAllowed = true;
  readonly #closing = new AbortController();
  #supervision: Promise<void> = Promise.resolve();

  private constructor(deps: MediaHubDeps) {
    this.#deps = deps;
    this.#limits = { ...LIMITS, ...deps.limits };
    const { rtsp, rtmp, srt, http } = deps.config;
    const ofTls =
      http.tls_cert === null ? { rtsps: null, rtmps: null } : { rtsps: rtsp.tls_port, rtmps: rtmp.tls_port };
    this.#ports = { rtsp: rtsp.port, rtmp: rtmp.port, srt: srt.port, ...ofTls };
  }

  /** Resolves when it listens. Rejects with `HubFault` when it cannot; then no process is left. */
  static async open(deps: MediaHubDeps): Promise<MediaHub> {
    const hub = new MediaHub(deps);
    for (let attempt = 1; ; attempt++) {
      try {
        hub.#supervision = hub.#supervise(await hub.#start());
        return hub;
      } catch (error) {
        const canRetry = error instanceof HubFault && error.isReported && attempt < FIRST_ATTEMPTS;
        if (!canRetry) throw error;
        await wait(FIRST_PAUSE_MS);
      }
    }
  }

  /** The ports stay the same when the hub is restarted. */
  get rtspPort(): number {
    return this.#ports.rtsp;
  }

  get rtmpPort(): number {
    return this.#ports.rtmp;
  }

  get srtPort(): number {
    return this.#ports.srt;
  }

  /** Null without TLS. */
  get rtspsPort(): number | null {
    return this.#ports.rtsps;
  }

  get rtmpsPort(): number | null {
    return this.#ports.rtmps;
  }

  /** Null while it listens. */
  get trouble(): string | null {
    return this.#trouble;
  }

  get numbers(): MediaNumbers {
    return { ...this.#streams.numbers, restarts: this.#restarts };
  }

  /** Of the live streams, without those of other nodes. */
  get streamNumbers(): readonly StreamNumbers[] {
    return this.#streams.measured;
  }

  /** Of its process, for tests. */
  get pid(): number | undefined {
    return this.#child?.pid;
  }

  get livePaths(): readonly string[] {
    return this.#streams.paths;
  }

  /** Streams of other nodes that have readers here. */
  get relayedPaths(): readonly string[] {
    return this.#streams.relayedPaths;
  }

  /** A runner of this server may publish there. */
  isOwn(path: string): boolean {
    return this.#deps.tokens.publishes(path);
  }

  /** The live stream at this path (`<username>/<path>`), or null. */
  find(path: string): StreamInfo | null {
    return this.#streams.find(path);
  }

  /** Changes whenever a stream starts or stops being live. */
  get streamsVersion(): number {
    return this.#streams.version;
  }

  /** RTSP on this machine, for this path only. */
  issueToken(action: Action, path: string): RunToken {
    const { token, revoke } = this.#deps.tokens.issue(action, path);
    return { url: `rtsp://run:${token}@${this.#ownHost}:${this.#ports.rtsp}/${path}`, revoke };
  }

  /** Disconnects the publisher and the readers of this path. */
  expel(path: string, reason: string): void {
    this.#child?.send({ type: "expel", path, reason });
  }

  /** Disconnects the clients that this key has authorized. */
  expelKey(key: string, reason: string): void {
    this.#child?.send({ type: "expel_key", key, reason });
  }

  /** Applies to later hubs, too. */
  allowRecording(allowed: boolean): void {
    if (allowed === this.#isRecordingAllowed) return;
    this.#isRecordingAllowed = allowed;
    this.#child?.send({ type: "recording", allowed });
  }

  /** Starts recording a live stream. `segmentSeconds`: of its files, if not the configured length. */
  record(path: string, recording: string, segmentSeconds?: number): void {
    this.#child?.send({ type: "record", path, recording, ...(segmentSeconds !== undefined && { segmentSeconds }) });
  }

  /** Further files of this recording have the configured length. */
  lengthenSegments(recording: string): void {
    this.#child?.send({ type: "segments", recording, segmentSeconds: null });
  }

  endRecording(recording: string): void {
    this.#child?.send({ type: "end_recording", recording });
  }

  /** Resolves when its process has ended and its last messages are handled. */
  async close(): Promise<void> {
    this.#closing.abort();
    const { stopMs } = this.#limits;
    if (this.#trouble !== null) this.#child?.kill("the server is shutting down");
    this.#trouble = "the media hub is shutting down";
    this.#child?.expectWithin(stopMs, `it did not stop within ${stopMs / 1000} s`);
    this.#child?.send({ type: "stop" });
    await this.#supervision;
  }

  /** Where runners of this machine reach the hub. */
  get #ownHost(): string {
    const { rtsp, http } = this.#deps.config;
    const host = rtsp.host ?? http.host;
    if (host === "0.0.0.0" || host === "localhost") return "127.0.0.1";
    if (host === "::") return "[::1]";
    return host.includes(":") ? `[${host}]` : host;
  }

  /** Rejects with `HubFault`, after the process has ended. */
  async #start(): Promise<HubChild> {
    const { entry, log } = this.#deps;
    const { loadMs, silentMs } = this.#limits;
    const child: HubChild = new Child<HubRequest, HubMessage>({
      name: NAME,
      // It accepts connections from anyone and needs none of the secrets.
      spawn: () => forkChild(entry, { ...process.env, ...WITHOUT_SECRETS }),
      protocol: HUB_PROTOCOL,
      receives: HubMessage,
      log,
      loadMs,
      onMessage: (message) => this.#handle(child, message),
      onRequest: (request) => this.#answer(request),
    });
    this.#child = child;
    if (this.#closing.signal.aborted) child.kill("the server is shutting down");
    try {
      await child.loaded;
      child.expectWithin(loadMs, `it did not listen within ${loadMs / 1000} s`);
      const started = await child.request({ type: "start", settings: this.#settings }, MAX_TIMER_MS);
      const { rtspPort, rtmpPort, srtPort, rtspsPort, rtmpsPort } = started as HubPorts;
      this.#ports = { rtsp: rtspPort, rtmp: rtmpPort, srt: srtPort, rtsps: rtspsPort, rtmps: rtmpsPort };
    } catch (error) {
      const isReported = error instanceof RequestRejected;
      // Without a reply it has ended, or is killed for it.
      if (isReported) child.kill("it does not listen");
      const exit = await child.gone;
      // One port listens before the other: a stream may have been published already.
      this.#forgetStreams();
      throw new HubFault(isReported ? error.message : describeExit(NAME, exit), isReported);
    }
    // It sends `stats` once per second.
    if (!this.#closing.signal.aborted) child.expectWithin(silentMs, `it sent no statistics for ${silentMs / 1000} s`);
    if (!this.#isRecordingAllowed) child.send({ type: "recording", allowed: false });
    this.#trouble = null;
    log.info({ pid: child.pid, ...this.#ports }, "media hub listening");
    return child;
  }

  async #answer(request: HubMessage): Promise<Authorization | string | null> {
    const { authorize, elsewhere } = this.#deps;
    if (request.type === "authorize") return authorize(request);
    return request.type === "locate" && elsewhere !== undefined ? elsewhere.locate(request.path) : null;
  }

  get #settings(): HubSettings {
    const { config, httpSocket, recordingsFolder, recordings, elsewhere } = this.#deps;
    return hubSettings(config, {
      ...{ httpSocket, recordingsFolder, untold: [...recordings.unreported] },
      ...(elsewhere !== undefined && { relay: RELAY_LIMITS }),
      ports: this.#ports,
    });
  }

  /** Restarts it until it is closed. Never rejects. */
  async #supervise(first: HubChild): Promise<void> {
    const { log } = this.#deps;
    let child: HubChild | null = first;
    let startedMs = performance.now();
    while (!this.#closing.signal.aborted) {
      if (child !== null) this.#onExit(await child.gone, child.lastLines);
      if (performance.now() - startedMs > STABLE_MS) this.#crashes = 0;
      this.#crashes += 1;
      await sleep(backoff(this.#crashes, this.#limits.restart), this.#closing.signal);
      if (this.#closing.signal.aborted) return;
      startedMs = performance.now();
      child = await this.#start().catch((error: Error) => {
        if (this.#closing.signal.aborted) return null;
        this.#trouble = `the media hub cannot be started: ${error.message}`;
        log.error({ err: error }, "media hub cannot be started; retrying");
        return null;
      });
    }
    await child?.gone;
    this.#forgetStreams();
  }

  #onExit(exit: ChildExit, lines: readonly string[]): void {
    this.#forgetStreams();
    if (this.#closing.signal.aborted) return;
    const reason = describeExit(NAME, exit);
    this.#trouble = `${reason}; it is being restarted`;
    this.#restarts++;
    this.#deps.log.error({ exit, lines }, reason);
  }

  #forgetStreams(): void {
    this.#streams.clear();
    this.#deps.elsewhere?.clear();
    this.#deps.streamLog?.clear("the media hub has ended");
    this.#deps.recordings.onHubLost();
  }

  #handle(child: HubChild, message: HubMessage): void {
    const { elsewhere, streamLog } = this.#deps;
    if (message.type === "published") {
      this.#streams.add(message.stream);
      elsewhere?.add(message.stream);
      streamLog?.add(message.stream);
    } else if (message.type === "unpublished") {
      this.#streams.remove(message.path);
      elsewhere?.remove(message.path);
      streamLog?.remove(message.path, message.reason);
    } else if (message.type === "abandoned") elsewhere?.remove(message.path);
    else if (message.type === "rejected") streamLog?.reject({ ...message, isAuthenticated: true });
    else if (message.type === "log") this.#log(message);
    else if (message.type === "stats") {
      if (!this.#closing.signal.aborted) child.refresh();
      this.#streams.measure(message);
    } else if (message.type === "segment" || message.type === "recorded" || message.type === "repaired")
      this.#deps.recordings.handle(message);
  }

  #log({ level, message, fields = {} }: HubMessage & { readonly type: "log" }): void {
    const { log } = this.#deps;
    if (level === "error" || level === "fatal") log.error(fields, message);
    else if (level === "warn") log.warn(fields, message);
    else if (level === "info") log.info(fields, message);
    else log.debug(fields, message);
  }
}

/** The hub stops recording a little below the free space at which the server starts to remove recordings. */
const HUB_RESERVE = 0.9;

interface HubStart extends Pick<HubSettings, "httpSocket" | "recordingsFolder" | "untold" | "relay"> {
  readonly ports: Readonly<Record<"rtsp" | "rtmp" | "srt", number> & Record<"rtsps" | "rtmps", number | null>>;
}

function hubSettings(config: Config, { ports, ...start }: HubStart): HubSettings {
  const { http, rtsp, rtmp, srt, webrtc, media, recordings } = config;
  return {
    ...start,
    rtsp: { host: rtsp.host ?? http.host, port: ports.rtsp },
    rtmp: { host: rtmp.host ?? http.host, port: ports.rtmp },
    srt: { host: srt.host ?? http.host, port: ports.srt, latencyMs: srt.latency_ms, passphrase: srt.passphrase },
    ...(http.tls_cert !== null && http.tls_key !== null && ports.rtsps !== null && ports.rtmps !== null
      ? {
          tls: {
            ...{ cert: readFileSync(http.tls_cert, "utf8"), key: readFileSync(http.tls_key, "utf8") },
            ...{ rtspPort: ports.rtsps, rtmpPort: ports.rtmps },
          },
        }
      : {}),
    segmentSeconds: recordings.segment_seconds,
    reserveBytes: Math.floor(recordings.reserve_bytes * HUB_RESERVE),
    webrtc: { addresses: webrtc.addresses, portFirst: webrtc.port_first, portLast: webrtc.port_last },
    limits: {
      ...CLIENT_LIMITS,
      publishers: media.publishers,
      readersPerStream: media.readers_per_stream,
      connections: media.connections,
      connectionsPerAddress: media.connections_per_address,
      frozenMs: Math.round(media.frozen_seconds * 1000),
      keyBytes: media.bytes_per_key,
    },
  };
}
