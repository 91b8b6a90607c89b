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

/**
 * The packets of a unit in one buffer, for all receivers: each with the head of a packet in an RTSP connection, an RTP header
 * and its payload. What differs between receivers is zero. One buffer and not a list of pieces: a receiver gets a copy of it
 * in one write.
 */
export interface PacketSet {
  readonly bytes: Buffer;
  /** Of each packet, and the end. */
  readonly starts: readonly number[];
}

const HEAD_BYTES = INTERLEAVED_BYTES + RTP_HEADER_BYTES;

/** A larger unit has a buffer of its own. */
const SHARED_BYTES = 262_144;
let shared: Buffer | null = null;
let last: { readonly unit: AccessUnit; readonly packets: PacketSet } | null = null;

/**
 * Created once for all receivers, which get a unit one after the other. To be copied at once: the packets of the next unit are
 * in the same memory.
 */
export function packetsOf(unit: AccessUnit, { video }: Pick<Tracks, "video">): PacketSet {
  if (last?.unit === unit) return last.packets;
  shared ??= Buffer.allocUnsafeSlow(SHARED_BYTES);
  const packets = layOut(
    unit.kind === "video"
      ? payloadNals(codecOf(video), unit.parts, PAYLOAD_BYTES)
      : unit.parts.flatMap((frame) => payloadAac(frame, PAYLOAD_BYTES)),
    shared,
  );
  last = { unit, packets };
  return packets;
}

/** The last packet has the marker. `target` is used if it is large enough. */
export function layOut(payloads: readonly RtpPayload[], target?: Buffer): PacketSet {
  let size = 0;
  for (const payload of payloads) size += HEAD_BYTES + payloadLength(payload);
  const bytes = target === undefined || size > target.length ? Buffer.allocUnsafe(size) : target.subarray(0, size);
  const starts: number[] = [];
  let at = 0;
  for (const payload of payloads) {
    starts.push(at);
    writeFrameHead(bytes, at, 0, RTP_HEADER_BYTES + payloadLength(payload));
    const marker = starts.length === payloads.length;
    writeRtpHeader(bytes, at + INTERLEAVED_BYTES, { marker, payloadType: 0, sequence: 0, timestamp: 0, ssrc: 0 });
    bytes.set(payload.head, at + HEAD_BYTES);
    bytes.set(payload.body, at + HEAD_BYTES + payload.head.length);
    at += HEAD_BYTES + payloadLength(payload);
  }
  return { bytes, starts: [...starts, at] };
}

/** The packets in such a buffer, without the head of an RTSP connection. */
export function* splitPackets({ bytes, starts }: PacketSet): Generator<Buffer> {
  for (let i = 0; i + 1 < starts.length; i++)
    yield bytes.subarray((starts[i] as number) + INTERLEAVED_BYTES, starts[i + 1] as number);
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
   * A copy of the packets for this receiver, in a channel of its RTSP connection. Over UDP, the channel is of no use.
   * `target`: where to copy them, of at least their size.
   */
  write({ bytes, starts }: PacketSet, timeUs: number, channel = 0, target?: Buffer): PacketSet {
    const timestamp = this.timestampOf(timeUs);
    const { ssrc, payloadType } = this;
    const copy = target === undefined ? Buffer.allocUnsafe(bytes.length) : target.subarray(0, bytes.length);
    bytes.copy(copy);
    let sequence = this.#sequence;
    const count = starts.length - 1;
    for (let i = 0; i < count; i++) {
      const at = starts[i] as number;
      const header = at + INTERLEAVED_BYTES;
      copy[at + 1] = channel;
      copy[header + 1] = (copy[header + 1] as number) | payloadType;
      copy[header + 2] = sequence >>> 8;
      copy[header + 3] = sequence;
      copy.writeUInt32BE(timestamp, header + 4);
      copy.writeUInt32BE(ssrc, header + 8);
      sequence = (sequence + 1) & 0xffff;
    }
    this.#sequence = sequence;
    this.#packets += count;
    this.#bytes += bytes.length - count * HEAD_BYTES;
    return { bytes: copy, starts };
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
