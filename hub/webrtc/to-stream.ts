/**
 * One WebRTC publisher by WHIP: ICE check → DTLS handshake → pictures of its video → close. Missing packets are requested
 * again (NACK), and keyframes at a regular interval (PLI): browsers send none by themselves, and readers need them.
 */
import { randomBytes, randomInt, randomUUID } from "node:crypto";
import { MediaError } from "../../media/access-unit.ts";
import { NalDepayloader } from "../../media/rtp/nal-units.ts";
import { type RtpPacket, readRtp, sequenceStep } from "../../media/rtp/packet.ts";
import { JitterBuffer, ReceptionReporter } from "../../media/rtp/receiver.ts";
import { readFeedback, readSenderReport, writeNack, writePictureLoss } from "../../media/rtp/rtcp.ts";
import { SenderClock } from "../../media/rtp/sender-clock.ts";
import type { HubSettings } from "../../schemas/hub.ts";
import { describeBug, guardBy, INTERNAL_ERROR } from "../errors.ts";
import { Ingest } from "../ingest.ts";
import type { Publication } from "../live-stream.ts";
import type { Log } from "../log.ts";
import { type DtlsIdentity, SecureChannel } from "./dtls.ts";
import { type Peer, RouteChecks } from "./ice.ts";
import type { Offer, OfferedCodec } from "./sdp.ts";

export interface WebrtcPublisherOptions {
  readonly publication: Publication;
  readonly offer: Offer;
  readonly codec: OfferedCodec;
  readonly identity: DtlsIdentity;
  readonly limits: Pick<HubSettings["limits"], "connectMs" | "stalledMs" | "unitBytes">;
  readonly log: Log;
  /** Called once. */
  readonly onClosed: () => void;
}

const CLOCK_HZ = 90_000;
const TICK_MS = 20;
const REPORT_MS = 500;
/** A packet that was requested again arrives within this time, or counts as lost. */
const BUFFER = { maxPackets: 1024, waitMs: 200 };
const MAX_MISSING = 256;
const ASK_AGAIN_MS = 40;
const MAX_ASKED = 4;
const KEYFRAME_MS = 2_000;
/** Minimum interval of requests while pictures cannot be decoded. */
const URGENT_MS = 500;

export class WebrtcPublisher implements Peer {
  readonly id = randomUUID();
  readonly path: string;
  readonly ufrag = randomBytes(6).toString("base64url").replaceAll(/[-_]/g, "0");
  readonly password = randomBytes(18).toString("base64url").replaceAll(/[-_]/g, "0");
  readonly remoteUfrag: string;
  readonly checks: RouteChecks;
  readonly #options: WebrtcPublisherOptions;
  readonly #channel: SecureChannel;
  readonly #clock = new SenderClock(Date.now()).addTrack(CLOCK_HZ, true);
  readonly #buffer: JitterBuffer;
  readonly #reporter: ReceptionReporter;
  readonly #ssrc = randomInt(1, 2 ** 32);
  readonly #guard = guardBy((error) => this.fail(error));
  #timer: NodeJS.Timeout;
  #isClosed = false;
  #highest: number | null = null;
  /** By sequence number. */
  readonly #missing = new Map<number, { askedMs: number; asked: number }>();
  #needsKey = true;
  #keyAskedMs = Number.NEGATIVE_INFINITY;

  constructor(options: WebrtcPublisherOptions) {
    const { publication, offer, identity, limits } = options;
    const guard = this.#guard;
    const consentMs = limits.stalledMs;
    this.#options = options;
    this.path = publication.path;
    this.remoteUfrag = offer.iceUfrag;
    this.checks = new RouteChecks({
      ...{ ufrag: this.ufrag, remoteUfrag: offer.iceUfrag, remotePassword: offer.icePassword, consentMs, guard },
      onExpired: () => this.close(`consent expired: the publisher answered no check for ${consentMs / 1000} s`),
    });
    this.#channel = new SecureChannel(identity, offer.fingerprints, {
      send: (data) => this.checks.route?.send(data, () => {}),
      connected: () => this.#start(),
      closed: (reason) => this.close(reason),
      guard,
    });
    const ingest = new Ingest(publication, limits);
    const { codec } = options.codec;
    ingest.setCodec(codec.name);
    const depayloader = new NalDepayloader(codec, limits.unitBytes, ({ timestamp, nals }) => {
      if (nals.some((nal) => codec.startsDecoding(nal))) this.#needsKey = false;
      ingest.pushVideo({ ...this.#clock.convert(timestamp, Date.now()), dtsUs: null, nals });
    });
    this.#buffer = new JitterBuffer(BUFFER, (packet, isAfterLoss) => {
      this.#needsKey ||= isAfterLoss;
      depayloader.push(packet, isAfterLoss);
    });
    this.#reporter = new ReceptionReporter(this.#buffer, CLOCK_HZ, REPORT_MS);
    this.#reporter.send = (report) => this.#sendRtcp(Buffer.from(report));
    publication.readLink = () => {
      const { received, lost } = this.#buffer;
      return { rttMs: null, received, lost, dropped: lost };
    };
    void publication.ended.then((reason) => this.close(reason));
    const giveUp = guard(() => this.close(`the publisher did not connect within ${limits.connectMs / 1000} s`));
    this.#timer = setTimeout(giveUp, limits.connectMs);
  }

  /** The first byte distinguishes DTLS from RTP and RTCP (RFC 7983), the second RTP from RTCP (RFC 5761). */
  handleDatagram(data: Buffer): void {
    const first = data[0] ?? 0;
    const kind = data[1] ?? 0;
    if (first >= 20 && first < 64) this.#channel.receive(data);
    else if (first < 128 || first >= 192) return;
    else if (kind >= 192 && kind < 224) this.#handleRtcp(data);
    else this.#handleRtp(data);
  }

  fail(error: unknown): void {
    const isTheirs = error instanceof MediaError;
    const { log } = this.#options;
    if (isTheirs) log("info", `webrtc publisher closed: ${error.message}`, { path: this.path });
    else log("error", "webrtc publisher failed", { path: this.path, error: describeBug(error) });
    this.close(isTheirs ? error.message : INTERNAL_ERROR);
  }

  close(reason: string): void {
    if (this.#isClosed) return;
    this.#isClosed = true;
    clearTimeout(this.#timer);
    this.#options.publication.close(reason);
    this.#channel.close();
    this.checks.close();
    this.#options.onClosed();
    this.#options.log("debug", "webrtc publisher disconnected", { path: this.path, publisher: this.id, reason });
  }

  #start(): void {
    clearTimeout(this.#timer);
    this.#timer = setInterval(
      this.#guard(() => this.#tick(performance.now())),
      TICK_MS,
    );
  }

  #handleRtp(data: Buffer): void {
    const opened = this.#channel.openRtp(data);
    const packet = opened === null ? null : readRtp(opened);
    if (packet === null || packet.payloadType !== this.#options.codec.payloadType) return;
    this.#options.publication.touch();
    this.#note(packet);
    this.#reporter.handlePacket(packet);
    this.#buffer.push(packet, performance.now());
  }

  #handleRtcp(data: Buffer): void {
    const packet = this.#channel.openRtcp(data);
    if (packet === null) return;
    const report = readSenderReport(packet);
    if (report !== null) {
      this.#clock.handleReport(report, Date.now());
      this.#reporter.handleSenderReport(report);
    }
    if (readFeedback(packet).isBye) this.close("the publisher sent BYE");
  }

  /** Notes which packets before this one are missing. */
  #note({ sequence }: RtpPacket): void {
    const last = this.#highest ?? sequence;
    const step = sequenceStep(last, sequence);
    this.#missing.delete(sequence);
    if (step <= 0 && this.#highest !== null) return;
    this.#highest = sequence;
    // After a larger gap, only a keyframe helps.
    if (step + this.#missing.size > MAX_MISSING) this.#missing.clear();
    else
      for (let i = 1; i < step; i++)
        this.#missing.set((last + i) & 0xffff, { askedMs: Number.NEGATIVE_INFINITY, asked: 0 });
  }

  #tick(nowMs: number): void {
    if (this.#buffer.deadlineMs !== null) this.#buffer.flush(nowMs);
    this.#reporter.tick(nowMs);
    const { ssrc } = this.#buffer;
    if (this.#highest === null) return;
    const due: number[] = [];
    for (const [sequence, entry] of this.#missing) {
      if (nowMs - entry.askedMs < ASK_AGAIN_MS) continue;
      if (entry.asked === MAX_ASKED) this.#missing.delete(sequence);
      else {
        entry.asked += 1;
        entry.askedMs = nowMs;
        due.push(sequence);
      }
    }
    if (due.length > 0) this.#sendRtcp(writeNack(this.#ssrc, ssrc, due));
    if (nowMs - this.#keyAskedMs < (this.#needsKey ? URGENT_MS : KEYFRAME_MS)) return;
    this.#keyAskedMs = nowMs;
    this.#sendRtcp(writePictureLoss(this.#ssrc, ssrc));
  }

  #sendRtcp(packet: Buffer): void {
    const data = this.#channel.protectRtcp(packet);
    if (data !== null) this.checks.route?.send(data, () => {});
  }
}
