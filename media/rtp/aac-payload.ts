/** AAC into RTP payloads and back (RFC 3640, mode AAC-hbr): an access unit header of 13 bits of size and 3 of index. */
import type { RtpPayload } from "./payload.ts";

const HEADER_BITS = 16;
const INDEX_BITS = 3;
/** What 13 bits can tell. */
export const AAC_FRAME_BYTES = 8191;

/** The payloads of one frame; more than one only where it is above `maxBytes`. Nothing of a frame that cannot be told. */
export function packetiseAac(frame: Uint8Array, maxBytes: number): RtpPayload[] {
  if (frame.length > AAC_FRAME_BYTES) return [];
  const head = Buffer.allocUnsafe(4);
  head.writeUInt16BE(HEADER_BITS, 0);
  head.writeUInt16BE(frame.length << INDEX_BITS, 2);
  const step = maxBytes - head.length;
  const payloads: RtpPayload[] = [];
  for (let at = 0; at < frame.length; at += step) {
    payloads.push({ head, body: frame.subarray(at, Math.min(at + step, frame.length)) });
  }
  return payloads;
}
