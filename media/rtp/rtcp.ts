/** Reads and writes RTCP (RFC 3550, 6; feedback by RFC 4585). */

export interface SenderReport {
  readonly ssrc: number;
  /** Unix time, with a fraction, that corresponds to `timestamp`. */
  readonly unixMs: number;
  readonly timestamp: number;
  /** The middle 32 bits of the NTP time, which a receiver report repeats. */
  readonly stamp: number;
}

export interface Sent {
  readonly ssrc: number;
  readonly unixMs: number;
  readonly timestamp: number;
  readonly packets: number;
  readonly bytes: number;
}

export interface Received {
  /** Of the receiver, and of the sender that the report is about. */
  readonly ssrc: number;
  readonly senderSsrc: number;
  /** In 1/256 since the last report, and the total. */
  readonly fractionLost: number;
  readonly lost: number;
  readonly highest: number;
  readonly jitter: number;
  /** Of the last sender report, and the time since. 0 without one. */
  readonly stamp: number;
  readonly sinceMs: number;
}

/** What a viewer reports. */
export interface Feedback {
  /** Sequence numbers of packets to send again. */
  readonly lost: readonly number[];
  readonly isBye: boolean;
}

const SENDER = 200;
const RECEIVER = 201;
const DESCRIPTION = 202;
const BYE = 203;
const TRANSPORT_FEEDBACK = 205;
const GENERIC_NACK = 1;
const PAYLOAD_FEEDBACK = 206;
const PICTURE_LOSS = 1;
/** From one compound packet. */
const MAX_LOST = 512;
/** Seconds from 1900 to 1970. */
const NTP_OFFSET_SECONDS = 2_208_988_800;
const FRACTION = 2 ** 32;
const CNAME = 1;

/** The last sender report of a compound packet. Null without one, or if the packet is invalid. */
export function readSenderReport(bytes: Uint8Array): SenderReport | null {
  const view = new DataView(bytes.buffer, bytes.byteOffset, bytes.byteLength);
  let report: SenderReport | null = null;
  let at = 0;
  while (at + 4 <= bytes.length) {
    const end = at + 4 + view.getUint16(at + 2) * 4;
    if (view.getUint8(at) >> 6 !== 2 || end > bytes.length) return null;
    if (view.getUint8(at + 1) === SENDER && end - at >= 28) {
      const seconds = view.getUint32(at + 8);
      const fraction = view.getUint32(at + 12);
      report = {
        ssrc: view.getUint32(at + 4),
        unixMs: (seconds - NTP_OFFSET_SECONDS + fraction / FRACTION) * 1000,
        timestamp: view.getUint32(at + 16),
        stamp: (((seconds & 0xffff) << 16) | (fraction >>> 16)) >>> 0,
      };
    }
    at = end;
  }
  return report;
}

/** Reads an authenticated compound packet as far as it is valid. */
export function readFeedback(packet: Buffer): Feedback {
  const lost: number[] = [];
  let isBye = false;
  for (let at = 0; at + 4 <= packet.length; ) {
    const count = (packet[at] as number) & 0x1f;
    const type = packet[at + 1];
    const end = at + 4 + packet.readUInt16BE(at + 2) * 4;
    if (end > packet.length) break;
    if (type === BYE) isBye = true;
    else if (type === TRANSPORT_FEEDBACK && count === GENERIC_NACK) readLost(packet, at + 12, end, lost);
    at = end;
  }
  return { lost, isBye };
}

/** RFC 4585, 6.2.1: a sequence number, and one bit for each of the next 16. */
function readLost(packet: Buffer, begin: number, end: number, lost: number[]): void {
  for (let at = begin; at + 4 <= end; at += 4) {
    const first = packet.readUInt16BE(at);
    const others = packet.readUInt16BE(at + 2);
    for (let i = 0; i <= 16; i++) {
      const isLost = i === 0 || (others >> (i - 1)) & 1;
      if (isLost && lost.length < MAX_LOST) lost.push((first + i) & 0xffff);
    }
  }
}

export function writeSenderReport({ ssrc, unixMs, timestamp, packets, bytes }: Sent): Buffer {
  const report = Buffer.alloc(28);
  begin(report, 0, SENDER, ssrc);
  const seconds = Math.floor(unixMs / 1000);
  report.writeUInt32BE((seconds + NTP_OFFSET_SECONDS) % FRACTION, 8);
  report.writeUInt32BE(Math.floor((unixMs / 1000 - seconds) * FRACTION), 12);
  report.writeUInt32BE(timestamp >>> 0, 16);
  report.writeUInt32BE(packets % FRACTION, 20);
  report.writeUInt32BE(bytes % FRACTION, 24);
  return Buffer.concat([report, describe(ssrc)]);
}

export function writeReceiverReport(received: Received): Buffer {
  const report = Buffer.alloc(32);
  begin(report, 1, RECEIVER, received.ssrc);
  report.writeUInt32BE(received.senderSsrc >>> 0, 8);
  report[12] = Math.min(255, received.fractionLost);
  report.writeUIntBE(Math.min(received.lost, 0x7fffff), 13, 3);
  report.writeUInt32BE(received.highest % FRACTION, 16);
  report.writeUInt32BE(Math.min(Math.round(received.jitter), FRACTION - 1), 20);
  report.writeUInt32BE(received.stamp, 24);
  report.writeUInt32BE(Math.round(received.sinceMs * 65.536) % FRACTION, 28);
  return Buffer.concat([report, describe(received.ssrc)]);
}

/** Requests packets of `senderSsrc` again (RFC 4585, 6.2.1). */
export function writeNack(ssrc: number, senderSsrc: number, sequences: readonly number[]): Buffer {
  const items: { first: number; others: number }[] = [];
  for (const sequence of sequences) {
    const last = items.at(-1);
    const step = last === undefined ? 0 : (sequence - last.first) & 0xffff;
    if (last !== undefined && step >= 1 && step <= 16) last.others |= 1 << (step - 1);
    else items.push({ first: sequence, others: 0 });
  }
  const packet = Buffer.alloc(12 + items.length * 4);
  begin(packet, GENERIC_NACK, TRANSPORT_FEEDBACK, ssrc);
  packet.writeUInt32BE(senderSsrc >>> 0, 8);
  items.forEach(({ first, others }, i) => {
    packet.writeUInt16BE(first, 12 + i * 4);
    packet.writeUInt16BE(others, 14 + i * 4);
  });
  return packet;
}

/** Requests a keyframe (RFC 4585, 6.3.1). */
export function writePictureLoss(ssrc: number, senderSsrc: number): Buffer {
  const packet = Buffer.alloc(12);
  begin(packet, PICTURE_LOSS, PAYLOAD_FEEDBACK, ssrc);
  packet.writeUInt32BE(senderSsrc >>> 0, 8);
  return packet;
}

/** Must follow a report: a BYE is not a compound packet of its own. */
export function writeBye(ssrc: number): Buffer {
  const bye = Buffer.alloc(8);
  begin(bye, 1, BYE, ssrc);
  return bye;
}

function begin(packet: Buffer, count: number, type: number, ssrc: number): void {
  packet[0] = 0x80 | count;
  packet[1] = type;
  packet.writeUInt16BE(packet.length / 4 - 1, 2);
  packet.writeUInt32BE(ssrc, 4);
}

function describe(ssrc: number): Buffer {
  // One chunk with a CNAME, padded with at least one zero to a full word (6.5).
  const name = Buffer.from("windhover");
  const packet = Buffer.alloc(8 + Math.ceil((2 + name.length + 1) / 4) * 4);
  begin(packet, 1, DESCRIPTION, ssrc);
  packet[8] = CNAME;
  packet[9] = name.length;
  packet.set(name, 10);
  return packet;
}
