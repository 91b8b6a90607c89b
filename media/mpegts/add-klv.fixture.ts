/** Adds KLV metadata to a transport stream that has video only, as the programs of drones do. */
import assert from "node:assert/strict";
import { sectionCrc } from "./packet.ts";

export interface TimedKlv {
  /** After the first picture. */
  readonly seconds: number;
  readonly data: Buffer;
}

/** `synchronous`: cells and PTS; `asynchronous`: PTS; `untimed`: neither. */
export type KlvKind = "synchronous" | "asynchronous" | "untimed";

const PACKET = 188;
const KLV_PID = 0x1f0;
/** Of synchronous metadata: application format 0x0100, format KLVA, service 0; of asynchronous: the registration KLVA. */
const STREAM = {
  synchronous: { type: 0x15, descriptor: "26090100ff4b4c5641000f", id: 0xfc },
  asynchronous: { type: 0x06, descriptor: "05044b4c5641", id: 0xbd },
  untimed: { type: 0x06, descriptor: "05044b4c5641", id: 0xbd },
} as const;

export function addKlv(ts: Buffer, units: readonly TimedKlv[], kind: KlvKind): Buffer {
  const { mapPid, videoPid, firstPts } = examine(ts);
  const waiting = [...units];
  const out: Buffer[] = [];
  let counter = 0;
  for (let at = 0; at + PACKET <= ts.length; at += PACKET) {
    const packet = ts.subarray(at, at + PACKET);
    const pid = packet.readUInt16BE(1) & 0x1fff;
    const pts = pid === videoPid ? ptsOf(packet) : null;
    while (pts !== null && waiting[0] !== undefined && waiting[0].seconds * 90_000 <= pts - firstPts) {
      const unit = waiting.shift() as TimedKlv;
      const pes = writePes(unit, kind, firstPts);
      for (let from = 0; from < pes.length; from += PACKET - 4) {
        out.push(writePacket(pes.subarray(from, from + PACKET - 4), from === 0, counter));
        counter = (counter + 1) & 15;
      }
    }
    out.push(pid === mapPid ? writeMap(packet, kind) : packet);
  }
  return Buffer.concat(out);
}

function examine(ts: Buffer) {
  let [mapPid, videoPid, firstPts] = [-1, -1, -1];
  for (let at = 0; at + PACKET <= ts.length && firstPts < 0; at += PACKET) {
    const packet = ts.subarray(at, at + PACKET);
    const pid = packet.readUInt16BE(1) & 0x1fff;
    if (pid === 0) mapPid = packet.readUInt16BE(payloadAt(packet) + 1 + 10) & 0x1fff;
    if (pid === mapPid) videoPid = findVideo(packet);
    if (pid === videoPid) firstPts = ptsOf(packet) ?? -1;
  }
  assert.ok(firstPts >= 0, "the stream has no video with a PTS");
  return { mapPid, videoPid, firstPts };
}

const payloadAt = (packet: Buffer): number => ((packet[3] ?? 0) & 0x20 ? 5 + (packet[4] ?? 0) : 4);

const sectionOf = (packet: Buffer): Buffer => {
  const from = payloadAt(packet);
  return packet.subarray(from + 1 + (packet[from] ?? 0));
};

function findVideo(packet: Buffer): number {
  const section = sectionOf(packet);
  const end = 3 + (section.readUInt16BE(1) & 0xfff) - 4;
  for (
    let at = 12 + (section.readUInt16BE(10) & 0xfff);
    at + 5 <= end;
    at += 5 + (section.readUInt16BE(at + 3) & 0xfff)
  )
    if (section[at] === 0x1b) return section.readUInt16BE(at + 1) & 0x1fff;
  return assert.fail("the stream has no H.264");
}

function ptsOf(packet: Buffer): number | null {
  if (((packet[1] ?? 0) & 0x40) === 0) return null;
  const pes = packet.subarray(payloadAt(packet));
  if (pes.readUIntBE(0, 3) !== 1 || ((pes[7] ?? 0) & 0x80) === 0) return null;
  return (((pes[9] ?? 0) >> 1) & 7) * 2 ** 30 + (pes.readUInt16BE(10) >> 1) * 2 ** 15 + (pes.readUInt16BE(12) >> 1);
}

function writeMap(packet: Buffer, kind: KlvKind): Buffer {
  const section = sectionOf(packet);
  const end = 3 + (section.readUInt16BE(1) & 0xfff) - 4;
  const descriptor = Buffer.from(STREAM[kind].descriptor, "hex");
  const entry = Buffer.alloc(5);
  entry[0] = STREAM[kind].type;
  entry.writeUInt16BE(0xe000 | KLV_PID, 1);
  entry.writeUInt16BE(0xf000 | descriptor.length, 3);
  const body = Buffer.concat([section.subarray(0, end), entry, descriptor]);
  body.writeUInt16BE(0xb000 | (body.length + 4 - 3), 1);
  const crc = Buffer.alloc(4);
  crc.writeUInt32BE(sectionCrc(body));
  const head = Buffer.concat([packet.subarray(0, 4), Buffer.from([0])]);
  // Without an adaptation field.
  head[3] = ((head[3] ?? 0) & 0x0f) | 0x10;
  const whole = Buffer.concat([head, body, crc]);
  assert.ok(whole.length <= PACKET, "the map does not fit into one packet");
  return Buffer.concat([whole, Buffer.alloc(PACKET - whole.length, 0xff)]);
}

function writePes({ seconds, data }: TimedKlv, kind: KlvKind, firstPts: number): Buffer {
  const cell = Buffer.alloc(5);
  cell.writeUInt8(0xdf, 2);
  cell.writeUInt16BE(data.length, 3);
  const payload = kind === "synchronous" ? Buffer.concat([cell, data]) : data;
  const times = kind === "untimed" ? Buffer.alloc(0) : writePts(firstPts + Math.round(seconds * 90_000));
  const head = Buffer.from([0, 0, 1, STREAM[kind].id, 0, 0, 0x80, times.length === 0 ? 0 : 0x80, times.length]);
  head.writeUInt16BE(3 + times.length + payload.length, 4);
  return Buffer.concat([head, times, payload]);
}

function writePts(pts: number): Buffer {
  const ticks = pts % 2 ** 33;
  const bytes = Buffer.alloc(5);
  bytes[0] = 0x21 | ((Math.floor(ticks / 2 ** 30) & 7) << 1);
  bytes.writeUInt16BE((((Math.floor(ticks / 2 ** 15) & 0x7fff) << 1) | 1) & 0xffff, 1);
  bytes.writeUInt16BE((((ticks % 2 ** 15) << 1) | 1) & 0xffff, 3);
  return bytes;
}

/** Shorter payloads are preceded by stuffing in an adaptation field. */
function writePacket(payload: Buffer, isStart: boolean, counter: number): Buffer {
  const room = PACKET - 4 - payload.length;
  const head = Buffer.from([0x47, 0, 0, counter | (room > 0 ? 0x30 : 0x10)]);
  head.writeUInt16BE((isStart ? 0x4000 : 0) | KLV_PID, 1);
  const stuffing = Buffer.alloc(room, 0xff);
  if (room > 0) stuffing[0] = room - 1;
  if (room > 1) stuffing[1] = 0;
  return Buffer.concat([head, stuffing, payload]);
}
