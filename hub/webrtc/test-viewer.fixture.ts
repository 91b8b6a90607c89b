/** A viewer that a test controls down to the datagram: own STUN, DTLS and SRTP by a library that the hub does not use. */

import { createHmac, randomBytes, X509Certificate } from "node:crypto";
import { createSocket, type Socket } from "node:dgram";
import {
  type Address,
  CipherContext,
  DtlsClient,
  HashAlgorithm,
  keyLength,
  NamedCurveAlgorithm,
  SignatureAlgorithm,
  SrtcpSession,
  SrtpSession,
  saltLength,
  RtpPacket as WeriftRtpPacket,
} from "werift";
import { CODECS } from "../../media/codecs.ts";
import { type CodedPicture, NalDepayloader } from "../../media/rtp/nal-units.ts";
import {
  RTP_HEADER_BYTES,
  type RtpHeader,
  type RtpPacket,
  readRtp,
  sequenceStep,
  writeRtpHeader,
} from "../../media/rtp/packet.ts";
import { writeNack } from "../../media/rtp/rtcp.ts";
import { Watch } from "../../test/watch.fixture.ts";
import { printFingerprint } from "./dtls.ts";
import { chromiumOffer, h265Offer } from "./offer.fixture.ts";
import { isStun, writeBindingResponse } from "./stun.ts";

export const SIGNATURE = { hash: HashAlgorithm.sha256_4, signature: SignatureAlgorithm.ecdsa_3 } as const;

export async function makeCertificate() {
  const { certPem, keyPem } = await CipherContext.createSelfSignedCertificateWithKey(
    SIGNATURE,
    NamedCurveAlgorithm.secp256r1_23,
  );
  return { certPem, keyPem, fingerprint: printFingerprint(new X509Certificate(certPem).raw, "sha-256") };
}
type Certificate = Awaited<ReturnType<typeof makeCertificate>>;

export interface Answer {
  readonly ufrag: string;
  readonly password: string;
  readonly port: number;
}

export const readAnswer = (sdp: string): Answer => ({
  ufrag: /^a=ice-ufrag:(\S+)/m.exec(sdp)?.[1] ?? "",
  password: /^a=ice-pwd:(\S+)/m.exec(sdp)?.[1] ?? "",
  port: Number(/^a=candidate:\d+ 1 udp \d+ 127\.0\.0\.1 (\d+)/m.exec(sdp)?.[1]),
});

const CLOSE_NOTIFY = Buffer.of(1, 0);
/** Of the offer of Chromium's. */
const PASSWORD = "5zTkRS9kFqKqqiPzPcbvyzYD";
const isBindingRequest = (data: Buffer) => isStun(data) && data.readUInt16BE(0) === 1;

export function writeBindingRequest({ ufrag, password }: Answer, { isNominating = true, remoteUfrag = "q1Zr" } = {}) {
  const attribute = (type: number, value: Buffer) => {
    const padded = Buffer.alloc(4 + Math.ceil(value.length / 4) * 4);
    padded.writeUInt16BE(type, 0);
    padded.writeUInt16BE(value.length, 2);
    value.copy(padded, 4);
    return padded;
  };
  const attributes = Buffer.concat([
    attribute(0x0006, Buffer.from(`${ufrag}:${remoteUfrag}`)),
    ...(isNominating ? [attribute(0x0025, Buffer.alloc(0))] : []),
  ]);
  const header = Buffer.alloc(20);
  header.writeUInt16BE(1, 0);
  header.writeUInt16BE(attributes.length + 24, 2);
  header.writeUInt32BE(0x2112a442, 4);
  randomBytes(12).copy(header, 8);
  const proof = createHmac("sha1", password).update(header).update(attributes).digest();
  return Buffer.concat([header, attributes, attribute(0x0008, proof)]);
}

async function openSocket(): Promise<Socket> {
  const socket = createSocket("udp4");
  await new Promise<void>((resolve) => socket.bind(0, "127.0.0.1", resolve));
  return socket;
}

export interface TestViewerOptions {
  /** In the offer; the client's own where it is not given. */
  readonly fingerprint?: string;
  /** The client signs with this key instead of that of its certificate. */
  readonly keyPem?: string;
  /** Numbers of the SRTP profiles that it offers, the best first. */
  readonly srtpProfiles?: readonly (1 | 7)[];
  /** It offers this codec alone, and expects it. */
  readonly codec?: "h265";
  /** It only counts packets, without decrypting them: one process can be many of it. */
  readonly isCounting?: boolean;
}

export class TestViewer {
  readonly offer: string;
  readonly packets: RtpPacket[] = [];
  readonly pictures: CodedPicture[] = [];
  /** Whether it agrees to be sent video when it is asked. */
  answersChecks = true;
  /** Answers of the hub to signed requests. */
  responses = 0;
  /** Types of RTCP packets that came. */
  readonly reports: number[] = [];
  /** Checks of the hub that came, whether they were answered or not. */
  checks = 0;
  /** DTLS datagrams that begin with a record of this type are lost on the way to it, as many as this. */
  readonly losing = { type: 0, count: 0 };
  /** Of these, types of DTLS records that a datagram began with. */
  readonly records: number[] = [];
  isConnected = false;
  isClosed = false;
  /** Of one that only counts: packets, the last of each frame, those that are missing, and those that were requested again. */
  readonly counted = { packets: 0, frames: 0, lost: 0, requested: 0 };
  readonly #isCounting: boolean;
  #nextSequence: number | null = null;
  readonly #missing = new Set<number>();
  #requestTimer: NodeJS.Timeout | undefined;
  readonly watch = new Watch();
  #socket: Socket;
  readonly #certificate: Certificate;
  readonly #keyPem: string;
  readonly #srtpProfiles: (1 | 7)[];
  readonly #depayloader: NalDepayloader;
  #srtp: SrtpSession | null = null;
  #srtcp: SrtcpSession | null = null;
  #port = 0;
  #hubUfrag = "";
  #onDtls: (data: Buffer) => void = () => {};
  #client: DtlsClient | null = null;

  private constructor(socket: Socket, certificate: Certificate, options: TestViewerOptions) {
    const { fingerprint, keyPem, srtpProfiles = [7, 1], codec } = options;
    this.#depayloader = new NalDepayloader(CODECS[codec ?? "h264"], 2 ** 24, (picture) => this.pictures.push(picture));
    this.#srtpProfiles = [...srtpProfiles];
    this.#isCounting = options.isCounting ?? false;
    this.#socket = socket;
    this.#certificate = certificate;
    this.#keyPem = keyPem ?? certificate.keyPem;
    this.offer = (codec === "h265" ? h265Offer() : chromiumOffer()).replaceAll(
      /a=fingerprint:.*/g,
      `a=fingerprint:sha-256 ${fingerprint ?? certificate.fingerprint}`,
    );
    this.#listen(socket);
  }

  #listen(socket: Socket): void {
    socket.on("message", (data, { address, port }) => {
      if (isBindingRequest(data)) this.#answer(data, address, port);
      this.#receive(data);
    });
  }

  /** Continues on another port, as behind a NAT that was restarted; nothing is received on the old one. */
  async move(): Promise<void> {
    this.#socket.close();
    this.#socket = await openSocket();
    this.#listen(this.#socket);
  }

  static async create(options: TestViewerOptions = {}): Promise<TestViewer> {
    return new TestViewer(await openSocket(), await makeCertificate(), options);
  }

  send(data: Buffer): void {
    this.#socket.send(data, this.#port, "127.0.0.1");
  }

  /** Sends signed requests until the hub has answered one and has checked this address. */
  async reach(answer: Answer, limitMs = 10_000): Promise<void> {
    this.#port = answer.port;
    this.#hubUfrag = answer.ufrag;
    const before = { responses: this.responses, checks: this.checks };
    const timer = setInterval(() => this.send(writeBindingRequest(answer)), 50);
    this.send(writeBindingRequest(answer));
    const isChecked = () => this.checks > before.checks && this.responses > before.responses;
    try {
      await this.watch.until("an answer to STUN and a check", isChecked, limitMs);
    } finally {
      clearInterval(timer);
    }
  }

  /** Until the hub has handled everything that was sent to its port before. */
  async settle(answer: Answer): Promise<void> {
    const before = this.responses;
    this.send(writeBindingRequest(answer));
    await this.until("an answer to STUN", () => this.responses > before);
  }

  #answer(request: Buffer, address: string, port: number): void {
    // A browser only responds to the peer of its answer.
    if (!request.includes(`:${this.#hubUfrag}`)) return;
    this.checks++;
    const transaction = request.subarray(8, 20);
    // The address that the hub is seen at is what a response names.
    const response = writeBindingResponse(transaction, address, port, PASSWORD);
    if (this.answersChecks) this.#socket.send(response, port, address);
  }

  startHandshake(): void {
    const transport = {
      type: "hub",
      address: { address: "", family: "", port: 0 },
      closed: false,
      onData: (_data: Buffer, _address: Address) => {},
      send: async (data: Buffer) => this.send(data),
      close: async () => {},
    };
    const client = new DtlsClient({
      ...{ transport, cert: this.#certificate.certPem, key: this.#keyPem, signatureHash: SIGNATURE },
      srtpProfiles: this.#srtpProfiles,
      extendedMasterSecret: true,
    });
    this.#onDtls = (data) => transport.onData(data, ["", 0]);
    this.#client = client;
    client.onError.subscribe(() => {});
    client.onConnect.once(() => {
      const profile = client.srtp.srtpProfile ?? 1;
      const keys = client.extractSessionKeys(keyLength(profile), saltLength(profile));
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
      this.isConnected = true;
      this.watch.check();
    });
    client.connect().catch(() => {});
  }

  /** From the answer to the first packets. */
  async connect(answer: string): Promise<void> {
    await this.reach(readAnswer(answer));
    this.startHandshake();
    await this.watch.until("the DTLS handshake", () => this.isConnected, 20_000);
  }

  until(what: string, holds: () => boolean, limitMs = 20_000): Promise<void> {
    return this.watch.until(what, holds, limitMs);
  }

  /** As a publisher; returns the sealed packet. */
  sendRtp(header: RtpHeader, payload: Buffer): Buffer | null {
    if (this.#srtp === null) return null;
    const packet = Buffer.alloc(RTP_HEADER_BYTES + payload.length);
    writeRtpHeader(packet, 0, header);
    payload.copy(packet, RTP_HEADER_BYTES);
    const plain = WeriftRtpPacket.deSerialize(packet);
    const sealed = this.#srtp.encrypt(plain.payload, plain.header);
    this.send(sealed);
    return sealed;
  }

  sendRtcp(packet: Buffer): void {
    const sealed = this.#srtcp?.encrypt(packet);
    if (sealed !== undefined) this.send(sealed);
  }

  /** A record of DTLS as this viewer alone can seal it. */
  sealRecord(type: number, body: Buffer): Buffer {
    if (this.#client === null) throw new Error("there was no handshake");
    const { cipher, dtls, sessionType } = this.#client;
    const head = { type, version: 0xfefd, epoch: dtls.epoch, sequenceNumber: ++dtls.recordSequenceNumber };
    const sealed = cipher.cipher.encrypt(sessionType, body, head);
    const record = Buffer.alloc(13 + sealed.length);
    record[0] = type;
    record.writeUInt16BE(head.version, 1);
    record.writeUInt16BE(head.epoch, 3);
    record.writeUIntBE(head.sequenceNumber, 5, 6);
    record.writeUInt16BE(sealed.length, 11);
    sealed.copy(record, 13);
    return record;
  }

  #openRecord(record: Buffer): Buffer {
    if (this.#client === null) throw new Error("there was no handshake");
    const { cipher, sessionType } = this.#client;
    const head = {
      ...{ type: record[0] as number, version: record.readUInt16BE(1), epoch: record.readUInt16BE(3) },
      sequenceNumber: record.readUIntBE(5, 6),
    };
    return cipher.cipher.decrypt(sessionType, record.subarray(13), head);
  }

  close(): void {
    clearTimeout(this.#requestTimer);
    this.#socket.close();
  }

  /** The header of RTP is not encrypted. Missing packets are requested again, as browsers do. */
  #count(data: Buffer): void {
    const sequence = data.readUInt16BE(2);
    const { counted } = this;
    counted.packets++;
    if ((data[1] as number) >= 128) counted.frames++;
    const step = this.#nextSequence === null ? 0 : sequenceStep(this.#nextSequence, sequence);
    if (step < 0) this.#missing.delete(sequence);
    else {
      for (let i = 0; i < step; i++) this.#missing.add(((this.#nextSequence ?? 0) + i) & 0xffff);
      counted.requested += step;
      this.#nextSequence = (sequence + 1) & 0xffff;
      if (step > 0) this.#requestAgain(data.readUInt32BE(8));
    }
    counted.lost = this.#missing.size;
  }

  /** Until they have arrived. */
  #requestAgain(ssrc: number): void {
    clearTimeout(this.#requestTimer);
    if (this.#missing.size === 0) return;
    this.sendRtcp(writeNack(1, ssrc, [...this.#missing]));
    this.#requestTimer = setTimeout(() => this.#requestAgain(ssrc), 50);
  }

  #receive(data: Buffer): void {
    if (isStun(data) && data.readUInt16BE(0) === 0x0101) this.responses++;
    const first = data[0] ?? 0;
    if (!isStun(data) && first >= 20 && first < 64) {
      this.records.push(first);
      if (first === this.losing.type && this.losing.count-- > 0) return;
      // The library takes the first bytes of an encrypted alert for a plain one, and may throw it away.
      if (first === 21 && this.isConnected) this.isClosed ||= this.#openRecord(data).equals(CLOSE_NOTIFY);
      else this.#onDtls(data);
    }
    const isRtp = first >= 128 && ((data[1] ?? 0) < 192 || (data[1] ?? 0) > 223);
    if (this.#isCounting && first >= 128) {
      if (isRtp) this.#count(data);
      return;
    }
    if (isRtp && this.#srtp !== null) {
      const packet = readRtp(this.#srtp.decrypt(data));
      if (packet !== null) {
        this.packets.push(packet);
        this.#depayloader.push(packet, false);
      }
    }
    const isRtcp = first >= 128 && !isRtp;
    if (isRtcp && this.#srtcp !== null) {
      const packet = this.#srtcp.decrypt(data);
      for (let at = 0; at + 4 <= packet.length; at += 4 + packet.readUInt16BE(at + 2) * 4)
        this.reports.push(packet[at + 1] as number);
    }
    this.watch.check();
  }
}
