/**
 * Whoever is at the other end of a connection: what it may do, and the one session it has. The session ends with the
 * connection, so that its id is of no use to anybody else.
 */

import { randomBytes } from "node:crypto";
import type { Socket } from "node:net";
import { setTimeout } from "node:timers/promises";
import { MediaError } from "../../media/access-unit.ts";
import { readBasicPassword } from "../../media/rtsp/headers.ts";
import type { RtspRequest } from "../../media/rtsp/message.ts";
import { writeSdp } from "../../media/rtsp/sdp.ts";
import { describeFault } from "../guard.ts";
import { IntakeFault } from "../intake.ts";
import { readPath } from "../path.ts";
import { readAnnounced } from "./announced.ts";
import type { Player } from "./player.ts";
import { Publisher } from "./publisher.ts";
import { RequestRefusal } from "./refusal.ts";
import { type RequestUrl, readRequestUrl, splitTrack } from "./request-url.ts";
import type { RtspContext } from "./rtsp-server.ts";
import { setUpPlayer, setUpPublisher, type Wire } from "./set-up.ts";

const LAST_PACKETS_MS = 50;
/** A key may be taken back: what was granted is asked for again when it is used later than this. */
const RIGHT_SECONDS = 10;

export interface Answer {
  readonly headers?: Readonly<Record<string, string>>;
  readonly body?: string;
  /** Once it is written. */
  after?(): void;
}

export interface ClientEvents {
  /** It is still there. */
  heard(): void;
  /** `cut`: at once; `finish`: when what was written has gone; `leave`: when the client has, or after a while. */
  end(reason: string, how: "cut" | "finish" | "leave"): void;
  /** The session is over, and with it what was to come of its end: another may begin. */
  over(): void;
}

interface Right {
  readonly action: "publish" | "play";
  readonly path: string;
  readonly recording: string | null;
  readonly isOwn: boolean;
  readonly untilMs: number;
}

type Method = (client: Client, request: RtspRequest) => Answer | Promise<Answer>;

const METHODS: Readonly<Record<string, Method>> = {
  OPTIONS: () => ({ headers: { Public: Object.keys(METHODS).join(", ") } }),
  DESCRIBE: (client, request) => client.describe(request),
  ANNOUNCE: (client, request) => client.announce(request),
  SETUP: (client, request) => client.setUp(request),
  PLAY: (client, request) => client.play(request),
  PAUSE: (client, request) => client.pause(request),
  RECORD: (client, request) => client.record(request),
  TEARDOWN: (client, request) => client.tearDown(request),
  GET_PARAMETER: (client, request) => client.keepAlive(request),
  SET_PARAMETER: (client, request) => client.keepAlive(request),
};

export class Client {
  readonly #parts: RtspContext;
  readonly #wire: Wire;
  readonly #events: ClientEvents;
  #session = newSession();
  #right: Right | null = null;
  #player: Player | null = null;
  #publisher: Publisher | null = null;
  /** Where it was announced: the tracks' addresses begin with it. */
  #announcedAt = "";
  #isClosed = false;

  constructor(parts: RtspContext, socket: Socket, address: string, events: ClientEvents) {
    this.#parts = parts;
    this.#wire = { socket, address, heard: events.heard };
    this.#events = events;
  }

  /** It has shown a key that is good for something. */
  get isAdmitted(): boolean {
    return this.#right !== null;
  }

  get isStreaming(): boolean {
    return this.#player?.isPlaying === true || this.#publisher?.isRecording === true;
  }

  get isPublishing(): boolean {
    return this.#publisher !== null;
  }

  /**
   * Nothing else tells whether it is still there: a publisher's pictures do, unless they may stay away, and so does what a
   * connection takes.
   */
  get mustBeHeard(): boolean {
    const isOwn = this.#publisher !== null && this.#right?.isOwn === true;
    return !this.isStreaming || isOwn || this.#player?.delivery.kind === "udp";
  }

  async handle(request: RtspRequest): Promise<Answer> {
    const method = METHODS[request.method];
    if (method === undefined) throw new RequestRefusal(501, `${request.method} is not known here`);
    const answer = await method(this, request);
    const hasSession = this.#player !== null || this.#publisher !== null;
    const session = { Session: `${this.#session};timeout=${this.#parts.sessionSeconds}` };
    return { ...answer, headers: { ...(hasSession ? session : {}), ...answer.headers } };
  }

  async describe(request: RtspRequest): Promise<Answer> {
    const { url, rest } = expectUrl(request);
    const { path } = await this.#allow("play", request, rest);
    const tracks = this.#parts.streams.tracks(path);
    if (tracks === null) throw new RequestRefusal(404, `nothing is published at ${path}`);
    // The slash before the query: clients that put the track's name in place of the last segment find it there too.
    const [address = "", ...query] = url.split(/(?=\?)/);
    const base = `${address.replace(/\/$/, "")}/${query.join("")}`;
    const headers = { "Content-Base": base, "Content-Type": "application/sdp" };
    return { headers, body: writeSdp(tracks) };
  }

  async announce(request: RtspRequest): Promise<Answer> {
    if (this.#player !== null || this.#publisher !== null) throw wrongState("this session is in use");
    const { rest } = expectUrl(request);
    const { path, recording, isOwn } = await this.#allow("publish", request, rest);
    const announced = readAnnounced(Buffer.from(request.body).toString("utf8"));
    const publication = this.#parts.streams.publish(path, "rtsp", recording, isOwn);
    const { unitBytes } = this.#parts.settings.limits;
    const publisher = new Publisher(announced, publication, { unitBytes, reportMs: this.#parts.reportMs });
    publisher.onFault = (error) => this.fail(error);
    const { leftOut } = announced;
    const { address } = this.#wire;
    if (leftOut !== null) this.#parts.log("warn", `rtsp: sound is left out: ${leftOut}`, { address, path });
    this.#announcedAt = rest;
    this.#publisher = publisher;
    publication.ended.then((reason) => {
      if (this.#publisher === publisher) this.#events.end(reason, "finish");
    });
    return {};
  }

  async setUp(request: RtspRequest): Promise<Answer> {
    this.#expectSession(request, false);
    if (this.isStreaming) throw wrongState("it is streaming already");
    const { url, rest } = expectUrl(request);
    const header = request.headers.get("transport") ?? "";
    const { limits } = this.#parts.settings;
    if (this.#publisher !== null) {
      return setUpPublisher(this.#publisher, { rest, base: this.#announcedAt, header }, this.#wire);
    }
    const { rest: base, track } = splitTrack(rest);
    if (this.#player !== null) expectPath(base, this.#player);
    const { path } = await this.#allow("play", request, base);
    const tracks = this.#player?.tracks ?? this.#parts.streams.tracks(path);
    if (tracks === null) throw new RequestRefusal(404, `nothing is published at ${path}`);
    const { player, answer } = await setUpPlayer(
      this.#player,
      { path, tracks, track, url, header, limits },
      this.#wire,
    );
    if (this.#isClosed) player.close();
    this.#player = player;
    player.onEnd = (reason, isStalled) => this.#events.end(reason, isStalled ? "cut" : "leave");
    return answer;
  }

  async play(request: RtspRequest): Promise<Answer> {
    this.#expectSession(request, true);
    const player = this.#player;
    if (player === null) throw wrongState("no track is set up for playing");
    if (player.isPlaying) return {};
    // Clients put a slash behind the address, even behind its query.
    const base = splitTrack(expectUrl(request).rest).rest.replace(/\/$/, "");
    expectPath(base, player);
    await this.#allow("play", request, base);
    const info = player.join((reader) => this.#parts.streams.read(player.path, reader));
    return {
      headers: { Range: "npt=0.000-", "RTP-Info": info },
      after: () => player.start(performance.now()),
    };
  }

  pause(request: RtspRequest): Answer {
    this.#expectSession(request, true);
    const session = this.#player ?? this.#publisher;
    if (session === null) throw wrongState("nothing is set up");
    session.pause();
    return {};
  }

  record(request: RtspRequest): Answer {
    this.#expectSession(request, true);
    const publisher = this.#publisher;
    if (publisher === null) throw wrongState("nothing was announced");
    if (!publisher.isSetUp) throw wrongState("the track of the video is not set up");
    try {
      publisher.record();
    } catch (error) {
      if (error instanceof IntakeFault) throw new RequestRefusal(415, error.message);
      throw error;
    }
    return {};
  }

  async tearDown(request: RtspRequest): Promise<Answer> {
    this.#expectSession(request, true);
    // Its last packets went another way, and may still be waiting there.
    if (this.#publisher?.kind === "udp") await setTimeout(LAST_PACKETS_MS);
    this.#endSession("the publisher stopped");
    return {};
  }

  keepAlive(request: RtspRequest): Answer {
    this.#expectSession(request, false);
    return {};
  }

  /** Throws what `fail` takes. */
  frame(channel: number, packet: Uint8Array): void {
    this.#publisher?.frame(channel, packet);
  }

  drained(): void {
    this.#player?.drained();
  }

  tick(nowMs: number): void {
    this.#player?.tick(nowMs);
    this.#publisher?.tick(nowMs);
  }

  /** What it sent is its own fault, or it is ours: either way nobody else may suffer. */
  fail(error: unknown): void {
    const isTheirs = error instanceof IntakeFault || error instanceof MediaError;
    const reason = isTheirs ? error.message : "a fault of the media server";
    if (!isTheirs) this.#parts.log("error", "an RTSP connection failed", { error: describeFault(error) });
    this.#events.end(reason, "finish");
  }

  close(reason: string): void {
    this.#isClosed = true;
    this.#endSession(reason);
  }

  #endSession(reason: string): void {
    const publisher = this.#publisher;
    const player = this.#player;
    this.#publisher = null;
    this.#player = null;
    this.#session = newSession();
    publisher?.close(reason);
    player?.close();
    this.#events.over();
  }

  /** `isNeeded`: the request is about a session, and must name it. */
  #expectSession(request: RtspRequest, isNeeded: boolean): void {
    const given = request.headers.get("session")?.split(";")[0]?.trim();
    if (given === undefined && !isNeeded) return;
    const hasSession = this.#player !== null || this.#publisher !== null;
    if (!hasSession || given !== this.#session) throw new RequestRefusal(454, "this connection has no such session");
  }

  /** Asks the server, unless it has said so a moment ago. For every publication anew: each has a recording of its own. */
  async #allow(action: Right["action"], request: RtspRequest, rest: string): Promise<Right> {
    const target = readPath(rest);
    if (target === null) throw new RequestRefusal(404, "rtsp://<host>/<username>/<path> is expected");
    const { path, apiKey } = target;
    const known = this.#right;
    const isKnown = action === "play" && known?.action === action && known.path === path;
    if (isKnown && performance.now() < known.untilMs) return known;
    const password = readBasicPassword(request.headers.get("authorization"));
    const secret = password ?? apiKey ?? readRequestUrl(request.url)?.password ?? null;
    if (secret === null) throw new RequestRefusal(401, "a key is needed: as the password, or as ?api_key=");
    const { address } = this.#wire;
    const { recording, isOwn = false } = await this.#parts.doorman.authorize({
      action,
      protocol: "rtsp",
      path,
      secret,
      address,
    });
    if (this.#isClosed) throw new RequestRefusal(503, "the connection is closed");
    const seconds = Math.min(RIGHT_SECONDS, this.#parts.sessionSeconds);
    this.#right = { action, path, recording, isOwn, untilMs: performance.now() + seconds * 1000 };
    return this.#right;
  }
}

const newSession = (): string => randomBytes(16).toString("hex");
const wrongState = (message: string): RequestRefusal => new RequestRefusal(455, message);

function expectPath(rest: string, { path }: Player): void {
  if (readPath(rest)?.path !== path) throw new RequestRefusal(404, `the stream of this session is ${path}`);
}

function expectUrl({ url }: RtspRequest): RequestUrl {
  const parsed = readRequestUrl(url);
  if (parsed === null) throw new RequestRefusal(400, "an address of the form rtsp://<host>/<path> is expected");
  return parsed;
}
