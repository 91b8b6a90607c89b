/**
 * SRTP and SRTCP (RFC 3711) with two profiles of DTLS-SRTP: AES-CM with HMAC-SHA1 (RFC 5764), which every browser supports,
 * and AEAD AES-GCM (RFC 7714), which is faster.
 */
import { createCipheriv, createDecipheriv, createHmac, timingSafeEqual } from "node:crypto";
import { RTP_HEADER_BYTES, type RtpHeader, writeRtpHeader } from "../../media/rtp/packet.ts";

/** Profile numbers of RFC 5764 and 7714. */
export const SRTP_AES128_CM_SHA1_80 = 1;
export const SRTP_AEAD_AES_128_GCM = 7;

const KEY_BYTES = 16;
const HMAC_KEY_BYTES = 20;
const HMAC_TAG_BYTES = 10;
const GCM_TAG_BYTES = 16;
const RTCP_HEADER_BYTES = 8;
const INDEX_BYTES = 4;
const ENCRYPTED = 0x8000_0000;

/** First labels of key derivation (RFC 3711, 4.3). */
const LABEL = { rtp: 0, rtcp: 3 } as const;

interface Cipher {
  /** Returns `head`, the encrypted bytes, and the tag. */
  seal(head: Buffer, plain: Buffer, trailer: Buffer, iv: Iv): Buffer;
  /** Returns the plain text; null unless the tag is valid. */
  open(head: Buffer, sealed: Buffer, trailer: Buffer, iv: Iv): Buffer | null;
  readonly tagBytes: number;
}

interface Iv {
  readonly ssrc: number;
  /** Rollover counter and sequence number, or the SRTCP index: 48 bits. */
  readonly index: number;
}

/** One direction of one session. */
export interface SrtpKeys {
  readonly profile: number;
  readonly key: Buffer;
  readonly salt: Buffer;
}

/** Splits the keying material of DTLS (RFC 5764, 4.2): both keys, then both salts, the client's first. */
export function splitKeys(profile: number, exported: Buffer): { readonly client: SrtpKeys; readonly server: SrtpKeys } {
  const saltBytes = exported.length / 2 - KEY_BYTES;
  const at = (begin: number, length: number) => Buffer.from(exported.subarray(begin, begin + length));
  const salts = 2 * KEY_BYTES;
  return {
    client: { profile, key: at(0, KEY_BYTES), salt: at(salts, saltBytes) },
    server: { profile, key: at(KEY_BYTES, KEY_BYTES), salt: at(salts + saltBytes, saltBytes) },
  };
}

export class SrtpSender {
  readonly #rtp: Cipher;
  readonly #rtcp: Cipher;
  #rollovers = 0;
  #lastSequence = -1;
  #rtcpIndex = 0;

  constructor(keys: SrtpKeys) {
    this.#rtp = createCipher(keys, LABEL.rtp);
    this.#rtcp = createCipher(keys, LABEL.rtcp);
  }

  /** Call once per packet, in order of sequence numbers. */
  protectRtp(header: RtpHeader, payload: Buffer): Buffer {
    const { sequence, ssrc } = header;
    if (sequence < this.#lastSequence) this.#rollovers++;
    this.#lastSequence = sequence;
    const head = Buffer.allocUnsafe(RTP_HEADER_BYTES);
    writeRtpHeader(head, 0, header);
    const rollovers = Buffer.allocUnsafe(4);
    rollovers.writeUInt32BE(this.#rollovers);
    return this.#rtp.seal(head, payload, rollovers, { ssrc, index: this.#rollovers * 2 ** 16 + sequence });
  }

  protectRtcp(packet: Buffer): Buffer {
    const index = ++this.#rtcpIndex;
    const trailer = Buffer.allocUnsafe(INDEX_BYTES);
    trailer.writeUInt32BE((index | ENCRYPTED) >>> 0);
    return sealRtcp(this.#rtcp, packet, trailer, index);
  }
}

/** A publisher has one stream, and changes its SSRC rarely. */
const MAX_SOURCES = 8;
/** Packets that are older than this are not accepted. A power of two. */
const REPLAY_WINDOW = 1024;

interface Source {
  /** Rollover counter and sequence number of the newest packet. */
  highest: number;
  /** Of the last packets, by their lower bits: each is accepted once. */
  readonly seen: Float64Array;
}

export class SrtpReceiver {
  readonly #rtp: Cipher;
  readonly #sources = new Map<number, Source>();

  constructor(keys: SrtpKeys) {
    this.#rtp = createCipher(keys, LABEL.rtp);
  }

  /** The RTP packet; null unless it is authentic and was not received before. */
  open(data: Buffer): Buffer | null {
    const headBytes = readHeadBytes(data);
    if (headBytes === null || data.length < headBytes + this.#rtp.tagBytes) return null;
    const ssrc = data.readUInt32BE(8);
    const source = this.#sources.get(ssrc);
    const index = source === undefined ? data.readUInt16BE(2) : findIndex(source.highest, data.readUInt16BE(2));
    if (index < 0 || (source !== undefined && isReplayed(source, index))) return null;
    const head = data.subarray(0, headBytes);
    const rollovers = Buffer.allocUnsafe(4);
    rollovers.writeUInt32BE(Math.floor(index / 2 ** 16) % 2 ** 32);
    const plain = this.#rtp.open(head, data.subarray(headBytes), rollovers, { ssrc, index });
    if (plain === null) return null;
    this.#note(ssrc, source, index);
    return Buffer.concat([head, plain]);
  }

  #note(ssrc: number, source: Source | undefined, index: number): void {
    const known = source ?? { highest: index, seen: new Float64Array(REPLAY_WINDOW).fill(-1) };
    known.seen[index % REPLAY_WINDOW] = index;
    known.highest = Math.max(known.highest, index);
    if (source !== undefined) return;
    const [oldest] = this.#sources.keys();
    if (this.#sources.size >= MAX_SOURCES && oldest !== undefined) this.#sources.delete(oldest);
    this.#sources.set(ssrc, known);
  }
}

/** RFC 3711, 3.3.1: the rollover counter with which the number is nearest to the newest one. */
function findIndex(highest: number, sequence: number): number {
  const rollovers = Math.floor(highest / 2 ** 16);
  const step = ((sequence - (highest % 2 ** 16)) << 16) >> 16;
  return rollovers * 2 ** 16 + (highest % 2 ** 16) + step;
}

const isReplayed = ({ highest, seen }: Source, index: number): boolean =>
  index <= highest - REPLAY_WINDOW || seen[index % REPLAY_WINDOW] === index;

/** Fixed header, contributing sources and extension. Null: it is not RTP. */
function readHeadBytes(data: Buffer): number | null {
  if (data.length < RTP_HEADER_BYTES || (data[0] as number) >> 6 !== 2) return null;
  const bytes = RTP_HEADER_BYTES + ((data[0] as number) & 0x0f) * 4;
  if (((data[0] as number) & 0x10) === 0) return bytes;
  return bytes + 4 > data.length ? null : bytes + 4 + data.readUInt16BE(bytes + 2) * 4;
}

export class SrtcpReceiver {
  readonly #rtcp: Cipher;
  #lastIndex = -1;

  constructor(keys: SrtpKeys) {
    this.#rtcp = createCipher(keys, LABEL.rtcp);
  }

  /** Null unless it is authentic, encrypted and newer than all before it. */
  open(data: Buffer): Buffer | null {
    const { tagBytes } = this.#rtcp;
    if (data.length < RTCP_HEADER_BYTES + tagBytes + INDEX_BYTES) return null;
    const head = data.subarray(0, RTCP_HEADER_BYTES);
    // RFC 7714 has the tag before the index, RFC 3711 after it.
    const isTagLast = tagBytes === HMAC_TAG_BYTES;
    const indexAt = data.length - INDEX_BYTES - (isTagLast ? tagBytes : 0);
    const trailer = data.subarray(indexAt, indexAt + INDEX_BYTES);
    const body = data.subarray(RTCP_HEADER_BYTES, indexAt);
    const sealed = isTagLast ? Buffer.concat([body, data.subarray(indexAt + INDEX_BYTES)]) : body;
    const word = trailer.readUInt32BE();
    const index = word & 0x7fff_ffff;
    if (word < ENCRYPTED || index <= this.#lastIndex) return null;
    const plain = this.#rtcp.open(head, sealed, trailer, { ssrc: data.readUInt32BE(4), index });
    if (plain === null) return null;
    this.#lastIndex = index;
    return Buffer.concat([head, plain]);
  }
}

function sealRtcp(cipher: Cipher, packet: Buffer, trailer: Buffer, index: number): Buffer {
  const head = packet.subarray(0, RTCP_HEADER_BYTES);
  const plain = packet.subarray(RTCP_HEADER_BYTES);
  const sealed = cipher.seal(head, plain, trailer, { ssrc: packet.readUInt32BE(4), index });
  const tagAt = cipher.tagBytes === HMAC_TAG_BYTES ? sealed.length - HMAC_TAG_BYTES : sealed.length;
  return Buffer.concat([sealed.subarray(0, tagAt), trailer, sealed.subarray(tagAt)]);
}

function createCipher({ profile, key, salt }: SrtpKeys, label: number): Cipher {
  const derive = (offset: number, bytes: number) => deriveKey(key, salt, label + offset, bytes);
  const cipherKey = derive(0, KEY_BYTES);
  if (profile === SRTP_AEAD_AES_128_GCM) return createGcm(cipherKey, derive(2, salt.length), label === LABEL.rtcp);
  if (profile === SRTP_AES128_CM_SHA1_80) return createCm(cipherKey, derive(1, HMAC_KEY_BYTES), derive(2, salt.length));
  throw new Error(`SRTP profile ${profile} is not supported`);
}

/** RFC 3711, 4.3.1 and 4.3.3, without re-keying. A salt of 12 bytes is padded with zeros to 14 (RFC 7714, 11). */
export function deriveKey(key: Buffer, salt: Buffer, label: number, bytes: number): Buffer {
  const iv = Buffer.alloc(16);
  salt.copy(iv);
  iv[7] = (iv[7] as number) ^ label;
  return createCipheriv("aes-128-ctr", key, iv).update(Buffer.alloc(bytes));
}

/** Returns a function that writes an initialization vector: SSRC and index from `at` on, combined with the salt. */
function ivWriter(bytes: number, at: number, salt: Buffer): (iv: Iv) => Buffer {
  const buffer = Buffer.alloc(bytes);
  return ({ ssrc, index }) => {
    buffer.fill(0);
    buffer.writeUInt32BE(ssrc, at);
    buffer.writeUIntBE(index, at + 4, 6);
    for (let i = 0; i < salt.length; i++) buffer[i] = (buffer[i] as number) ^ (salt[i] as number);
    return buffer;
  };
}

/** RFC 3711, 4.1.1 and 4.2.1. */
function createCm(key: Buffer, hmacKey: Buffer, salt: Buffer): Cipher {
  const setIv = ivWriter(16, 4, salt);
  const sign = (head: Buffer, sealed: Buffer, trailer: Buffer) =>
    createHmac("sha1", hmacKey).update(head).update(sealed).update(trailer).digest().subarray(0, HMAC_TAG_BYTES);
  return {
    tagBytes: HMAC_TAG_BYTES,
    seal(head, plain, trailer, position) {
      const sealed = createCipheriv("aes-128-ctr", key, setIv(position)).update(plain);
      return Buffer.concat([head, sealed, sign(head, sealed, trailer)]);
    },
    open(head, data, trailer, position) {
      const sealed = data.subarray(0, -HMAC_TAG_BYTES);
      if (!timingSafeEqual(data.subarray(-HMAC_TAG_BYTES), sign(head, sealed, trailer))) return null;
      return createDecipheriv("aes-128-ctr", key, setIv(position)).update(sealed);
    },
  };
}

/** RFC 7714, 8 and 9. The trailer of RTCP is authenticated; that of RTP is part of the index. */
function createGcm(key: Buffer, salt: Buffer, hasTrailer: boolean): Cipher {
  const setIv = ivWriter(12, 2, salt);
  const associate = (head: Buffer, trailer: Buffer) => (hasTrailer ? Buffer.concat([head, trailer]) : head);
  return {
    tagBytes: GCM_TAG_BYTES,
    seal(head, plain, trailer, position) {
      const cipher = createCipheriv("aes-128-gcm", key, setIv(position)).setAAD(associate(head, trailer));
      const sealed = cipher.update(plain);
      cipher.final();
      return Buffer.concat([head, sealed, cipher.getAuthTag()]);
    },
    open(head, data, trailer, position) {
      const decipher = createDecipheriv("aes-128-gcm", key, setIv(position), { authTagLength: GCM_TAG_BYTES });
      decipher.setAAD(associate(head, trailer)).setAuthTag(data.subarray(-GCM_TAG_BYTES));
      const plain = decipher.update(data.subarray(0, -GCM_TAG_BYTES));
      try {
        decipher.final();
        return plain;
      } catch {
        return null;
      }
    },
  };
}
