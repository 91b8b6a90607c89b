/** RTP packets (RFC 3550, 5.1) and their payloads. Reading shares the bytes of the input. */

export interface RtpHeader {
  /** Set on the last packet of a picture. */
  readonly marker: boolean;
  readonly payloadType: number;
  readonly sequence: number;
  /** 32 bits, with or without sign. Read with sign: V8 keeps those in the object, and allocates memory for larger ones. */
  readonly timestamp: number;
  /** The same. */
  readonly ssrc: number;
}

export interface RtpPacket extends RtpHeader {
  readonly payload: Uint8Array;
}

/** A payload in two pieces, so that the coded bytes are not copied. */
export interface RtpPayload {
  /** A few bytes of the payload format; often none. */
  readonly head: Uint8Array;
  /** Shared with the access unit. */
  readonly body: Uint8Array;
}

export const NO_HEAD = new Uint8Array(0);
export const RTP_HEADER_BYTES = 12;
/** Fits an Ethernet frame with the headers of IPv6, UDP and RTP, and a tunnel around them. */
export const PAYLOAD_BYTES = 1388;
const VERSION = 2;

/** Null unless it is an RTP packet. */
export function readRtp(bytes: Uint8Array): RtpPacket | null {
  if (bytes.length < RTP_HEADER_BYTES) return null;
  // By bytes: a DataView for each packet would cost more than the rest.
  const at = (i: number): number => bytes[i] as number;
  const flags = at(0);
  if (flags >> 6 !== VERSION) return null;
  let begin = RTP_HEADER_BYTES + (flags & 0x0f) * 4;
  if ((flags & 0x10) !== 0) {
    if (begin + 4 > bytes.length) return null;
    begin += 4 + ((at(begin + 2) << 8) | at(begin + 3)) * 4;
  }
  const end = bytes.length - ((flags & 0x20) !== 0 ? at(bytes.length - 1) : 0);
  if (begin > end) return null;
  const kind = at(1);
  return {
    marker: (kind & 0x80) !== 0,
    payloadType: kind & 0x7f,
    sequence: (at(2) << 8) | at(3),
    timestamp: (at(4) << 24) | (at(5) << 16) | (at(6) << 8) | at(7),
    ssrc: (at(8) << 24) | (at(9) << 16) | (at(10) << 8) | at(11),
    payload: bytes.subarray(begin, end),
  };
}

/** Writes `RTP_HEADER_BYTES` at `at`. */
export function writeRtpHeader(target: Buffer, at: number, header: RtpHeader): void {
  target[at] = VERSION << 6;
  target[at + 1] = (header.marker ? 0x80 : 0) | header.payloadType;
  target.writeUInt16BE(header.sequence, at + 2);
  target.writeUInt32BE(header.timestamp >>> 0, at + 4);
  target.writeUInt32BE(header.ssrc >>> 0, at + 8);
}

/** Distance of two numbers that wrap; negative if `to` is before `from`. */
export const sequenceStep = (from: number, to: number): number => ((to - from) << 16) >> 16;
export const timestampStep = (from: number, to: number): number => (to - from) | 0;

export const payloadLength = ({ head, body }: RtpPayload): number => head.length + body.length;

/** Copies only if there is a head. */
export const joinPayload = ({ head, body }: RtpPayload): Uint8Array =>
  head.length === 0 ? body : Buffer.concat([head, body]);
