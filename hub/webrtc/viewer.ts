/** One WebRTC viewer of one stream: ICE check → DTLS handshake → cached pictures, then live ones → close. */
import { randomBytes, randomInt, randomUUID } from "node:crypto";
import type { AccessUnit, Tracks } from "../../media/access-unit.ts";
import { readFeedback, writeSenderReport } from "../../media/rtp/rtcp.ts";
import type { HubSettings } from "../../schemas/hub.ts";
import { describeBug, guardBy, INTERNAL_ERROR } from "../errors.ts";
import type { Reader } from "../live-stream.ts";
import type { Log } from "../log.ts";
import type { Streams } from "../streams.ts";
import { type DtlsIdentity, SecureChannel } from "./dtls.ts";
import { Sender } from "./from-stream.ts";
import { type Peer, RouteChecks } from "./ice.ts";
import type { Offer, OfferedCodec } from "./sdp.ts";

export interface ViewerOptions {
  /** Of the stream. */
  readonly path: string;
  readonly streams: Pick<Streams, "read">;
  readonly offer: Offer;
  readonly codec: OfferedCodec;
  readonly identity: DtlsIdentity;
  readonly limits: Pick<HubSettings["limits"], "connectMs" | "stalledMs" | "readerBytes">;
  /** Address of the client. */
  readonly client: string | undefined;
  readonly log: Log;
  /** Called once. */
  readonly onClosed: () => void;
}

const REPORT_MS = 1000;
/** An RTP packet only has a PTS, so a decoding order that differs from display order cannot be expressed. */
export const HAS_B_FRAMES =
  "This stream has B-frames, which WebRTC cannot carry: use HLS, or encode without them (bframes=0).";

export class Viewer implements Peer, Reader {
  readonly id = randomUUID();
  readonly path: string;
  readonly client: string | undefined;
  /** The offer is answered, and the viewer is not connected yet. */
  isPending = true;
  readonly ufrag = randomBytes(6).toString("base64url").replaceAll(/[-_]/g, "0");
  readonly password = randomBytes(18).toString("base64url").replaceAll(/[-_]/g, "0");
  readonly remoteUfrag: string;
  readonly ssrc = randomInt(1, 2 ** 32);
  readonly checks: RouteChecks;
  readonly #options: ViewerOptions;
  readonly #channel: SecureChannel;
  readonly #sender: Sender;
  /** Joins only once it is connected: an offer alone takes no reader's place. */
  #leave: () => void = () => {};
  /** Collects the cached pictures, which are sent together. */
  #cached: AccessUnit[] | null = null;
  #isClosed = false;
  #timer: NodeJS.Timeout;
  readonly #guard = guardBy((error) => this.fail(error));

  constructor(options: ViewerOptions) {
    const { path, client, offer, codec, identity, limits } = options;
    this.#options = options;
    this.path = path;
    this.client = client;
    this.remoteUfrag = offer.iceUfrag;
    const consentMs = limits.stalledMs;
    const guard = this.#guard;
    this.checks = new RouteChecks({
      ...{ ufrag: this.ufrag, remoteUfrag: offer.iceUfrag, remotePassword: offer.icePassword, consentMs, guard },
      onExpired: () => this.close(`consent expired: the viewer answered no check for ${consentMs / 1000} s`),
    });
    const send = (data: Buffer, onSent: () => void) => {
      const { route } = this.checks;
      if (route === null) onSent();
      else route.send(data, onSent);
    };
    this.#channel = new SecureChannel(identity, offer.fingerprints, {
      send: (data) => send(data, () => {}),
      connected: () => this.#start(),
      closed: (reason) => this.close(reason),
      guard,
    });
    const { payloadType } = codec;
    const queueBytes = limits.readerBytes;
    this.#sender = new Sender({
      codec: codec.codec,
      payloadType,
      ssrc: this.ssrc,
      channel: this.#channel,
      queueBytes,
      send,
      guard,
    });
    const giveUp = guard(() => this.close(`the viewer did not connect within ${limits.connectMs / 1000} s`));
    this.#timer = setTimeout(giveUp, limits.connectMs);
  }

  /** Pictures dropped because the viewer was too slow. */
  get missed(): number {
    return this.#sender.missed;
  }

  /** The first byte distinguishes DTLS from RTP and RTCP (RFC 7983), the second RTP from RTCP (RFC 5761). */
  handleDatagram(data: Buffer): void {
    const first = data[0] ?? 0;
    const kind = data[1] ?? 0;
    if (first >= 20 && first < 64) this.#channel.receive(data);
    else if (first >= 128 && first < 192 && kind >= 192 && kind < 224) this.#handleRtcp(data);
  }

  #handleRtcp(data: Buffer): void {
    const packet = this.#channel.openRtcp(data);
    if (packet === null) return;
    const { lost, isBye } = readFeedback(packet);
    // Keyframe requests are ignored: only the publisher's next keyframe can answer them.
    if (isBye) this.close("the viewer sent BYE");
    else this.#sender.retransmit(lost);
  }

  #start(): void {
    clearTimeout(this.#timer);
    this.isPending = false;
    this.#timer = setInterval(
      this.#guard(() => this.#report()),
      REPORT_MS,
    );
    this.#cached = [];
    try {
      this.#leave = this.#options.streams.read(this.path, this);
    } catch (error) {
      this.close(error instanceof Error ? error.message : String(error));
    }
    // `setTracks` may have closed it.
    if (this.#isClosed) this.#leave();
    else this.#sender.sendCached(this.#cached);
    this.#cached = null;
    this.#report();
  }

  setTracks({ video }: Tracks): void {
    if (video.reorders) this.close(HAS_B_FRAMES);
    if (video.codec !== this.#options.codec.codec.name) this.close("the codec of the stream has changed");
  }

  push(unit: AccessUnit, isCached: boolean): void {
    if (unit.kind !== "video" || this.#isClosed) return;
    if (isCached) this.#cached?.push(unit);
    else this.#sender.send(unit);
  }

  end(reason: string): void {
    this.close(reason);
  }

  /** Maps timestamps to the publisher's capture time. */
  #report(): void {
    const progress = this.#sender.progress;
    if (this.#isClosed || progress === null) return;
    const { timestamp, captureMs, packets, bytes } = progress;
    const report = writeSenderReport({ ssrc: this.ssrc, unixMs: captureMs, timestamp, packets, bytes });
    const data = this.#channel.protectRtcp(report);
    if (data !== null) this.checks.route?.send(data, () => {});
  }

  fail(error: unknown): void {
    this.#options.log("error", "webrtc viewer failed", { path: this.path, error: describeBug(error) });
    this.close(INTERNAL_ERROR);
  }

  close(reason: string): void {
    if (this.#isClosed) return;
    this.#isClosed = true;
    clearTimeout(this.#timer);
    this.#leave();
    this.#channel.close();
    this.#sender.close();
    this.checks.close();
    this.#options.onClosed();
    this.#options.log("debug", "webrtc viewer closed", { path: this.path, viewer: this.id, reason });
  }
}
