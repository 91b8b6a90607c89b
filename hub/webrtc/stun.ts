/** Reads and writes the STUN messages (RFC 8489) that ICE needs: binding requests and responses. */
import { createHmac, randomBytes, timingSafeEqual } from "node:crypto";
import { isIPv4 } from "node:net";
import { crc32 } from "../../media/crc32.ts";

const MAGIC = 0x2112_a442;
const BINDING_REQUEST = 0x0001;
const BINDING_RESPONSE = 0x0101;
const HEADER_BYTES = 20;
const INTEGRITY_BYTES = 24;

const USERNAME = 0x0006;
const MESSAGE_INTEGRITY = 0x0008;
const XOR_MAPPED_ADDRESS = 0x0020;
const PRIORITY = 0x0024;
const USE_CANDIDATE = 0x0025;
const FINGERPRINT = 0x8028;
const ICE_CONTROLLED = 0x8029;
/** Of a peer-reflexive candidate (RFC 8445, 5.1.2.1); checks of a controlled agent do not depend on it. */
const CHECK_PRIORITY = 110 * 2 ** 24 + 65_535 * 2 ** 8 + 255;

export interface SignedMessage {
  readonly transaction: Buffer;
  /** Position of the attribute MESSAGE-INTEGRITY. */
  readonly integrityAt: number;
}

export interface BindingRequest extends SignedMessage {
  /** `<ours>:<theirs>`. */
  readonly username: string;
  /** The peer has selected this path. */
  readonly isNominating: boolean;
}

export const isStun = (data: Buffer): boolean =>
  data.length >= HEADER_BYTES && (data[0] as number) < 4 && data.readUInt32BE(4) === MAGIC;

/** Null unless it is a complete binding request with a username and an integrity attribute, which is not verified here. */
export function readBindingRequest(data: Buffer): BindingRequest | null {
  const message = readMessage(data, BINDING_REQUEST);
  return message === null || message.username === null ? null : { ...message, username: message.username };
}

/** Null unless it is a complete success response with an integrity attribute, which is not verified here. */
export const readBindingResponse = (data: Buffer): SignedMessage | null => readMessage(data, BINDING_RESPONSE);

function readMessage(data: Buffer, expected: number) {
  if (!isStun(data) || data.readUInt16BE(0) !== expected) return null;
  if (data.readUInt16BE(2) + HEADER_BYTES !== data.length) return null;
  let username: string | null = null;
  let isNominating = false;
  for (let at = HEADER_BYTES; at + 4 <= data.length; ) {
    const type = data.readUInt16BE(at);
    const length = data.readUInt16BE(at + 2);
    if (at + 4 + length > data.length) return null;
    if (type === MESSAGE_INTEGRITY) {
      if (length !== INTEGRITY_BYTES - 4) return null;
      // Attributes after this one are not authenticated, and ignored.
      return { username, isNominating, transaction: data.subarray(8, HEADER_BYTES), integrityAt: at };
    }
    if (type === USERNAME) username = data.toString("utf8", at + 4, at + 4 + length);
    else if (type === USE_CANDIDATE) isNominating = true;
    at += 4 + pad(length);
  }
  return null;
}

/** Verifies the integrity attribute. */
export function isAuthentic(data: Buffer, { integrityAt }: SignedMessage, password: string): boolean {
  const proof = data.subarray(integrityAt + 4, integrityAt + INTEGRITY_BYTES);
  return timingSafeEqual(proof, sign(data.subarray(0, integrityAt), password));
}

/** The length field counts up to the integrity attribute while it is computed. */
function sign(head: Buffer, password: string): Buffer {
  const start = Buffer.from(head.subarray(0, 4));
  start.writeUInt16BE(head.length - HEADER_BYTES + INTEGRITY_BYTES, 2);
  return createHmac("sha1", password).update(start).update(head.subarray(4)).digest();
}

export function writeBindingResponse(transaction: Buffer, address: string, port: number, password: string): Buffer {
  const ip = addressBytes(address);
  const mapped = Buffer.alloc(4 + ip.length);
  mapped[1] = ip.length === 4 ? 1 : 2;
  mapped.writeUInt16BE(port ^ (MAGIC >>> 16), 2);
  const mask = Buffer.alloc(16);
  mask.writeUInt32BE(MAGIC, 0);
  transaction.copy(mask, 4);
  for (let i = 0; i < ip.length; i++) mapped[4 + i] = (ip[i] as number) ^ (mask[i] as number);
  return writeMessage(BINDING_RESPONSE, transaction, [[XOR_MAPPED_ADDRESS, mapped]], password);
}

/** A connectivity or consent check by the controlled agent. `username` is `<theirs>:<ours>`, `password` is theirs. */
export function writeBindingRequest(transaction: Buffer, username: string, password: string): Buffer {
  const priority = Buffer.alloc(4);
  priority.writeUInt32BE(CHECK_PRIORITY);
  const attributes: Attribute[] = [
    [USERNAME, Buffer.from(username)],
    [PRIORITY, priority],
    [ICE_CONTROLLED, randomBytes(8)],
  ];
  return writeMessage(BINDING_REQUEST, transaction, attributes, password);
}

type Attribute = readonly [type: number, value: Buffer];

/** With MESSAGE-INTEGRITY and FINGERPRINT after the attributes. */
function writeMessage(type: number, transaction: Buffer, attributes: readonly Attribute[], password: string): Buffer {
  const integrityAt = attributes.reduce((at, [, value]) => at + 4 + pad(value.length), HEADER_BYTES);
  const fingerprintAt = integrityAt + INTEGRITY_BYTES;
  const message = Buffer.alloc(fingerprintAt + 8);
  message.writeUInt16BE(type, 0);
  message.writeUInt32BE(MAGIC, 4);
  transaction.copy(message, 8);
  let at = HEADER_BYTES;
  for (const [name, value] of attributes) {
    message.writeUInt16BE(name, at);
    message.writeUInt16BE(value.length, at + 2);
    value.copy(message, at + 4);
    at += 4 + pad(value.length);
  }
  message.writeUInt16BE(MESSAGE_INTEGRITY, integrityAt);
  message.writeUInt16BE(INTEGRITY_BYTES - 4, integrityAt + 2);
  sign(message.subarray(0, integrityAt), password).copy(message, integrityAt + 4);
  message.writeUInt16BE(message.length - HEADER_BYTES, 2);
  message.writeUInt16BE(FINGERPRINT, fingerprintAt);
  message.writeUInt16BE(4, fingerprintAt + 2);
  message.writeUInt32BE((crc32(message.subarray(0, fingerprintAt)) ^ 0x5354_554e) >>> 0, fingerprintAt + 4);
  return message;
}

const pad = (length: number): number => length + (-length & 3);

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
