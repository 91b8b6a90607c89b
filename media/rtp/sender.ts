/** The RTP stream of one track to one receiver: own sequence numbers, timestamps and counters; shared coded bytes. */

import { randomBytes } from "node:crypto";
import type { AccessUnit, Tracks } from "../access-unit.ts";
import { codecOf } from "../codecs.ts";
import { payloadAac } from "./aac.ts";
import { payloadNals } from "./nal-units.ts";
import { PAYLOAD_BYTES, payloadLength, RTP_HEADER_BYTES, type RtpPayload, writeRtpHeader } from "./packet.ts";
import { writeBye, writeSenderReport } from "./rtcp.ts";

/** Header of a packet interleaved into an RTSP connection (RFC 2326, 10.12). */
const INTERLEAVED_BYTES = 4;
const DOLLAR = 0x24;
const WRAP = 2 ** 32;

const payloadCache = new WeakMap<AccessUnit, readonly RtpPayload[]>();

/** The payloads of a unit, created once for all receivers. */
export function payloadsOf(unit: AccessUnit, { video }: Pick<Tracks, "video">): readonly RtpPayload[] {
  const cached = payloadCache.get(unit);
  if (cached !== undefined) return cached;
  const payloads =
    unit.kind === "video"
      ? payloadNals(codecOf(video), unit.parts, PAYLOAD_BYTES)
      : unit.parts.flatMap((frame) => payloadAac(frame, PAYLOAD_BYTES));
  payloadCache.set(unit, payloads);
  return payloads;
}

export class RtpSender {
  readonly payloadType: number;
  readonly clockRate: number;
  readonly ssrc: number;
  readonly #base: number;
  #sequence: number;
  #packets = 0;
  #bytes = 0;

  constructor(payloadType: number, clockRate: number) {
    this.payloadType = payloadType;
    this.clockRate = clockRate;
    const random = randomBytes(10);
    this.ssrc = random.readUInt32BE(0);
    this.#base = random.readUInt32BE(4);
    this.#sequence = random.readUInt16BE(8);
  }

  /** Of the next packet. */
  get sequence(): number {
    return this.#sequence;
  }

  timestampOf(timeUs: number): number {
    const ticks = this.#base + Math.round((timeUs * this.clockRate) / 1_000_000);
    return ((ticks % WRAP) + WRAP) % WRAP;
  }

  /**
   * Returns two pieces per packet: its headers, and the body of its payload. With a `channel`, each packet is framed for an
   * RTSP connection.
   */
  write(payloads: readonly RtpPayload[], timeUs: number, channel: number | null): Uint8Array[] {
    const timestamp = this.timestampOf(timeUs);
    const prefixBytes = channel === null ? 0 : INTERLEAVED_BYTES;
    const fixedBytes = prefixBytes + RTP_HEADER_BYTES;
    let headBytes = 0;
    for (const { head } of payloads) headBytes += fixedBytes + head.length;
    const heads = Buffer.allocUnsafe(headBytes);
    const pieces: Uint8Array[] = [];
    let at = 0;
    for (const [i, payload] of payloads.entries()) {
      const begin = at;
      const length = payloadLength(payload);
      if (channel !== null) writeFrameHead(heads, at, channel, RTP_HEADER_BYTES + length);
      at += prefixBytes;
      writeRtpHeader(heads, at, {
        marker: i === payloads.length - 1,
        payloadType: this.payloadType,
        sequence: this.#sequence,
        timestamp,
        ssrc: this.ssrc,
      });
      at += RTP_HEADER_BYTES;
      heads.set(payload.head, at);
      at += payload.head.length;
      pieces.push(heads.subarray(begin, at), payload.body);
      this.#sequence = (this.#sequence + 1) & 0xffff;
      this.#packets++;
      this.#bytes += length;
    }
    return pieces;
  }

  /** `unixMs`: capture time of the unit at `timeUs`. */
  report(unixMs: number, timeUs: number): Buffer {
    const timestamp = this.timestampOf(timeUs);
    return writeSenderReport({ ssrc: this.ssrc, unixMs, timestamp, packets: this.#packets, bytes: this.#bytes });
  }

  bye(unixMs: number, timeUs: number): Buffer {
    return Buffer.concat([this.report(unixMs, timeUs), writeBye(this.ssrc)]);
  }
}

function writeFrameHead(target: Buffer, at: number, channel: number, length: number): void {
  target[at] = DOLLAR;
  target[at + 1] = channel;
  target.writeUInt16BE(length, at + 2);
}

/** Frames a packet for an RTSP connection. */
export function interleave(channel: number, packet: Uint8Array): Buffer {
  const bytes = Buffer.allocUnsafe(INTERLEAVED_BYTES + packet.length);
  writeFrameHead(bytes, 0, channel, packet.length);
  bytes.set(packet, INTERLEAVED_BYTES);
  return bytes;
}
