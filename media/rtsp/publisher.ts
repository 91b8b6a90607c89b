/** Publishes a stream to an RTSP server: ANNOUNCE and RECORD, with packets interleaved in the same connection. */
import type { AccessUnit, Tracks } from "../access-unit.ts";
import { describeStall, KeyframeGate, PUBLISH_DEFAULTS, type Publisher, type PublishOptions } from "../publisher.ts";
import { payloadKlv } from "../rtp/klv.ts";
import { PAYLOAD_BYTES } from "../rtp/packet.ts";
import { interleave, layOut, packetsOf, RtpSender } from "../rtp/sender.ts";
import { RtspClient, readRtspAddress, trackUrl } from "./client.ts";
import { type Pair, readTransport } from "./headers.ts";
import type { Headers } from "./message.ts";
import { AUDIO_TYPE, KLV_CLOCK, KLV_TYPE, VIDEO_CLOCK, VIDEO_TYPE, writeSdp } from "./sdp.ts";

const REPORT_MS = 5000;
/** A capture time that is further from what the last report said is reported at once. */
const REPORT_STEP_MS = 10;
/** The default of RFC 2326. */
const SESSION_SECONDS = 60;
const CHECK_MS = 1000;

interface SentTrack {
  readonly sender: RtpSender;
  readonly channels: Pair;
  reportedAtMs: number;
  /** Capture time at time 0 of the stream, as reported. */
  zeroMs: number;
}

interface Session {
  readonly url: string;
  readonly id: string;
  readonly keepAliveMs: number;
  readonly tracks: Tracks;
  readonly video: SentTrack;
  readonly audio: SentTrack | null;
  readonly klv: SentTrack | null;
}

/** Rejects with the reason if the server is unreachable, does not answer in time or rejects the stream. */
export async function publishRtsp(url: string, tracks: Tracks, options: PublishOptions = {}): Promise<Publisher> {
  const limits = { ...PUBLISH_DEFAULTS, ...options };
  const address = readRtspAddress(url);
  const client = await RtspClient.open(address, limits);
  try {
    return new RtspPublisher(client, await startSession(client, address.url, tracks), limits);
  } catch (error) {
    client.fail("publishing failed");
    throw error;
  }
}

async function startSession(client: RtspClient, url: string, tracks: Tracks): Promise<Session> {
  await client.request("ANNOUNCE", url, { "Content-Type": "application/sdp" }, writeSdp(tracks));
  const senders = [new RtpSender(VIDEO_TYPE, VIDEO_CLOCK)];
  if (tracks.audio !== null) senders.push(new RtpSender(AUDIO_TYPE, tracks.audio.sampleRate));
  if (tracks.klv !== undefined) senders.push(new RtpSender(KLV_TYPE, KLV_CLOCK));
  const sent: SentTrack[] = [];
  let session: Pick<Session, "id" | "keepAliveMs"> | null = null;
  for (const [index, sender] of senders.entries()) {
    const proposed: Pair = [index * 2, index * 2 + 1];
    const { headers } = await client.request("SETUP", trackUrl(url, index), {
      Transport: `RTP/AVP/TCP;unicast;interleaved=${proposed.join("-")};mode=record`,
      ...(session === null ? {} : { Session: session.id }),
    });
    session ??= readSession(headers);
    const transport = readTransport(headers.get("transport") ?? "");
    if (transport?.kind !== "tcp") throw new Error("the server does not support interleaved packets (RTP/AVP/TCP)");
    sent.push({ sender, channels: transport.channels ?? proposed, reportedAtMs: Number.NEGATIVE_INFINITY, zeroMs: 0 });
  }
  const [video, ...others] = sent;
  const audio = tracks.audio === null ? null : (others.shift() ?? null);
  const [klv = null] = others;
  if (session === null || video === undefined) throw new Error("the server sent no session id");
  await client.request("RECORD", url, { Session: session.id, Range: "npt=0.000-" });
  return { url, ...session, tracks, video, audio, klv };
}

/** Throws without a session id. */
export function readSession(headers: Headers): Pick<Session, "id" | "keepAliveMs"> {
  const [id = "", ...parameters] = (headers.get("session") ?? "").split(";");
  if (id === "") throw new Error("the server sent no session id");
  const seconds = parameters
    .map((part) => /^\s*timeout=(\d{1,6})\s*$/.exec(part)?.[1])
    .find((text) => text !== undefined);
  return { id: id.trim(), keepAliveMs: (Math.max(Number(seconds ?? SESSION_SECONDS), 2) * 1000) / 2 };
}

class RtspPublisher implements Publisher {
  readonly closed: Promise<string>;
  readonly #client: RtspClient;
  readonly #session: Session;
  readonly #stalledMs: number;
  readonly #timer: NodeJS.Timeout;
  readonly #gate: KeyframeGate;
  #requestedAtMs = performance.now();
  #sentBytes = 0;
  #sentAtMs = performance.now();

  constructor(client: RtspClient, session: Session, limits: typeof PUBLISH_DEFAULTS) {
    this.#client = client;
    this.#session = session;
    this.#stalledMs = limits.stalledMs;
    this.#gate = new KeyframeGate(limits.queueBytes);
    this.closed = client.closed;
    this.#timer = setInterval(() => this.#check(), CHECK_MS);
    this.#timer.unref();
    this.closed.then(() => clearInterval(this.#timer));
  }

  send(unit: AccessUnit): boolean {
    const { socket, isClosed } = this.#client;
    if (isClosed || !this.#gate.accepts(unit, socket.writableLength)) return false;
    const { tracks, video, audio, klv } = this.#session;
    const track = unit.kind === "video" ? video : audio;
    if (track === null) return true;
    socket.cork();
    if (klv !== null && unit.klv !== undefined) {
      this.#report(klv, unit);
      for (const { data, ptsUs } of unit.klv)
        socket.write(klv.sender.write(layOut(payloadKlv(data, PAYLOAD_BYTES)), ptsUs, klv.channels[0]).bytes);
    }
    this.#report(track, unit);
    socket.write(track.sender.write(packetsOf(unit, tracks), unit.ptsUs, track.channels[0]).bytes);
    socket.uncork();
    return true;
  }

  async close(): Promise<void> {
    clearInterval(this.#timer);
    const { url, id } = this.#session;
    // The session is over with any response.
    await this.#client.request("TEARDOWN", url, { Session: id }).catch(() => {});
    this.#client.fail("closed");
  }

  /** Sent before the first packet, and before one with another clock, so that the server knows the capture time of each picture. */
  #report(track: SentTrack, { captureMs, ptsUs }: AccessUnit): void {
    const nowMs = performance.now();
    const zeroMs = captureMs - ptsUs / 1000;
    if (nowMs - track.reportedAtMs < REPORT_MS && Math.abs(zeroMs - track.zeroMs) < REPORT_STEP_MS) return;
    track.reportedAtMs = nowMs;
    track.zeroMs = zeroMs;
    this.#client.socket.write(interleave(track.channels[1], track.sender.report(captureMs, ptsUs)));
  }

  /** Closes a stalled connection, and keeps an idle session alive. */
  #check(): void {
    const { socket } = this.#client;
    const nowMs = performance.now();
    const sentBytes = socket.bytesWritten - socket.writableLength;
    if (socket.writableLength === 0 || sentBytes !== this.#sentBytes) {
      this.#sentBytes = sentBytes;
      this.#sentAtMs = nowMs;
    } else if (nowMs - this.#sentAtMs > this.#stalledMs) {
      this.#client.fail(describeStall(this.#stalledMs));
      return;
    }
    // Queued data already shows whether the server is alive.
    if (nowMs - this.#requestedAtMs < this.#session.keepAliveMs || socket.writableLength > 0) return;
    this.#requestedAtMs = nowMs;
    const { url, id } = this.#session;
    this.#client.request("OPTIONS", url, { Session: id }).catch((error: Error) => this.#client.fail(error.message));
  }
}
