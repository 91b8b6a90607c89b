/** Reports of RTP (RFC 3550, 6): what sender and receiver tell each other about a stream. */

export interface SenderReport {
  readonly ssrc: number;
  /** Unix time, with a fraction, of what `timestamp` stands for. */
  readonly unixMs: number;
  readonly timestamp: number;
  /** The middle 32 bits of the NTP time, which a receiver report repeats. */
  readonly stamp: number;
}

export interface RtcpNews {
  readonly sender: SenderReport | null;
}

export interface Sent {
  readonly ssrc: number;
  readonly unixMs: number;
  readonly timestamp: number;
  readonly packets: number;
  readonly bytes: number;
}

export interface Received {
  /** Ours, and that of whom the report is about. */
  readonly ssrc: number;
  readonly senderSsrc: number;
  /** Of 256, since the last report; and all. */
  readonly fractionLost: number;
  readonly lost: number;
  readonly highest: number;
  readonly jitter: number;
  /** Of the last sender report, and how long ago it came. 0 for none. */
  readonly stamp: number;
  readonly sinceMs: number;
}

const SENDER = 200;
const RECEIVER = 201;
const DESCRIPTION = 202;
const BYE = 203;
/** From 1900 to 1970. */
const NTP_OFFSET_SECONDS = 2_208_988_800;
const FRACTION = 2 ** 32;
const CNAME = 1;

/** What a compound packet tells; null for what is none. */
export function readRtcp(bytes: Uint8Array): RtcpNews | null {
  const view = new DataView(bytes.buffer, bytes.byteOffset, bytes.byteLength);
  let sender: SenderReport | null = null;
  let at = 0;
  while (at + 4 <= bytes.length) {
    const end = at + 4 + view.getUint16(at + 2) * 4;
    if (view.getUint8(at) >> 6 !== 2 || end > bytes.length) return null;
    const type = view.getUint8(at + 1);
    if (type === SENDER && end - at >= 28) sender = readSender(view, at);
    at = end;
  }
  return at === 0 ? null : { sender };
}

function readSender(view: DataView, at: number): SenderReport {
  const seconds = view.getUint32(at + 8);
  const fraction = view.getUint32(at + 12);
  return {
    ssrc: view.getUint32(at + 4),
    unixMs: (seconds - NTP_OFFSET_SECONDS + fraction / FRACTION) * 1000,
    timestamp: view.getUint32(at + 16),
    stamp: (((seconds & 0xffff) << 16) | (fraction >>> 16)) >>> 0,
  };
}

export function writeSenderReport({ ssrc, unixMs, timestamp, packets, bytes }: Sent): Buffer {
  const report = Buffer.alloc(28);
  begin(report, 0, SENDER, ssrc);
  const seconds = Math.floor(unixMs / 1000);
  report.writeUInt32BE((seconds + NTP_OFFSET_SECONDS) % FRACTION, 8);
  report.writeUInt32BE(Math.floor((unixMs / 1000 - seconds) * FRACTION), 12);
  report.writeUInt32BE(timestamp, 16);
  report.writeUInt32BE(packets % FRACTION, 20);
  report.writeUInt32BE(bytes % FRACTION, 24);
  return Buffer.concat([report, describe(ssrc)]);
}

export function writeReceiverReport(received: Received): Buffer {
  const report = Buffer.alloc(32);
  begin(report, 1, RECEIVER, received.ssrc);
  report.writeUInt32BE(received.senderSsrc, 8);
  report[12] = Math.min(255, received.fractionLost);
  report.writeUIntBE(Math.min(received.lost, 0x7fffff), 13, 3);
  report.writeUInt32BE(received.highest % FRACTION, 16);
  report.writeUInt32BE(Math.min(Math.round(received.jitter), FRACTION - 1), 20);
  report.writeUInt32BE(received.stamp, 24);
  report.writeUInt32BE(Math.round(received.sinceMs * 65.536) % FRACTION, 28);
  return Buffer.concat([report, describe(received.ssrc)]);
}

/** The sender leaves. Goes after a report, as a packet of its own may not. */
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
  // One chunk with a name, ended by at least one zero up to a full word (6.5).
  const name = Buffer.from("windhover");
  const packet = Buffer.alloc(8 + Math.ceil((2 + name.length + 1) / 4) * 4);
  begin(packet, 1, DESCRIPTION, ssrc);
  packet[8] = CNAME;
  packet[9] = name.length;
  packet.set(name, 10);
  return packet;
}
