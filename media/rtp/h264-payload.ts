/** H.264 into RTP payloads (RFC 6184, packetization-mode 1): single NAL units, STAP-A for small ones, FU-A for large. */
import { NO_HEAD, type RtpPayload } from "./payload.ts";

const STAP_A = 24;
const FU_A = 28;
const START = 0x80;
const END = 0x40;
const FU_HEAD_BYTES = 2;
/** Larger ones are not worth the copy into an aggregate. */
const SMALL_BYTES = 512;

/** The payloads of one picture, none above `maxBytes`. The last one's packet is to be marked. */
export function packetise(nals: readonly Uint8Array[], maxBytes: number): RtpPayload[] {
  const payloads: RtpPayload[] = [];
  let at = 0;
  while (at < nals.length) {
    const nal = nals[at] as Uint8Array;
    const count = countSmall(nals, at, maxBytes);
    if (count > 1) {
      payloads.push({ head: NO_HEAD, body: aggregate(nals.slice(at, at + count)) });
      at += count;
      continue;
    }
    if (nal.length > maxBytes) split(nal, maxBytes, payloads);
    else if (nal.length > 0) payloads.push({ head: NO_HEAD, body: nal });
    at++;
  }
  return payloads;
}

/** How many from `at` on go into one aggregate. */
function countSmall(nals: readonly Uint8Array[], at: number, maxBytes: number): number {
  let bytes = 1;
  let count = 0;
  for (let i = at; i < nals.length; i++, count++) {
    const length = (nals[i] as Uint8Array).length;
    bytes += 2 + length;
    if (length === 0 || length > SMALL_BYTES || bytes > maxBytes) break;
  }
  return count;
}

function aggregate(nals: readonly Uint8Array[]): Uint8Array {
  const bytes = Buffer.allocUnsafe(nals.reduce((sum, nal) => sum + 2 + nal.length, 1));
  // 5.7.1: the F bit of any, and the highest NRI of all.
  let importance = 0;
  let forbidden = 0;
  let at = 1;
  for (const nal of nals) {
    const header = nal[0] as number;
    importance = Math.max(importance, header & 0x60);
    forbidden |= header & 0x80;
    at = bytes.writeUInt16BE(nal.length, at);
    bytes.set(nal, at);
    at += nal.length;
  }
  bytes[0] = forbidden | importance | STAP_A;
  return bytes;
}

function split(nal: Uint8Array, maxBytes: number, payloads: RtpPayload[]): void {
  const header = nal[0] as number;
  const indicator = (header & 0xe0) | FU_A;
  const type = header & 0x1f;
  const step = maxBytes - FU_HEAD_BYTES;
  const middle = Uint8Array.of(indicator, type);
  for (let at = 1; at < nal.length; at += step) {
    const end = Math.min(at + step, nal.length);
    const isFirst = at === 1;
    const isLast = end === nal.length;
    const head = isFirst || isLast ? Uint8Array.of(indicator, type | (isFirst ? START : isLast ? END : 0)) : middle;
    payloads.push({ head, body: nal.subarray(at, end) });
  }
}
