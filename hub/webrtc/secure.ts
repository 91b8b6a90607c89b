/**
 * DTLS-SRTP (RFC 5764) with one viewer: we wait for its handshake, check that it holds the key of the certificate that its
 * offer named, and then protect what is sent and open what comes back.
 */
import {
  type Address,
  DtlsServer,
  keyLength,
  ProtectionProfileAeadAes128Gcm,
  ProtectionProfileAes128CmHmacSha1_80,
  type RtpHeader,
  SrtcpSession,
  SrtpSession,
  saltLength,
} from "werift";
import { type Certificate, printFinger } from "./certificate.ts";
import { provesItsKey } from "./client-proof.ts";
import { isSound, readConnected } from "./dtls-records.ts";
import type { Offer } from "./offer.ts";

const PROFILES = [ProtectionProfileAeadAes128Gcm, ProtectionProfileAes128CmHmacSha1_80];
/** Of one viewer, whole handshakes with all they repeat; what comes beyond is dropped. */
const DATAGRAMS = 256;
const DTLS_1_2 = 0xfefd;
const ALERT = 21;
const CLOSE_NOTIFY = Buffer.of(1, 0);

export interface SecureEvents {
  /** Sends to the viewer. */
  send(data: Buffer): void;
  connected(): void;
  /** The viewer has said good-bye, or is not who it said. */
  closed(reason: string): void;
}

export class SecureChannel {
  readonly #dtls: DtlsServer;
  readonly #events: SecureEvents;
  readonly #receive: (data: Buffer) => void;
  #srtp: SrtpSession | null = null;
  #srtcp: SrtcpSession | null = null;
  #datagrams = 0;
  #isClosed = false;

  constructor(certificate: Certificate, fingerprints: Offer["fingerprints"], events: SecureEvents) {
    this.#events = events;
    const transport = {
      type: "viewer",
      address: { address: "", family: "", port: 0 },
      closed: false,
      onData: (_data: Buffer, _address: Address) => {},
      send: async (data: Buffer) => {
        if (!this.#isClosed) events.send(data);
      },
      close: async () => {},
    };
    this.#dtls = new DtlsServer({
      cert: certificate.certPem,
      key: certificate.keyPem,
      signatureHash: certificate.signatureHash,
      transport,
      srtpProfiles: PROFILES,
      extendedMasterSecret: true,
      certificateRequest: true,
    });
    this.#receive = (data) => transport.onData(data, ["", 0]);
    this.#dtls.onConnect.once(() => {
      if (this.#isClosed) return;
      try {
        this.#begin(fingerprints);
        events.connected();
      } catch (error) {
        events.closed(describe(error));
      }
    });
    this.#dtls.onError.once((error) => events.closed(describe(error)));
    this.#dtls.onClose.once(() => events.closed("the viewer has closed the connection"));
  }

  #begin(fingerprints: Offer["fingerprints"]): void {
    const certificate = this.#dtls.remoteCertificate;
    const isKnown =
      certificate !== undefined &&
      fingerprints.some(({ algorithm, value }) => printFinger(certificate, algorithm) === value);
    if (!isKnown) throw new Error("the viewer's certificate is not that of its offer");
    if (!provesItsKey(certificate, this.#dtls.dtls.sortedHandshakeCache)) {
      throw new Error("the viewer does not hold the key of its certificate");
    }
    const profile = this.#dtls.srtp.srtpProfile;
    if (profile === undefined) throw new Error("the viewer offers no SRTP that is known here");
    const keys = this.#dtls.extractSessionKeys(keyLength(profile), saltLength(profile));
    const config = {
      keys: {
        localMasterKey: keys.localKey,
        localMasterSalt: keys.localSalt,
        remoteMasterKey: keys.remoteKey,
        remoteMasterSalt: keys.remoteSalt,
      },
      profile,
    };
    this.#srtp = new SrtpSession(config);
    this.#srtcp = new SrtcpSession(config);
  }

  /** DTLS from the viewer. Anything may be in it. */
  receive(data: Buffer): void {
    if (this.#isClosed || ++this.#datagrams > DATAGRAMS) return;
    if (this.#srtp !== null) {
      const news = readConnected(data);
      if (news === "repeat") for (const record of this.#dtls.dtls.lastMessage) this.#events.send(record);
      if (news !== "alert") return;
    } else if (!isSound(data)) return;
    try {
      this.#receive(data);
    } catch {
      // No DTLS.
    }
  }

  protectRtp(payload: Buffer, header: RtpHeader): Buffer | null {
    return this.#srtp?.encrypt(payload, header) ?? null;
  }

  protectRtcp(packet: Buffer): Buffer | null {
    return this.#srtcp?.encrypt(packet) ?? null;
  }

  /** Null unless it is genuine. */
  openRtcp(data: Buffer): Buffer | null {
    try {
      return this.#srtcp?.decrypt(data) ?? null;
    } catch {
      return null;
    }
  }

  /** Says good-bye, so that a browser knows at once. */
  close(): void {
    if (this.#isClosed) return;
    if (this.#srtp !== null) this.#sayGoodBye();
    this.#isClosed = true;
    this.#dtls.onConnect.allUnsubscribe();
    this.#dtls.onError.allUnsubscribe();
    this.#dtls.onClose.allUnsubscribe();
  }

  /** A courtesy: where it cannot be said, the viewer finds out by itself. */
  #sayGoodBye(): void {
    try {
      this.#events.send(this.#writeCloseNotify());
    } catch {
      // The library has lost its cipher.
    }
  }

  #writeCloseNotify(): Buffer {
    const { cipher, dtls, sessionType } = this.#dtls;
    const head = { type: ALERT, version: DTLS_1_2, epoch: dtls.epoch, sequenceNumber: ++dtls.recordSequenceNumber };
    const sealed = cipher.cipher.encrypt(sessionType, CLOSE_NOTIFY, head);
    const record = Buffer.alloc(13 + sealed.length);
    record[0] = head.type;
    record.writeUInt16BE(head.version, 1);
    record.writeUInt16BE(head.epoch, 3);
    record.writeUIntBE(head.sequenceNumber, 5, 6);
    record.writeUInt16BE(sealed.length, 11);
    sealed.copy(record, 13);
    return record;
  }
}

/** Of a handshake that failed; the library rejects with texts, too. */
const describe = (error: unknown): string => (error instanceof Error ? error.message : String(error));
