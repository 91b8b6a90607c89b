/** One browser that watches one stream: found by ICE, let in by DTLS, then sent the cached pictures and what comes live. */

import { randomBytes, randomInt, randomUUID } from "node:crypto";
import type { AccessUnit, Tracks } from "../../media/access-unit.ts";
import { readFeedback, writeSenderReport } from "../../media/rtp/rtcp.ts";
import { guardBy } from "../guard.ts";
import type { Reader } from "../streams.ts";
import type { DtlsIdentity } from "./dtls.ts";
import type { Offer, OfferedCodec } from "./offer.ts";
import { REORDERS } from "./refusal.ts";
import { RouteChecks } from "./route-checks.ts";
import { SecureChannel } from "./secure.ts";
import { Sender } from "./sender.ts";
import type { Peer, Route } from "./udp-port.ts";

export interface ViewerParts {
  readonly offer: Offer;
  readonly codec: OfferedCodec;
  readonly identity: DtlsIdentity;
  readonly limits: { readonly connectMs: number; readonly stalledMs: number; readonly readerBytes: number };
  /** Where it comes from. */
  readonly client: string | undefined;
  /** Makes it a reader of its stream from now on. May throw. */
  readonly join: (reader: Reader) => () => void;
  readonly onConnected: () => void;
  /** Called once. */
  readonly onClosed: (reason: string) => void;
  /** A fault of ours, for the log. */
  readonly onFault: (error: unknown) => void;
}

const REPORT_MS = 1000;

export class Viewer implements Peer, Reader {
  readonly id = randomUUID();
  readonly ufrag = randomBytes(6).toString("base64url").replaceAll(/[-_]/g, "0");
  readonly password = randomBytes(18).toString("base64url").replaceAll(/[-_]/g, "0");
  readonly remoteUfrag: string;
  readonly ssrc = randomInt(1, 2 ** 32);
  readonly #parts: ViewerParts;
  readonly #channel: SecureChannel;
  readonly #sender: Sender;
  readonly #checks: RouteChecks;
  /** Not a reader before it is connected: an offer alone takes nobody's place. */
  #leave: () => void = () => {};
  /** While the cached pictures come, which are sent together. */
  #cached: AccessUnit[] | null = null;
  #isClosed = false;
  #timer: NodeJS.Timeout;
  readonly #guard = guardBy((error) => this.fail(error));

  constructor(parts: ViewerParts) {
    this.#parts = parts;
    this.remoteUfrag = parts.offer.iceUfrag;
    const consentMs = parts.limits.stalledMs;
    this.#checks = new RouteChecks({
      ...{ ufrag: this.ufrag, remoteUfrag: parts.offer.iceUfrag, remotePassword: parts.offer.icePassword, consentMs },
      onExpired: () => this.close(`consent expired: the viewer answered no check for ${consentMs / 1000} s`),
      guard: this.#guard,
    });
    const send = (data: Buffer, onSent: () => void) => {
      const { route } = this.#checks;
      if (route === null) onSent();
      else route.send(data, onSent);
    };
    this.#channel = new SecureChannel(parts.identity, parts.offer.fingerprints, {
      send: (data) => send(data, () => {}),
      connected: () => this.#start(),
      closed: (reason) => this.close(reason),
      guard: this.#guard,
    });
    this.#sender = new Sender({
      payloadType: parts.codec.payloadType,
      ssrc: this.ssrc,
      channel: this.#channel,
      waitingBytes: parts.limits.readerBytes,
      send,
      guard: this.#guard,
    });
    const seconds = parts.limits.connectMs / 1000;
    const giveUp = this.#guard(() => this.close(`it was not connected within ${seconds} s`));
    this.#timer = setTimeout(giveUp, parts.limits.connectMs);
  }

  get client(): string | undefined {
    return this.#parts.client;
  }

  /** Pictures that it was too slow for. */
  get missed(): number {
    return this.#sender.missed;
  }

  handleRequest(route: Route, isNominating: boolean): void {
    this.#checks.handleRequest(route, isNominating);
  }

  uses(route: Route): boolean {
    return route === this.#checks.route;
  }

  handleStun(route: Route, data: Buffer): void {
    this.#checks.handleStun(route, data);
  }

  receive(data: Buffer): void {
    const first = data[0] ?? 0;
    // RFC 7983: which protocol it is can be seen from the first byte; RFC 5761: which of RTP and RTCP from the second.
    const kind = data[1] ?? 0;
    if (first >= 20 && first < 64) this.#channel.receive(data);
    else if (first >= 128 && first < 192 && kind >= 192 && kind < 224) this.#hear(data);
  }

  #hear(data: Buffer): void {
    const packet = this.#channel.openRtcp(data);
    if (packet === null) return;
    const { lost, isBye } = readFeedback(packet);
    // A wish for a key picture is granted by the publisher's next one: nothing else could be decoded.
    if (isBye) this.close("the viewer has said good-bye");
    else this.#sender.repeat(lost);
  }

  #start(): void {
    clearTimeout(this.#timer);
    this.#parts.onConnected();
    this.#timer = setInterval(
      this.#guard(() => this.#report()),
      REPORT_MS,
    );
    this.#cached = [];
    try {
      this.#leave = this.#parts.join(this);
    } catch (error) {
      this.close(error instanceof Error ? error.message : String(error));
    }
    // It may have been closed by what it was told first.
    if (this.#isClosed) this.#leave();
    else this.#sender.sendCached(this.#cached);
    this.#cached = null;
    this.#report();
  }

  begin({ video }: Tracks): void {
    if (video.reorders) this.close(REORDERS);
  }

  take(unit: AccessUnit, isCached: boolean): void {
    if (unit.kind !== "video" || this.#isClosed) return;
    if (isCached) this.#cached?.push(unit);
    else this.#sender.send(unit);
  }

  end(reason: string): void {
    this.close(reason);
  }

  /** Tells which moment a timestamp stands for: that of the publisher, not ours. */
  #report(): void {
    const progress = this.#sender.progress;
    if (this.#isClosed || progress === null) return;
    const { timestamp, captureMs, packets, bytes } = progress;
    const report = writeSenderReport({ ssrc: this.ssrc, unixMs: captureMs, timestamp, packets, bytes });
    const sealed = this.#channel.protectRtcp(report);
    if (sealed !== null) this.#checks.route?.send(sealed, () => {});
  }

  fail(error: unknown): void {
    this.#parts.onFault(error);
    this.close("a fault of the media server");
  }

  close(reason: string): void {
    if (this.#isClosed) return;
    this.#isClosed = true;
    clearTimeout(this.#timer);
    this.#leave();
    this.#channel.close();
    this.#sender.close();
    this.#checks.close();
    this.#parts.onClosed(reason);
  }
}
