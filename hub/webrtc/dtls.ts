/**
 * DTLS-SRTP (RFC 5764) with one viewer or publisher, and the typed surface of build/dtls.node (native/dtls/dtls.cc), which only this file
 * loads.
 */
import { createHash } from "node:crypto";
import { createRequire } from "node:module";
import { fileURLToPath } from "node:url";
import type { RtpHeader } from "../../media/rtp/packet.ts";
import type { Guard } from "../errors.ts";
import type { Offer } from "./sdp.ts";
import { SrtcpReceiver, SrtpReceiver, SrtpSender, splitKeys } from "./srtp.ts";

export interface DtlsReport {
  readonly state: "handshaking" | "connected" | "closed" | "failed";
  /** OpenSSL's message if the session failed. */
  readonly error: string;
  /** To send, in this order. */
  readonly datagrams: readonly Buffer[];
}

/** Never throws, for any received bytes. */
export interface DtlsSession {
  receive(datagram: Buffer): DtlsReport;
  /** Sends the last flight again. */
  handleTimeout(): DtlsReport;
  /** Milliseconds until `handleTimeout` is due; null: nothing is unanswered. */
  timeoutMs(): number | null;
  close(): DtlsReport;
  /** DER. Once the session is connected, the client has proven that it holds the key. */
  peerCertificate(): Buffer | null;
  /** SRTP keys (RFC 5764, 4.2) and the profile's number; null: the client offers no supported profile. */
  exportKeys(): { readonly profile: number; readonly keys: Buffer } | null;
}

interface Addon {
  createContext(): { readonly context: object; readonly certificate: Buffer };
  readonly Session: new (context: object) => DtlsSession;
}

/** A certificate made for this run and shared by all sessions; browsers get its fingerprint in the answer. */
export interface DtlsIdentity {
  /** SHA-256, upper case with colons. */
  readonly fingerprint: string;
  createSession(): DtlsSession;
}

export function createIdentity(): DtlsIdentity {
  const file = process.env.WINDHOVER_DTLS_ADDON ?? fileURLToPath(new URL("../../build/dtls.node", import.meta.url));
  const { createContext, Session } = createRequire(import.meta.url)(file) as Addon;
  const { context, certificate } = createContext();
  return { fingerprint: printFingerprint(certificate, "sha-256"), createSession: () => new Session(context) };
}

/** In SDP syntax. `algorithm`: `sha-256`, `sha-384` or `sha-512`. */
export const printFingerprint = (certificate: Buffer, algorithm: string): string =>
  (createHash(algorithm.replace("-", "")).update(certificate).digest("hex").toUpperCase().match(/../g) ?? []).join(":");

export interface SecureEvents {
  /** Sends to the viewer. */
  send(data: Buffer): void;
  connected(): void;
  /** The viewer closed the session, or the handshake failed. */
  closed(reason: string): void;
  readonly guard: Guard;
}

/** Waits for the viewer's handshake, checks its certificate against its offer, then protects RTP and RTCP. */
export class SecureChannel {
  readonly #dtls: DtlsSession;
  readonly #fingerprints: Offer["fingerprints"];
  readonly #events: SecureEvents;
  #sender: SrtpSender | null = null;
  #receiver: SrtcpReceiver | null = null;
  #rtpReceiver: SrtpReceiver | null = null;
  #timer: NodeJS.Timeout | undefined;
  #isClosed = false;

  constructor(identity: DtlsIdentity, fingerprints: Offer["fingerprints"], events: SecureEvents) {
    this.#dtls = identity.createSession();
    this.#fingerprints = fingerprints;
    this.#events = events;
  }

  /** Handles a DTLS datagram, which may contain anything. */
  receive(data: Buffer): void {
    if (!this.#isClosed) this.#handle(this.#dtls.receive(data));
  }

  #handle({ state, error, datagrams }: DtlsReport): void {
    for (const datagram of datagrams) this.#events.send(datagram);
    if (state === "connected" && this.#sender === null) this.#start();
    else if (state === "closed") this.#events.closed("the viewer closed the connection");
    else if (state === "failed") this.#events.closed(`the DTLS handshake failed: ${error}`);
    this.#schedule();
  }

  #start(): void {
    const certificate = this.#dtls.peerCertificate();
    const isKnown =
      certificate !== null &&
      this.#fingerprints.some(({ algorithm, value }) => printFingerprint(certificate, algorithm) === value);
    const exported = this.#dtls.exportKeys();
    if (!isKnown) this.#events.closed("the viewer's certificate does not match its offer");
    else if (exported === null) this.#events.closed("the viewer offers no supported SRTP profile");
    else {
      const { client, server } = splitKeys(exported.profile, exported.keys);
      this.#sender = new SrtpSender(server);
      this.#receiver = new SrtcpReceiver(client);
      this.#rtpReceiver = new SrtpReceiver(client);
      this.#events.connected();
    }
  }

  /** Retransmits unanswered flights of the handshake. */
  #schedule(): void {
    clearTimeout(this.#timer);
    const dueMs = this.#isClosed ? null : this.#dtls.timeoutMs();
    const retransmit = this.#events.guard(() => this.#handle(this.#dtls.handleTimeout()));
    if (dueMs !== null) this.#timer = setTimeout(retransmit, dueMs);
  }

  protectRtp(header: RtpHeader, payload: Buffer): Buffer | null {
    return this.#sender?.protectRtp(header, payload) ?? null;
  }

  protectRtcp(packet: Buffer): Buffer | null {
    return this.#sender?.protectRtcp(packet) ?? null;
  }

  /** Null unless it is authentic and new. */
  openRtp(data: Buffer): Buffer | null {
    return this.#rtpReceiver?.open(data) ?? null;
  }

  /** Null unless it is authentic. */
  openRtcp(data: Buffer): Buffer | null {
    return this.#receiver?.open(data) ?? null;
  }

  /** Sends a close_notify, so that the browser knows immediately. */
  close(): void {
    if (this.#isClosed) return;
    this.#isClosed = true;
    clearTimeout(this.#timer);
    for (const datagram of this.#dtls.close().datagrams) this.#events.send(datagram);
  }
}
