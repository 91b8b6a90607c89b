/** The part of STUN (RFC 8489) that an ICE-lite agent (RFC 8445) needs: binding requests in, their responses out. */
import { createHmac, timingSafeEqual } from "node:crypto";
import { isIPv4 } from "node:net";

const MAGIC = 0x2112_a442;
const BINDING_REQUEST = 0x0001;
const BINDING_RESPONSE = 0x0101;
const HEADER_BYTES = 20;
const INTEGRITY_BYTES = 24;

const USERNAME = 0x0006;
const MESSAGE_INTEGRITY = 0x0008;
const XOR_MAPPED_ADDRESS = 0x0020;
const USE_CANDIDATE = 0x0025;
const FINGERPRINT = 0x8028;

export interface BindingRequest {
  /** `<ours>:<theirs>`. */
  readonly username: string;
  /** The other side has chosen this path. */
  readonly isNominating: boolean;
  readonly transaction: Buffer;
  /** Where the attribute with the proof begins. */
  readonly integrityAt: number;
}

export const isStun = (data: Buffer): boolean =>
  data.length >= HEADER_BYTES && (data[0] as number) < 4 && data.readUInt32BE(4) === MAGIC;

/** Null unless it is a whole binding request with a user's name and a proof, which is still to be checked. */
export function readBindingRequest(data: Buffer): BindingRequest | null {
  if (!isStun(data) || data.readUInt16BE(0) !== BINDING_REQUEST) return null;
  if (data.readUInt16BE(2) + HEADER_BYTES !== data.length) return null;
  let username: string | null = null;
  let isNominating = false;
  for (let at = HEADER_BYTES; at + 4 <= data.length; ) {
    const type = data.readUInt16BE(at);
    const length = data.readUInt16BE(at + 2);
    if (at + 4 + length > data.length) return null;
    if (type === MESSAGE_INTEGRITY) {
      if (length !== INTEGRITY_BYTES - 4 || username === null) return null;
      // What follows the proof is not covered by it, and not looked at.
      return { username, isNominating, transaction: data.subarray(8, HEADER_BYTES), integrityAt: at };
    }
    if (type === USERNAME) username = data.toString("utf8", at + 4, at + 4 + length);
    else if (type === USE_CANDIDATE) isNominating = true;
    at += 4 + length + (-length & 3);
  }
  return null;
}

export function isProven(data: Buffer, { integrityAt }: BindingRequest, password: string): boolean {
  const proof = data.subarray(integrityAt + 4, integrityAt + INTEGRITY_BYTES);
  return timingSafeEqual(proof, sign(data.subarray(0, integrityAt), password));
}

/** As if the message ended right after the proof: that is what its length field has to say meanwhile. */
function sign(head: Buffer, password: string): Buffer {
  const start = Buffer.from(head.subarray(0, 4));
  start.writeUInt16BE(head.length - HEADER_BYTES + INTEGRITY_BYTES, 2);
  return createHmac("sha1", password).update(start).update(head.subarray(4)).digest();
}

export function writeBindingResponse(transaction: Buffer, address: string, port: number, password: string): Buffer {
  const ip = addressBytes(address);
  const addressAt = HEADER_BYTES + 4;
  const integrityAt = addressAt + 4 + ip.length;
  const message = Buffer.alloc(integrityAt + INTEGRITY_BYTES + 8);
  message.writeUInt16BE(BINDING_RESPONSE, 0);
  message.writeUInt32BE(MAGIC, 4);
  transaction.copy(message, 8);
  message.writeUInt16BE(XOR_MAPPED_ADDRESS, HEADER_BYTES);
  message.writeUInt16BE(4 + ip.length, HEADER_BYTES + 2);
  message[addressAt + 1] = ip.length === 4 ? 1 : 2;
  message.writeUInt16BE(port ^ (MAGIC >>> 16), addressAt + 2);
  for (let i = 0; i < ip.length; i++) message[addressAt + 4 + i] = (ip[i] as number) ^ (message[4 + i] as number);
  message.writeUInt16BE(MESSAGE_INTEGRITY, integrityAt);
  message.writeUInt16BE(INTEGRITY_BYTES - 4, integrityAt + 2);
  sign(message.subarray(0, integrityAt), password).copy(message, integrityAt + 4);
  const fingerprintAt = integrityAt + INTEGRITY_BYTES;
  message.writeUInt16BE(message.length - HEADER_BYTES, 2);
  message.writeUInt16BE(FINGERPRINT, fingerprintAt);
  message.writeUInt16BE(4, fingerprintAt + 2);
  message.writeUInt32BE((crc32(message.subarray(0, fingerprintAt)) ^ 0x5354_554e) >>> 0, fingerprintAt + 4);
  return message;
}

/** 4 or 16 bytes. */
function addressBytes(address: string): Buffer {
  if (isIPv4(address)) return Buffer.from(address.split(".").map(Number));
  const [head = "", tail] = (address.split("%")[0] as string).split("::");
  const groups = (text: string) => (text === "" ? [] : text.split(":"));
  const front = groups(head);
  const back = tail === undefined ? [] : groups(tail);
  const middle = Array.from({ length: Math.max(0, 8 - front.length - back.length) }, () => "0");
  const bytes = Buffer.alloc(16);
  [...front, ...middle, ...back].slice(0, 8).forEach((group, i) => {
    bytes.writeUInt16BE(Number.parseInt(group, 16) & 0xffff, i * 2);
  });
  return bytes;
}

const CRC_TABLE = Uint32Array.from({ length: 256 }, (_, byte) => {
  let value = byte;
  for (let bit = 0; bit < 8; bit++) value = value & 1 ? (value >>> 1) ^ 0xedb8_8320 : value >>> 1;
  return value;
});

function crc32(data: Buffer): number {
  let value = 0xffff_ffff;
  for (const byte of data) value = (CRC_TABLE[(value ^ byte) & 0xff] as number) ^ (value >>> 8);
  return ~value >>> 0;
}
