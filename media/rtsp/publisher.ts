/** Publishes a stream to an RTSP server: ANNOUNCE and RECORD, with the packets in the same connection. */
import { packetiseAac } from "../rtp/aac-payload.ts";
import { packetise } from "../rtp/h264-payload.ts";
import { PAYLOAD_BYTES } from "../rtp/payload.ts";
import { frame, RtpSender } from "../rtp/sender.ts";
import type { Tracks, Unit } from "../unit.ts";
import { readRtspAddress, trackUrl } from "./address.ts";
import { type ClientOptions, RtspClient } from "./client.ts";
import type { Headers } from "./message.ts";
import { AUDIO_TYPE, VIDEO_CLOCK, VIDEO_TYPE, writeSdp } from "./sdp.ts";
import { readTransport } from "./transport.ts";

export interface RtspPublishOptions extends Partial<ClientOptions> {
  /** Bytes that may wait for the server to take them; units beyond are not taken. */
  readonly queueBytes?: number;
  /** A server that has taken nothing for so long is given up. */
  readonly stalledMs?: number;
}

export interface RtspPublisher {
  /**
   * False: it was not taken, since too much is waiting or there was no key unit yet. Pictures are then refused up to the
   * next key unit, without which they could not be decoded.
   */
  send(unit: Unit): boolean;
  /** Resolves with the reason when nothing can be sent any more. */
  readonly closed: Promise<string>;
  /** Says that the stream is over. Takes no longer than a step may. */
  close(): Promise<void>;
}

const DEFAULTS = { stepMs: 5000, queueBytes: 2 * 2 ** 20, stalledMs: 10_000 };
const REPORT_MS = 5000;
/** What RFC 2326 says where the server does not. */
const SESSION_SECONDS = 60;
const WATCH_MS = 1000;

interface SentTrack {
  readonly sender: RtpSender;
  readonly channels: readonly [number, number];
  reportedAtMs: number;
}

interface Session {
  readonly url: string;
  readonly id: string;
  readonly aliveMs: number;
  readonly video: SentTrack;
  readonly audio: SentTrack | null;
}

/** Rejects with the reason when the server cannot be reached, does not answer in time or refuses. */
export async function publishRtsp(
  url: string,
  tracks: Tracks,
  options: RtspPublishOptions = {},
): Promise<RtspPublisher> {
  const limits = { ...DEFAULTS, ...options };
  const address = readRtspAddress(url);
  const client = await RtspClient.open(address, limits);
  try {
    const session = await begin(client, address.url, tracks);
    return new Publisher(client, session, limits);
  } catch (error) {
    client.fail("given up");
    throw error;
  }
}

async function begin(client: RtspClient, url: string, tracks: Tracks): Promise<Session> {
  await client.request("ANNOUNCE", url, { "Content-Type": "application/sdp" }, writeSdp(tracks));
  const senders = [new RtpSender(VIDEO_TYPE, VIDEO_CLOCK)];
  if (tracks.audio !== null) senders.push(new RtpSender(AUDIO_TYPE, tracks.audio.sampleRate));
  const sent: SentTrack[] = [];
  let session: Pick<Session, "id" | "aliveMs"> | null = null;
  for (const [index, sender] of senders.entries()) {
    const own: readonly [number, number] = [index * 2, index * 2 + 1];
    const { headers } = await client.request("SETUP", trackUrl(url, index), {
      Transport: `RTP/AVP/TCP;unicast;interleaved=${own.join("-")};mode=record`,
      ...(session === null ? {} : { Session: session.id }),
    });
    session ??= readSession(headers);
    const transport = readTransport(headers.get("transport") ?? "");
    if (transport?.kind !== "tcp") throw new Error("the server does not take packets within the connection");
    sent.push({ sender, channels: transport.channels ?? own, reportedAtMs: Number.NEGATIVE_INFINITY });
  }
  const [video, audio = null] = sent;
  if (session === null || video === undefined) throw new Error("the server gave no session");
  await client.request("RECORD", url, { Session: session.id, Range: "npt=0.000-" });
  return { url, ...session, video, audio };
}

function readSession(headers: Headers): Pick<Session, "id" | "aliveMs"> {
  const [id = "", ...parameters] = (headers.get("session") ?? "").split(";");
  if (id === "") throw new Error("the server gave no session");
  const seconds = parameters
    .map((part) => /^\s*timeout=(\d{1,6})\s*$/.exec(part)?.[1])
    .find((text) => text !== undefined);
  return { id: id.trim(), aliveMs: (Math.max(Number(seconds ?? SESSION_SECONDS), 2) * 1000) / 2 };
}

class Publisher implements RtspPublisher {
  readonly closed: Promise<string>;
  readonly #client: RtspClient;
  readonly #session: Session;
  readonly #limits: typeof DEFAULTS;
  readonly #timer: NodeJS.Timeout;
  #waitsForKey = true;
  #askedAtMs = performance.now();
  #goneBytes = 0;
  #goneAtMs = performance.now();

  constructor(client: RtspClient, session: Session, limits: typeof DEFAULTS) {
    this.#client = client;
    this.#session = session;
    this.#limits = limits;
    this.closed = client.closed;
    this.#timer = setInterval(() => this.#watch(), WATCH_MS);
    this.#timer.unref();
    this.closed.then(() => clearInterval(this.#timer));
  }

  send(unit: Unit): boolean {
    if (this.#client.isClosed) return false;
    const isVideo = unit.kind === "video";
    if (this.#waitsForKey && !(isVideo && unit.isKey)) return false;
    const waiting = this.#client.socket.writableLength;
    const bytes = unit.parts.reduce((sum, part) => sum + part.length, 0);
    // One unit is taken however large it is: else a picture beyond the limit could never be sent.
    if (waiting > 0 && waiting + bytes > this.#limits.queueBytes) {
      if (isVideo) this.#waitsForKey = true;
      return false;
    }
    if (isVideo) this.#waitsForKey = false;
    const track = isVideo ? this.#session.video : this.#session.audio;
    if (track !== null) this.#write(track, unit);
    return true;
  }

  async close(): Promise<void> {
    clearInterval(this.#timer);
    const { url, id } = this.#session;
    // Whatever it answers, it is over.
    await this.#client.request("TEARDOWN", url, { Session: id }).catch(() => {});
    this.#client.fail("closed");
  }

  #write(track: SentTrack, unit: Unit): void {
    const { socket } = this.#client;
    const payloads =
      unit.kind === "video"
        ? packetise(unit.parts, PAYLOAD_BYTES)
        : unit.parts.flatMap((part) => packetiseAac(part, PAYLOAD_BYTES));
    socket.cork();
    this.#report(track, unit);
    for (const piece of track.sender.write(payloads, unit.ptsUs, track.channels[0])) socket.write(piece);
    socket.uncork();
  }

  /** Before the first packet: so the server knows when each picture was taken. */
  #report(track: SentTrack, { captureMs, ptsUs }: Unit): void {
    const nowMs = performance.now();
    if (nowMs - track.reportedAtMs < REPORT_MS) return;
    track.reportedAtMs = nowMs;
    this.#client.socket.write(frame(track.channels[1], track.sender.report(captureMs, ptsUs)));
  }

  #watch(): void {
    const { socket } = this.#client;
    const nowMs = performance.now();
    const goneBytes = socket.bytesWritten - socket.writableLength;
    if (socket.writableLength === 0 || goneBytes !== this.#goneBytes) {
      this.#goneBytes = goneBytes;
      this.#goneAtMs = nowMs;
    } else if (nowMs - this.#goneAtMs > this.#limits.stalledMs) {
      this.#client.fail(`the server has taken nothing for ${this.#limits.stalledMs / 1000} s`);
      return;
    }
    // While something waits for the server, that tells whether it is there.
    if (nowMs - this.#askedAtMs < this.#session.aliveMs || socket.writableLength > 0) return;
    this.#askedAtMs = nowMs;
    const { url, id } = this.#session;
    this.#client.request("OPTIONS", url, { Session: id }).catch((error: Error) => this.#client.fail(error.message));
  }
}
