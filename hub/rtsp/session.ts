/**
 * What one RTSP client does: describe and play, or announce and record. A connection has one session at a time, which ends
 * with the connection, so that its id is useless to other clients.
 */
import { randomBytes } from "node:crypto";
import type { Socket } from "node:net";
import { setTimeout } from "node:timers/promises";
import { MediaError } from "../../media/access-unit.ts";
import { readBasicPassword } from "../../media/rtsp/headers.ts";
import type { RtspRequest } from "../../media/rtsp/message.ts";
import { writeSdp } from "../../media/rtsp/sdp.ts";
import type { SessionDeps } from "../connections.ts";
import { describeBug, INTERNAL_ERROR, StatusError } from "../errors.ts";
import { notLive } from "../live-stream.ts";
import { type RequestUrl, readPath, readRequestUrl, splitTrack } from "../path.ts";
import { Player, VIDEO } from "./from-stream.ts";
import { Publisher, readAnnounced } from "./to-stream.ts";
import type { Wire } from "./transport.ts";

export interface RtspDeps extends SessionDeps {
  /** Clients that only receive must send something at this interval. */
  readonly sessionSeconds: number;
  /** Interval of receiver reports for publishers over UDP. */
  readonly reportMs: number;
}

export interface Answer {
  readonly headers?: Readonly<Record<string, string>>;
  readonly body?: string;
  /** Called once the response is written. */
  after?(): void;
}

export interface SessionEvents {
  /** The client is alive. */
  touch(): void;
  /** `cut`: immediately; `finish`: after pending responses; `leave`: when the client closes, or after a while. */
  end(reason: string, how: "cut" | "finish" | "leave"): void;
  /** The session has ended, which cancels a pending `leave`: another may start. */
  over(): void;
}

interface Grant {
  readonly action: "publish" | "play";
  readonly path: string;
  readonly recording: string | null;
  readonly isOwn: boolean;
  readonly untilMs: number;
}

/** Over UDP, the last packets may arrive after TEARDOWN. */
const LAST_PACKETS_MS = 50;
/** A key can be revoked: older grants are requested again. */
const GRANT_SECONDS = 10;

type Method = (session: Session, request: RtspRequest) => Answer | Promise<Answer>;

const METHODS: Readonly<Record<string, Method>> = {
  OPTIONS: () => ({ headers: { Public: Object.keys(METHODS).join(", ") } }),
  DESCRIBE: (session, request) => session.describe(request),
  ANNOUNCE: (session, request) => session.announce(request),
  SETUP: (session, request) => session.setUp(request),
  PLAY: (session, request) => session.play(request),
  PAUSE: (session, request) => session.pause(request),
  RECORD: (session, request) => session.record(request),
  TEARDOWN: (session, request) => session.tearDown(request),
  GET_PARAMETER: (session, request) => session.keepAlive(request),
  SET_PARAMETER: (session, request) => session.keepAlive(request),
};

export class Session {
  readonly #deps: RtspDeps;
  readonly #wire: Wire;
  readonly #events: SessionEvents;
  #id = newId();
  #grant: Grant | null = null;
  #player: Player | null = null;
  #publisher: Publisher | null = null;
  /** The announced address, which the tracks' addresses start with. */
  #announcedAt = "";
  #isClosed = false;

  constructor(deps: RtspDeps, socket: Socket, address: string, events: SessionEvents) {
    this.#deps = deps;
    this.#wire = { socket, address, touch: events.touch };
    this.#events = events;
  }

  /** The client has presented a valid key. */
  get isAuthorized(): boolean {
    return this.#grant !== null;
  }

  get isStreaming(): boolean {
    return this.#player?.isPlaying === true || this.#publisher?.isRecording === true;
  }

  get isPublishing(): boolean {
    return this.#publisher !== null;
  }

  /**
   * The client must send keep-alives, because nothing else shows that it is alive: a publisher's pictures do, unless it may
   * pause, and so does data that a player accepts over TCP.
   */
  get needsKeepAlive(): boolean {
    const isOwn = this.#publisher !== null && this.#grant?.isOwn === true;
    return !this.isStreaming || isOwn || this.#player?.delivery.kind === "udp";
  }

  /** Rejects with a `StatusError` or `StreamRejected`. */
  async handle(request: RtspRequest): Promise<Answer> {
    const method = Object.hasOwn(METHODS, request.method) ? METHODS[request.method] : undefined;
    if (method === undefined) throw new StatusError(501, `${request.method} is not supported`);
    const answer = await method(this, request);
    const session = { Session: `${this.#id};timeout=${this.#deps.sessionSeconds}` };
    return { ...answer, headers: { ...(this.#isSetUp ? session : {}), ...answer.headers } };
  }

  async describe(request: RtspRequest): Promise<Answer> {
    const { url, rest } = expectUrl(request);
    const { path } = await this.#authorize("play", request, rest);
    // With a slash before the query: clients that replace the last segment by the track's name find it there too.
    const [address = "", ...query] = url.split(/(?=\?)/);
    const base = `${address.replace(/\/$/, "")}/${query.join("")}`;
    const headers = { "Content-Base": base, "Content-Type": "application/sdp" };
    return { headers, body: writeSdp(this.#expectTracks(path)) };
  }

  async announce(request: RtspRequest): Promise<Answer> {
    if (this.#isSetUp) throw wrongState("this session is in use");
    const { rest } = expectUrl(request);
    const { path, recording, isOwn } = await this.#authorize("publish", request, rest);
    const announced = readAnnounced(Buffer.from(request.body).toString("utf8"));
    const publication = this.#deps.streams.publish(path, "rtsp", recording, isOwn);
    const { settings, reportMs, log } = this.#deps;
    const { unitBytes } = settings.limits;
    const publisher = new Publisher(announced, publication, {
      unitBytes,
      reportMs,
      onError: (error) => this.fail(error),
    });
    const { audioDropped } = announced;
    const { address } = this.#wire;
    if (audioDropped !== null) log("warn", `rtsp audio dropped: ${audioDropped}`, { address, path });
    this.#announcedAt = rest;
    this.#publisher = publisher;
    publication.ended.then((reason) => {
      if (this.#publisher === publisher) this.#events.end(reason, "finish");
    });
    return {};
  }

  async setUp(request: RtspRequest): Promise<Answer> {
    this.#expectSession(request, false);
    if (this.isStreaming) throw wrongState("the session is already streaming");
    const { url, rest } = expectUrl(request);
    const header = request.headers.get("transport") ?? "";
    if (this.#publisher !== null) {
      return { headers: { Transport: await this.#publisher.setUp(rest, this.#announcedAt, header, this.#wire) } };
    }
    const { rest: base, track } = splitTrack(rest);
    if (this.#player !== null) expectPath(base, this.#player);
    const { path } = await this.#authorize("play", request, base);
    const tracks = this.#player?.tracks ?? this.#expectTracks(path);
    const { limits } = this.#deps.settings;
    const setUp = { path, tracks, track: track ?? VIDEO, url, header, limits };
    const { player, transport } = await Player.setUp(this.#player, setUp, this.#wire);
    if (this.#isClosed) player.close();
    this.#player = player;
    player.onEnd = (reason, isStalled) => this.#events.end(reason, isStalled ? "cut" : "leave");
    return { headers: { Transport: transport } };
  }

  async play(request: RtspRequest): Promise<Answer> {
    this.#expectSession(request, true);
    const player = this.#player;
    if (player === null) throw wrongState("PLAY requires SETUP of a track");
    if (player.isPlaying) return {};
    // Clients append a slash to the address, even after its query.
    const base = splitTrack(expectUrl(request).rest).rest.replace(/\/$/, "");
    expectPath(base, player);
    await this.#authorize("play", request, base);
    const info = player.join((reader) => this.#deps.streams.read(player.path, reader));
    return {
      headers: { Range: "npt=0.000-", "RTP-Info": info },
      after: () => player.start(performance.now()),
    };
  }

  pause(request: RtspRequest): Answer {
    this.#expectSession(request, true);
    const active = this.#player ?? this.#publisher;
    if (active === null) throw wrongState("PAUSE requires SETUP of a track");
    active.pause();
    return {};
  }

  record(request: RtspRequest): Answer {
    this.#expectSession(request, true);
    const publisher = this.#publisher;
    if (publisher === null) throw wrongState("RECORD requires ANNOUNCE");
    if (!publisher.isSetUp) throw wrongState("RECORD requires SETUP of the video track");
    try {
      publisher.record();
    } catch (error) {
      if (error instanceof MediaError) throw new StatusError(415, error.message);
      throw error;
    }
    return {};
  }

  async tearDown(request: RtspRequest): Promise<Answer> {
    this.#expectSession(request, true);
    if (this.#publisher?.kind === "udp") await setTimeout(LAST_PACKETS_MS);
    this.#end("the publisher ended the stream");
    return {};
  }

  keepAlive(request: RtspRequest): Answer {
    this.#expectSession(request, false);
    return {};
  }

  /** Throws what `fail` handles. */
  handleFrame(channel: number, packet: Uint8Array): void {
    this.#publisher?.handleFrame(channel, packet);
  }

  /** The socket has sent its queue. */
  handleDrain(): void {
    this.#player?.flush();
  }

  tick(nowMs: number): void {
    this.#player?.tick(nowMs);
    this.#publisher?.tick(nowMs);
  }

  /** Invalid media, or a bug: both end only this connection. */
  fail(error: unknown): void {
    const isTheirs = error instanceof MediaError;
    if (!isTheirs) this.#deps.log("error", "rtsp session failed", { error: describeBug(error) });
    this.#events.end(isTheirs ? error.message : INTERNAL_ERROR, "finish");
  }

  close(reason: string): void {
    this.#isClosed = true;
    this.#end(reason);
  }

  #end(reason: string): void {
    const publisher = this.#publisher;
    const player = this.#player;
    this.#publisher = null;
    this.#player = null;
    this.#id = newId();
    publisher?.close(reason);
    player?.close();
    this.#events.over();
  }

  get #isSetUp(): boolean {
    return this.#player !== null || this.#publisher !== null;
  }

  #expectTracks(path: string) {
    const tracks = this.#deps.streams.tracks(path);
    if (tracks === null) throw notLive(path);
    return tracks;
  }

  /** `isRequired`: the request must name its session. */
  #expectSession(request: RtspRequest, isRequired: boolean): void {
    const given = request.headers.get("session")?.split(";")[0]?.trim();
    if (given === undefined && !isRequired) return;
    if (!this.#isSetUp || given !== this.#id) throw new StatusError(454, "this connection has no such session");
  }

  /** Asks the server, unless a recent grant covers it. Every publication is asked for: each has its own recording. */
  async #authorize(action: Grant["action"], request: RtspRequest, rest: string): Promise<Grant> {
    const target = readPath(rest);
    if (target === null) throw new StatusError(404, "expected the address rtsp://<host>/<username>/<path>");
    const { path, apiKey } = target;
    const known = this.#grant;
    const isKnown = action === "play" && known?.action === action && known.path === path;
    if (isKnown && performance.now() < known.untilMs) return known;
    const password = readBasicPassword(request.headers.get("authorization"));
    const secret = password ?? apiKey ?? readRequestUrl(request.url)?.password ?? null;
    if (secret === null) throw new StatusError(401, "a key is required: as the password, or as ?api_key=");
    const { address } = this.#wire;
    const admission = await this.#deps.access.authorize({ action, protocol: "rtsp", path, secret, address });
    if (this.#isClosed) throw new StatusError(503, "the connection is closed");
    const { recording, isOwn = false } = admission;
    const seconds = Math.min(GRANT_SECONDS, this.#deps.sessionSeconds);
    this.#grant = { action, path, recording, isOwn, untilMs: performance.now() + seconds * 1000 };
    return this.#grant;
  }
}

const newId = (): string => randomBytes(16).toString("hex");
const wrongState = (message: string): StatusError => new StatusError(455, message);

function expectPath(rest: string, { path }: Player): void {
  if (readPath(rest)?.path !== path) throw new StatusError(404, `this session plays ${path}`);
}

function expectUrl({ url }: RtspRequest): RequestUrl {
  const parsed = readRequestUrl(url);
  if (parsed === null) throw new StatusError(400, "expected an address of the form rtsp://<host>/<path>");
  return parsed;
}
