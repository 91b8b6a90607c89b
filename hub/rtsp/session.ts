/**
 * RTSP (RFC 2326) over TCP or TLS. A client describes and plays, or announces and records; its requests are answered in order, and
 * its packets passed on. A connection has one session at a time, which ends with it, so that its id is useless to other
 * clients.
 */
import { randomBytes } from "node:crypto";
import type { Socket } from "node:net";
import { setTimeout as sleep } from "node:timers/promises";
import { TLSSocket } from "node:tls";
import { MediaError, type Tracks } from "../../media/access-unit.ts";
import { readBasicPassword } from "../../media/rtsp/headers.ts";
import { MessageReader, RtspError, type RtspItem, type RtspRequest, writeResponse } from "../../media/rtsp/message.ts";
import { writeSdp } from "../../media/rtsp/sdp.ts";
import { type ListenOptions, openTcpPort, type SessionDeps, type TcpPort } from "../connections.ts";
import { describeBug, guardBy, INTERNAL_ERROR, type RejectionKind, StatusError, StreamRejected } from "../errors.ts";
import { notLive } from "../live-stream.ts";
import { type RequestUrl, readPath, readRequestUrl, splitTrack } from "../path.ts";
import { Player, VIDEO } from "./from-stream.ts";
import { Publisher, readAnnounced } from "./to-stream.ts";
import type { Wire } from "./transport.ts";

interface RtspOptions {
  /** Clients that only receive must send something at this interval. */
  readonly sessionSeconds: number;
  /** Interval of receiver reports for publishers over UDP. */
  readonly reportMs: number;
  /** Time for a player to end its session with TEARDOWN when the stream has ended; on a busy machine this takes seconds. */
  readonly leaveMs: number;
  /** A key can be revoked: older grants are requested again. */
  readonly grantSeconds: number;
}

interface Answer {
  readonly headers?: Readonly<Record<string, string>>;
  readonly body?: string;
  /** Called once the response is written. */
  after?(): void;
}

interface Grant {
  readonly action: "publish" | "play";
  readonly path: string;
  readonly recording: string | null;
  readonly isOwn: boolean;
  /** The client is the hub of another node. */
  readonly isRelay: boolean;
  readonly untilMs: number;
}

const DEFAULTS: RtspOptions = { sessionSeconds: 60, reportMs: 5000, leaveMs: 10_000, grantSeconds: 10 };
/** No client presents more invalid keys on one connection by mistake. */
const MAX_INVALID_KEYS = 5;
/** With more unread responses, the client only sends. */
const UNREAD_BYTES = 65_536;
/** Time for the client to read the last response. */
const CLOSE_MS = 2000;
/** Over UDP, the last packets may arrive after TEARDOWN. */
const LAST_PACKETS_MS = 50;

/** RTSP has no "conflict": a busy path is forbidden, and a reached limit is too little bandwidth. */
const STATUS: Readonly<Record<RejectionKind, number>> = {
  ...{ unauthorized: 401, slow_down: 403, forbidden: 403, unknown: 404, unavailable: 503 },
  ...{ busy: 403, not_live: 404, too_many: 453 },
};

/** Rejects if it cannot listen. */
export const openRtsp = (options: ListenOptions & Partial<RtspOptions>): Promise<TcpPort> =>
  openTcpPort("rtsp", options, (socket) => new RtspSession(socket, { ...DEFAULTS, ...options }));

class RtspSession {
  readonly #deps: SessionDeps & RtspOptions;
  readonly #socket: Socket;
  readonly #wire: Wire;
  readonly #reader = new MessageReader();
  readonly #guard = guardBy((error) => this.#fail(error));
  readonly #openedAtMs = performance.now();
  #activeAtMs = performance.now();
  #isBusy = false;
  /** Not null: nothing more is read, and the socket is destroyed at this time at the latest. */
  #closeAtMs: number | null = null;
  /** Not null: the stream has ended, and the client may close until this time. */
  #leaveAtMs: number | null = null;
  #invalidKeys = 0;
  #id = newId();
  /** Null until the client has presented a valid key. */
  #grant: Grant | null = null;
  /** Called when another key authorizes the client, or the connection has closed. */
  #release: () => void = () => {};
  #player: Player | null = null;
  #publisher: Publisher | null = null;
  /** The announced address, which the tracks' addresses start with. */
  #announcedAt = "";

  constructor(socket: Socket, deps: SessionDeps & RtspOptions) {
    const touch = (): void => {
      this.#activeAtMs = performance.now();
    };
    this.#deps = deps;
    this.#socket = socket;
    const address = (socket.remoteAddress ?? "").replace(/^::ffff:/, "");
    this.#wire = { socket, isSecure: socket instanceof TLSSocket, address, touch };
    socket.on(
      "drain",
      this.#guard(() => this.#player?.flush()),
    );
    // The "close" event follows.
    socket.on("error", () => {});
    socket.on(
      "close",
      this.#guard(() => {
        this.#closeAtMs ??= performance.now();
        this.#release();
        this.#end("the connection was closed");
      }),
    );
  }

  receive(bytes: Buffer): void {
    if (this.#closeAtMs !== null) return;
    this.#activeAtMs = performance.now();
    this.#reader.push(bytes);
    this.#readItems();
    this.#reader.keepRest();
  }

  readonly tick = this.#guard((nowMs: number): void => {
    const { settings, sessionSeconds } = this.#deps;
    if (this.#closeAtMs !== null) {
      if (nowMs > this.#closeAtMs) this.#socket.destroy();
    } else if (this.#grant === null && nowMs - this.#openedAtMs > settings.limits.helloMs) {
      this.#cut("the client was not authorized in time");
    } else if (this.#needsKeepAlive && nowMs - this.#activeAtMs > sessionSeconds * 1000) {
      this.close(`the client sent nothing for ${sessionSeconds} s`);
    } else if (this.#leaveAtMs !== null && nowMs > this.#leaveAtMs) {
      this.close("the stream has ended");
    } else {
      this.#player?.tick(nowMs);
      this.#publisher?.tick(nowMs);
    }
  });

  /** Closes after the client has read pending responses, or a little later. */
  close(reason: string): void {
    if (this.#isClosing) return;
    this.#closeAtMs = performance.now() + CLOSE_MS;
    this.#end(reason);
    this.#socket.end();
    // Input is read and ignored: a client that still sends must get the response, and not a reset.
    this.#socket.resume();
  }

  #cut(reason: string): void {
    this.#closeAtMs = performance.now();
    this.#end(reason);
    this.#socket.destroy();
  }

  /** Ends the session, not the connection: another may start. */
  #end(reason: string): void {
    const publisher = this.#publisher;
    const player = this.#player;
    this.#publisher = null;
    this.#player = null;
    this.#id = newId();
    publisher?.close(reason);
    player?.close();
    this.#leaveAtMs = null;
  }

  /** Invalid input, or a bug: both end only this connection. */
  #fail(error: unknown): void {
    const { connections, log } = this.#deps;
    if (this.#isClosing) return;
    const isTheirs = error instanceof MediaError || error instanceof RtspError;
    if (error instanceof RtspError) {
      connections.rejected += 1;
      this.#write(writeResponse(error.status, error.message, { CSeq: null, Server: "Windhover", Connection: "close" }));
    }
    if (!isTheirs) log("error", "rtsp session failed", { error: describeBug(error) });
    this.close(isTheirs ? error.message : INTERNAL_ERROR);
  }

  readonly #readItems = this.#guard((): void => {
    while (!this.#isBusy && this.#closeAtMs === null) {
      const item = this.#reader.next();
      if (item === null) return;
      this.#handle(item);
    }
  });

  #handle(item: RtspItem): void {
    // The time of the bytes that it arrived with: a picture has many packets.
    if (item.kind === "frame") this.#publisher?.handleFrame(item.channel, item.packet, this.#activeAtMs);
    if (item.kind !== "request") return;
    this.#isBusy = true;
    this.#socket.pause();
    this.#answer(item)
      .catch((error: unknown) => this.#fail(error))
      .finally(() => {
        this.#isBusy = false;
        if (this.#isClosing) return;
        this.#socket.resume();
        this.#readItems();
      });
  }

  async #answer(request: RtspRequest): Promise<void> {
    const sequence = request.headers.get("cseq");
    const common = { CSeq: sequence ?? null, Server: "Windhover" };
    try {
      if (!/^\d{1,10}$/.test(sequence ?? "")) throw new RtspError(400, "expected the header CSeq");
      const { headers, body, after } = await this.#run(request);
      const session = this.#isSetUp ? { Session: `${this.#id};timeout=${this.#deps.sessionSeconds}` } : {};
      this.#write(writeResponse(200, null, { ...common, ...session, ...headers }, body));
      after?.();
    } catch (error) {
      const isRejected = error instanceof StreamRejected;
      if (!isRejected && !(error instanceof StatusError)) throw error;
      const status = isRejected ? STATUS[error.kind] : error.status;
      const challenge = status === 401 ? { "WWW-Authenticate": 'Basic realm="Windhover"' } : {};
      this.#write(writeResponse(status, error.message, { ...common, ...challenge }));
      this.#deps.connections.rejected += 1;
      // The challenge itself is not logged: clients send their key only after it.
      if (isRejected || status !== 401) this.#logRejected(request, error.message);
      if (status === 401 && ++this.#invalidKeys >= MAX_INVALID_KEYS) this.close("too many invalid keys");
    }
  }

  /** Publishers on level info: operators need to know why a camera does not appear. Players retry anyway. */
  #logRejected({ method, url }: RtspRequest, reason: string): void {
    const level = this.#publisher !== null || method === "ANNOUNCE" ? "info" : "debug";
    const path = readPath(readRequestUrl(url)?.rest ?? "")?.path;
    this.#deps.log(level, `rtsp ${method} rejected: ${reason}`, { address: this.#wire.address, path });
  }

  #write(response: Buffer): void {
    if (this.#isClosing || this.#socket.destroyed) return;
    if (!this.#isStreaming && this.#socket.writableLength > UNREAD_BYTES)
      this.#cut("the client does not read responses");
    else this.#socket.write(response);
  }

  readonly #methods: Readonly<Record<string, (request: RtspRequest) => Answer | Promise<Answer>>> = {
    OPTIONS: () => ({ headers: { Public: Object.keys(this.#methods).join(", ") } }),
    DESCRIBE: (request) => this.#describe(request),
    ANNOUNCE: (request) => this.#announce(request),
    SETUP: (request) => this.#setUp(request),
    PLAY: (request) => this.#play(request),
    PAUSE: (request) => this.#pause(request),
    RECORD: (request) => this.#record(request),
    TEARDOWN: (request) => this.#tearDown(request),
    GET_PARAMETER: (request) => this.#keepAlive(request),
    SET_PARAMETER: (request) => this.#keepAlive(request),
  };

  /** Rejects with a `StatusError` or `StreamRejected`. */
  async #run(request: RtspRequest): Promise<Answer> {
    const method = Object.hasOwn(this.#methods, request.method) ? this.#methods[request.method] : undefined;
    if (method === undefined) throw new StatusError(501, `${request.method} is not supported`);
    return method(request);
  }

  async #describe(request: RtspRequest): Promise<Answer> {
    const { url, rest } = expectUrl(request);
    const grant = await this.#authorize("play", request, rest);
    // With a slash before the query: clients that replace the last segment by the track's name find it there too.
    const [address = "", ...query] = url.split(/(?=\?)/);
    const base = `${address.replace(/\/$/, "")}/${query.join("")}`;
    const headers = { "Content-Base": base, "Content-Type": "application/sdp" };
    return { headers, body: writeSdp(await this.#expectTracks(grant)) };
  }

  async #announce(request: RtspRequest): Promise<Answer> {
    if (this.#isSetUp) throw wrongState("this session is in use");
    const { rest } = expectUrl(request);
    const { path, recording, isOwn } = await this.#authorize("publish", request, rest);
    const { settings, reportMs, log } = this.#deps;
    const { announced, publication } = this.#begin(request, path, recording, isOwn);
    const onError = (error: unknown) => this.#fail(error);
    const publisher = new Publisher(announced, publication, {
      unitBytes: settings.limits.unitBytes,
      reportMs,
      onError,
    });
    const { audioDropped } = announced;
    const { address } = this.#wire;
    if (audioDropped !== null) log("warn", `rtsp audio dropped: ${audioDropped}`, { address, path });
    this.#announcedAt = rest;
    this.#publisher = publisher;
    publication.ended.then((reason) => {
      if (this.#publisher === publisher) this.close(reason);
    });
    return {};
  }

  /** Throws a `StatusError` or `StreamRejected`. */
  #begin(request: RtspRequest, path: string, recording: string | null, isOwn: boolean) {
    const { streams } = this.#deps;
    try {
      const announced = readAnnounced(Buffer.from(request.body).toString("utf8"));
      return { announced, publication: streams.publish(path, "rtsp", recording, isOwn) };
    } catch (error) {
      streams.abandon(path, isOwn ? undefined : { protocol: "rtsp", error });
      throw error;
    }
  }

  async #setUp(request: RtspRequest): Promise<Answer> {
    this.#expectSession(request, false);
    if (this.#isStreaming) throw wrongState("the session is already streaming");
    const { url, rest } = expectUrl(request);
    const header = request.headers.get("transport") ?? "";
    if (this.#publisher !== null) {
      return { headers: { Transport: await this.#publisher.setUp(rest, this.#announcedAt, header, this.#wire) } };
    }
    const { rest: base, track } = splitTrack(rest);
    if (this.#player !== null) expectPath(base, this.#player);
    const grant = await this.#authorize("play", request, base);
    const { path, isRelay } = grant;
    const tracks = this.#player?.tracks ?? (await this.#expectTracks(grant));
    const { limits } = this.#deps.settings;
    const setUp = { path, tracks, track: track ?? VIDEO, url, header, limits, isRelay };
    const { player, transport } = await Player.setUp(this.#player, setUp, this.#wire);
    if (this.#isClosing) player.close();
    this.#player = player;
    player.onEnd = (reason, isStalled) => {
      if (isStalled) this.#cut(reason);
      // The client closes the connection, or is closed later.
      else this.#leaveAtMs ??= performance.now() + this.#deps.leaveMs;
    };
    return { headers: { Transport: transport } };
  }

  async #play(request: RtspRequest): Promise<Answer> {
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

  #pause(request: RtspRequest): Answer {
    this.#expectSession(request, true);
    const active = this.#player ?? this.#publisher;
    if (active === null) throw wrongState("PAUSE requires SETUP of a track");
    active.pause();
    return {};
  }

  #record(request: RtspRequest): Answer {
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

  async #tearDown(request: RtspRequest): Promise<Answer> {
    this.#expectSession(request, true);
    if (this.#publisher?.kind === "udp") await sleep(LAST_PACKETS_MS);
    this.#end("the publisher ended the stream");
    return {};
  }

  #keepAlive(request: RtspRequest): Answer {
    this.#expectSession(request, false);
    return {};
  }

  get #isClosing(): boolean {
    return this.#closeAtMs !== null;
  }

  get #isStreaming(): boolean {
    return this.#player?.isPlaying === true || this.#publisher?.isRecording === true;
  }

  /**
   * The client must send keep-alives, because nothing else shows that it is alive: a publisher's pictures do, unless it may
   * pause, and so does data that a player accepts over TCP.
   */
  get #needsKeepAlive(): boolean {
    const isOwn = this.#publisher !== null && this.#grant?.isOwn === true;
    return !this.#isStreaming || isOwn || this.#player?.delivery.kind === "udp";
  }

  get #isSetUp(): boolean {
    return this.#player !== null || this.#publisher !== null;
  }

  /** Waits for a stream of another node. The hub of another node gets only what is published here: no loops. */
  async #expectTracks({ path, isRelay }: Grant): Promise<Tracks> {
    const { streams, relays } = this.#deps;
    if (!isRelay) await relays?.want(path);
    if (this.#isClosing) throw closed();
    const tracks = isRelay && streams.isRelay(path) ? null : streams.tracks(path);
    if (tracks === null) throw notLive(path);
    return tracks;
  }

  /** `isRequired`: there must be a session. A request that names none is for that of its connection. */
  #expectSession(request: RtspRequest, isRequired: boolean): void {
    const given = request.headers.get("session")?.split(";")[0]?.trim();
    if (given === undefined && (this.#isSetUp || !isRequired)) return;
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
    if (this.#isClosing) {
      if (action === "publish") this.#deps.streams.abandon(path);
      throw closed();
    }
    const { recording, key, isOwn = false, isRelay = false } = admission;
    this.#release();
    this.#release = this.#deps.connections.hold(key, (reason) => this.close(reason));
    const untilMs = performance.now() + this.#deps.grantSeconds * 1000;
    this.#grant = { action, path, recording, isOwn, isRelay, untilMs };
    return this.#grant;
  }
}

const closed = (): StatusError => new StatusError(503, "the connection is closed");
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
