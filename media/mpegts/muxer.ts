/**
 * Writes access units as an MPEG transport stream (ISO/IEC 13818-1) with one program: H.264 or H.265, AAC in ADTS, and KLV
 * metadata (MISB ST 1402).
 */
import { writeAdtsHeader } from "../aac/adts.ts";
import type { AccessUnit, KlvCarriage, TimedKlv, Tracks, VideoTrack } from "../access-unit.ts";
import { writeCellHeader } from "./klv-cells.ts";
import { NULL_PID, PAT_PID, STREAM_TYPE, SYNC, sectionCrc, TS_BYTES, toTicks, WRAP } from "./packet.ts";

const PMT_PID = 0x1000;
const VIDEO_PID = 0x100;
const AUDIO_PID = 0x101;
const KLV_PID = 0x102;
const VIDEO_STREAM_ID = 0xe0;
const AUDIO_STREAM_ID = 0xc0;
const PROGRAM = 1;
/** The tables are repeated at least this often, for receivers that join. */
const TABLES_US = 400_000;
/** Timestamps begin here, so that those of pictures before the first one are positive. */
const START_TICKS = 90_000;
/** The clock (PCR) is this far behind DTS: the time that receivers have for a picture. */
const CLOCK_LEAD_TICKS = 9_000;
const START_CODE = Buffer.from([0, 0, 0, 1]);

const KLV: Readonly<
  Record<KlvCarriage, { readonly type: number; readonly streamId: number; readonly descriptors: string }>
> = {
  // Metadata application format 0x0100, format KLVA, service 0; and the descriptor of the decoder's buffer.
  synchronous: {
    type: STREAM_TYPE.metadata,
    streamId: 0xfc,
    descriptors: "26090100ff4b4c5641000f2709c00000c00000c00000",
  },
  asynchronous: { type: STREAM_TYPE.private, streamId: 0xbd, descriptors: "05044b4c5641" },
};

interface VideoFormat {
  readonly type: number;
  /** Access unit delimiter with its start code. */
  readonly delimiter: Buffer;
}

const VIDEO: Readonly<Record<VideoTrack["codec"], VideoFormat>> = {
  h264: { type: STREAM_TYPE.h264, delimiter: Buffer.from([0, 0, 0, 1, 9, 0xf0]) },
  h265: { type: STREAM_TYPE.h265, delimiter: Buffer.from([0, 0, 0, 1, 0x46, 1, 0x50]) },
};

export class TsMuxer {
  readonly #continuity = new Map<number, number>();
  #tracks: Tracks;
  #version = 0;
  #tablesUs: number | null = null;
  /** Of the cells of metadata. */
  #sequence = 0;

  constructor(tracks: Tracks) {
    this.#tracks = tracks;
  }

  /** From the next unit on, which is a keyframe. */
  setTracks(tracks: Tracks): void {
    this.#tracks = tracks;
    this.#version = (this.#version + 1) & 0x1f;
    this.#tablesUs = null;
  }

  /** Whole packets. `times`: instead of those of the unit. Metadata is before its picture. */
  write(unit: AccessUnit, times: Pick<AccessUnit, "ptsUs" | "dtsUs"> = unit): Buffer {
    const { dtsUs, ptsUs } = times;
    const packets: Buffer[] = [];
    const isDue = this.#tablesUs === null || Math.abs(dtsUs - this.#tablesUs) >= TABLES_US;
    if (isDue || (unit.kind === "video" && unit.isKey)) {
      this.#tablesUs = dtsUs;
      packets.push(this.#writeTable(PAT_PID, this.#pat()), this.#writeTable(PMT_PID, this.#pmt()));
    }
    const pts = START_TICKS + toTicks(ptsUs);
    const dts = START_TICKS + toTicks(dtsUs);
    if (this.#tracks.klv !== undefined)
      for (const klv of unit.klv ?? []) packets.push(...this.#writeKlv(this.#tracks.klv, klv, ptsUs - unit.ptsUs));
    if (unit.kind === "video") {
      const { delimiter } = VIDEO[this.#tracks.video.codec];
      const data = [delimiter, ...unit.parts.flatMap((nal) => [START_CODE, nal])];
      packets.push(...this.#writePes(VIDEO_PID, VIDEO_STREAM_ID, pts, dts, data, unit.isKey));
    } else if (this.#tracks.audio !== null) {
      const { config } = this.#tracks.audio;
      const data = unit.parts.flatMap((frame) => [writeAdtsHeader(config, frame.length), frame]);
      packets.push(...this.#writePes(AUDIO_PID, AUDIO_STREAM_ID, pts, pts, data, false));
    }
    return Buffer.concat(packets);
  }

  #writeKlv(carriage: KlvCarriage, { ptsUs, data }: TimedKlv, shiftUs: number): Buffer[] {
    const pts = START_TICKS + toTicks(ptsUs + shiftUs);
    const header = writeCellHeader(this.#sequence, data.length);
    this.#sequence = (this.#sequence + 1) & 0xff;
    const parts = carriage === "synchronous" ? [header, data] : [data];
    return this.#writePes(KLV_PID, KLV[carriage].streamId, pts, pts, parts, false);
  }

  #writePes(
    pid: number,
    streamId: number,
    pts: number,
    dts: number,
    data: readonly Uint8Array[],
    isKey: boolean,
  ): Buffer[] {
    const isVideo = pid === VIDEO_PID;
    const header = writePesHeader(
      streamId,
      pts,
      dts,
      isVideo ? null : data.reduce((sum, part) => sum + part.length, 0),
    );
    const payload = Buffer.concat([header, ...data]);
    const packets: Buffer[] = [];
    for (let at = 0; at < payload.length; ) {
      const isStart = at === 0;
      const clock = isVideo && isStart ? writeClock(dts - CLOCK_LEAD_TICKS, isKey) : null;
      const room = TS_BYTES - 4 - (clock === null ? 0 : clock.length + 1);
      const part = payload.subarray(at, at + room);
      packets.push(this.#writePacket(pid, isStart, part, clock));
      at += part.length;
    }
    return packets;
  }

  /** `adaptation`: its flags and fields, without its length. Stuffing fills the packet. */
  #writePacket(pid: number, isStart: boolean, payload: Uint8Array, adaptation: Buffer | null): Buffer {
    const continuity = ((this.#continuity.get(pid) ?? -1) + 1) & 0x0f;
    this.#continuity.set(pid, continuity);
    const packet = Buffer.alloc(TS_BYTES, 0xff);
    const spare = TS_BYTES - 4 - payload.length;
    packet[0] = SYNC;
    packet.writeUInt16BE((isStart ? 0x4000 : 0) | pid, 1);
    packet[3] = (spare > 0 ? 0x30 : 0x10) | continuity;
    if (spare > 0) {
      packet[4] = spare - 1;
      if (spare > 1) packet[5] = 0;
      adaptation?.copy(packet, 5);
    }
    packet.set(payload, TS_BYTES - payload.length);
    return packet;
  }

  #writeTable(pid: number, body: Buffer): Buffer {
    const section = Buffer.alloc(body.length + 4);
    body.copy(section);
    section.writeUInt16BE(0xb000 | (section.length - 3), 1);
    section.writeUInt32BE(sectionCrc(section.subarray(0, body.length)), body.length);
    // Sections are filled with 0xff, not with an adaptation field.
    const payload = Buffer.alloc(TS_BYTES - 4, 0xff);
    payload[0] = 0;
    section.copy(payload, 1);
    return this.#writePacket(pid, true, payload, null);
  }

  #pat(): Buffer {
    const table = Buffer.from([0, 0, 0, 0, 1, 0xc1, 0, 0, 0, 0, 0, 0]);
    table.writeUInt16BE(PROGRAM, 8);
    table.writeUInt16BE(0xe000 | PMT_PID, 10);
    return table;
  }

  #pmt(): Buffer {
    const { video, audio, klv } = this.#tracks;
    const table = Buffer.from([2, 0, 0, 0, PROGRAM, 0xc1 | (this.#version << 1), 0, 0, 0, 0, 0xf0, 0]);
    table.writeUInt16BE(0xe000 | VIDEO_PID, 8);
    const entry = (type: number, pid: number, descriptors = ""): Buffer => {
      const bytes = Buffer.from([type, 0, 0, 0xf0, descriptors.length / 2]);
      bytes.writeUInt16BE(0xe000 | (pid & NULL_PID), 1);
      return Buffer.concat([bytes, Buffer.from(descriptors, "hex")]);
    };
    return Buffer.concat([
      table,
      entry(VIDEO[video.codec].type, VIDEO_PID),
      ...(audio === null ? [] : [entry(STREAM_TYPE.adts, AUDIO_PID)]),
      ...(klv === undefined ? [] : [entry(KLV[klv].type, KLV_PID, KLV[klv].descriptors)]),
    ]);
  }
}

/** Flags (random access, PCR) and the PCR. */
function writeClock(ticks: number, isKey: boolean): Buffer {
  const base = ((ticks % WRAP) + WRAP) % WRAP;
  const bytes = Buffer.alloc(7);
  bytes[0] = isKey ? 0x50 : 0x10;
  bytes.writeUInt32BE(Math.floor(base / 2), 1);
  bytes.writeUInt16BE((base % 2) * 0x8000 + 0x7e00, 5);
  return bytes;
}

/** `dataBytes`: null if the length is not stated, which only video may do. */
function writePesHeader(streamId: number, pts: number, dts: number, dataBytes: number | null): Buffer {
  const hasDts = dts !== pts;
  const fields = hasDts ? 10 : 5;
  const header = Buffer.alloc(9 + fields);
  header[2] = 1;
  header[3] = streamId;
  const length = dataBytes === null ? 0 : 3 + fields + dataBytes;
  header.writeUInt16BE(length > 0xffff ? 0 : length, 4);
  // Aligned to the start of an access unit.
  header[6] = 0x84;
  header[7] = hasDts ? 0xc0 : 0x80;
  header[8] = fields;
  writeTimestamp(header, 9, hasDts ? 3 : 2, pts);
  if (hasDts) writeTimestamp(header, 14, 1, dts);
  return header;
}

function writeTimestamp(bytes: Buffer, at: number, prefix: number, ticks: number): void {
  const value = ((ticks % WRAP) + WRAP) % WRAP;
  bytes[at] = (prefix << 4) | (Math.floor(value / 2 ** 30) << 1) | 1;
  bytes.writeUInt16BE((Math.floor(value / 2 ** 15) % 2 ** 15) * 2 + 1, at + 1);
  bytes.writeUInt16BE((value % 2 ** 15) * 2 + 1, at + 3);
}
