/** RTP packets (RFC 3550, 5.1). What is read shares the bytes it was read from. */

export interface RtpPacket {
  /** Of a picture's last packet. */
  readonly marker: boolean;
  readonly payloadType: number;
  readonly sequence: number;
  readonly timestamp: number;
  readonly ssrc: number;
  readonly payload: Uint8Array;
}

export interface RtpHeader {
  readonly marker: boolean;
  readonly payloadType: number;
  readonly sequence: number;
  readonly timestamp: number;
  readonly ssrc: number;
}

export const RTP_HEADER_BYTES = 12;
const VERSION = 2;

/** Null for what is no RTP packet. */
export function readRtp(bytes: Uint8Array): RtpPacket | null {
  if (bytes.length < RTP_HEADER_BYTES) return null;
  const view = new DataView(bytes.buffer, bytes.byteOffset, bytes.byteLength);
  const flags = view.getUint8(0);
  if (flags >> 6 !== VERSION) return null;
  let begin = RTP_HEADER_BYTES + (flags & 0x0f) * 4;
  if ((flags & 0x10) !== 0) {
    if (begin + 4 > bytes.length) return null;
    begin += 4 + view.getUint16(begin + 2) * 4;
  }
  const end = bytes.length - ((flags & 0x20) !== 0 ? view.getUint8(bytes.length - 1) : 0);
  if (begin > end) return null;
  const kind = view.getUint8(1);
  return {
    marker: (kind & 0x80) !== 0,
    payloadType: kind & 0x7f,
    sequence: view.getUint16(2),
    timestamp: view.getUint32(4),
    ssrc: view.getUint32(8),
    payload: bytes.subarray(begin, end),
  };
}

/** Into `target` from `at` on, which must have room for `RTP_HEADER_BYTES`. */
export function writeRtpHeader(target: Buffer, at: number, header: RtpHeader): void {
  target[at] = VERSION << 6;
  target[at + 1] = (header.marker ? 0x80 : 0) | header.payloadType;
  target.writeUInt16BE(header.sequence, at + 2);
  target.writeUInt32BE(header.timestamp, at + 4);
  target.writeUInt32BE(header.ssrc, at + 8);
}

/** How far `to` is after `from`, of numbers that wrap: negative when it is before. */
export const sequenceStep = (from: number, to: number): number => ((to - from) << 16) >> 16;
export const timestampStep = (from: number, to: number): number => (to - from) | 0;
