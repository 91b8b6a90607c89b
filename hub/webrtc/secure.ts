/**
 * DTLS-SRTP (RFC 5764) with one viewer: waits for its handshake, checks that its certificate is the one that its offer
 * named, and then protects what is sent and opens what comes back.
 */
import type { RtpHeader } from "../../media/rtp/packet.ts";
import type { Guard } from "../guard.ts";
import { type DtlsIdentity, type DtlsReport, type DtlsSession, printFingerprint } from "./dtls.ts";
import type { Offer } from "./offer.ts";
import { SrtcpReceiver, SrtpSender, splitKeys } from "./srtp.ts";

export interface SecureEvents {
  /** Sends to the viewer. */
  send(data: Buffer): void;
  connected(): void;
  /** The viewer closed the session, or the handshake failed. */
  closed(reason: string): void;
  readonly guard: Guard;
}

export class SecureChannel {
  readonly #dtls: DtlsSession;
  readonly #fingerprints: Offer["fingerprints"];
  readonly #events: SecureEvents;
  #sender: SrtpSender | null = null;
  #receiver: SrtcpReceiver | null = null;
  #timer: NodeJS.Timeout | null = null;
  #isClosed = false;

  constructor(identity: DtlsIdentity, fingerprints: Offer["fingerprints"], events: SecureEvents) {
    this.#dtls = identity.createSession();
    this.#fingerprints = fingerprints;
    this.#events = events;
  }

  /** DTLS from the viewer. Anything may be in it. */
  receive(data: Buffer): void {
    if (!this.#isClosed) this.#handle(this.#dtls.receive(data));
  }

  #handle({ state, error, datagrams }: DtlsReport): void {
    for (const datagram of datagrams) this.#events.send(datagram);
    if (state === "connected" && this.#sender === null) this.#begin();
    else if (state === "closed") this.#events.closed("the viewer has closed the connection");
    else if (state === "failed") this.#events.closed(`the DTLS handshake failed: ${error}`);
    this.#schedule();
  }

  #begin(): void {
    const certificate = this.#dtls.peerCertificate();
    const isKnown =
      certificate !== null &&
      this.#fingerprints.some(({ algorithm, value }) => printFingerprint(certificate, algorithm) === value);
    const exported = this.#dtls.exportKeys();
    if (!isKnown) this.#events.closed("the viewer's certificate is not that of its offer");
    else if (exported === null) this.#events.closed("the viewer offers no SRTP profile that is supported");
    else {
      const { client, server } = splitKeys(exported.profile, exported.keys);
      this.#sender = new SrtpSender(server);
      this.#receiver = new SrtcpReceiver(client);
      this.#events.connected();
    }
  }

  /** Flights of the handshake that are not answered are sent again. */
  #schedule(): void {
    if (this.#timer !== null) clearTimeout(this.#timer);
    const dueMs = this.#isClosed ? null : this.#dtls.timeoutMs();
    const repeat = this.#events.guard(() => this.#handle(this.#dtls.handleTimeout()));
    this.#timer = dueMs === null ? null : setTimeout(repeat, dueMs);
  }

  protectRtp(header: RtpHeader, payload: Buffer): Buffer | null {
    return this.#sender?.protectRtp(header, payload) ?? null;
  }

  protectRtcp(packet: Buffer): Buffer | null {
    return this.#sender?.protectRtcp(packet) ?? null;
  }

  /** Null unless it is genuine. */
  openRtcp(data: Buffer): Buffer | null {
    return this.#receiver?.open(data) ?? null;
  }

  /** With a close_notify, so that a browser knows at once. */
  close(): void {
    if (this.#isClosed) return;
    this.#isClosed = true;
    if (this.#timer !== null) clearTimeout(this.#timer);
    for (const datagram of this.#dtls.close().datagrams) this.#events.send(datagram);
  }
}
