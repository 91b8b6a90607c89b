/**
 * KLV metadata in an MPEG-2 transport stream (ISO/IEC 13818-1, MISB ST 1402), found beside a demultiplexer that does not
 * output it:
 * - asynchronous: stream type 0x06 with the registration descriptor `KLVA`; a PES packet has KLV, and often a PTS;
 * - synchronous: stream type 0x15 with a metadata descriptor; a PES packet has a PTS and cells with a header before the KLV.
 * Which one it is, is decided by the bytes: programs that copy streams mix them up. Safe for any bytes; memory is bounded.
 */

export interface KlvUnit {
  /** On the time line of the stream, in ticks of 90 kHz, without the wrap of 33 bits. Null: it has none. */
  readonly pts: number | null;
  /** When the last picture before it is shown; null before the first. */
  readonly picture: number | null;
  readonly data: Buffer;
}

export const TICKS_PER_SECOND = 90_000;
const PACKET_BYTES = 188;
const SYNC = 0x47;
const WRAP = 2 ** 33;
const KLV_STREAM_TYPES = new Set([0x06, 0x15]);
/** MPEG-1 and -2, MPEG-4, H.264, H.265. */
const VIDEO_STREAM_TYPES = new Set([0x01, 0x02, 0x10, 0x1b, 0x24]);
const NO_PID = 0x1fff;
/** A PES packet of metadata is much smaller; one that is larger is damaged. */
const MAX_PES_BYTES = 2 ** 18;
const MAX_SECTION_BYTES = 1024;
const MAX_PROGRAMS = 64;
const MAX_STREAMS = 256;
/** Pictures at the start of a stream whose times are compared: with B-frames the first one is not shown first. */
const FIRST_PICTURES = 16;
const UNIVERSAL_LABEL = 0x060e2b34;
/** Service, sequence, flags and length of a cell. */
const CELL_BYTES = 5;

interface Pes {
  readonly parts: Buffer[];
  bytes: number;
}

export class KlvUnits {
  readonly #onUnit: (unit: KlvUnit) => void;
  #rest = Buffer.alloc(0);
  /** Sections of program maps by PID, as far as they have arrived. */
  readonly #maps = new Map<number, Buffer>();
  readonly #kinds = new Map<number, "klv" | "video">();
  readonly #pes = new Map<number, Pes>();
  readonly #counters = new Map<number, number>();
  #pictures = 0;
  #picture: number | null = null;
  /** The last time: others are placed near to it. */
  #reference: number | null = null;
  /** When the first picture is shown, and the last one so far; null before it. */
  firstPicture: number | null = null;
  lastPicture: number | null = null;

  constructor(onUnit: (unit: KlvUnit) => void) {
    this.#onUnit = onUnit;
  }

  /** The stream has, or had, metadata. */
  get hasKlv(): boolean {
    return [...this.#kinds.values()].includes("klv");
  }

  push(chunk: Buffer): void {
    const bytes = this.#rest.length === 0 ? chunk : Buffer.concat([this.#rest, chunk]);
    let at = 0;
    while (bytes.length - at >= PACKET_BYTES) {
      const next = bytes[at + PACKET_BYTES];
      if (bytes[at] !== SYNC || (next !== undefined && next !== SYNC)) at += 1;
      else {
        this.#takePacket(bytes.subarray(at, at + PACKET_BYTES));
        at += PACKET_BYTES;
      }
    }
    this.#rest = Buffer.from(bytes.subarray(at));
  }

  /** What has arrived of the last units, whose length may be unknown. */
  end(): void {
    for (const pid of [...this.#pes.keys()]) this.#finish(pid);
  }

  #takePacket(packet: Buffer): void {
    const [, second = 0, third = 0, fourth = 0, adaptation = 0] = packet;
    const pid = ((second & 0x1f) << 8) | third;
    // Damaged, or filling.
    if ((second & 0x80) !== 0 || pid === NO_PID) return;
    const hasAdaptation = (fourth & 0x20) !== 0;
    const from = hasAdaptation ? 5 + adaptation : 4;
    const kind = this.#kinds.get(pid);
    if ((fourth & 0x10) === 0 || from >= PACKET_BYTES || (pid !== 0 && !this.#maps.has(pid) && kind === undefined))
      return;
    const isStart = (second & 0x40) !== 0;
    const data = packet.subarray(from);
    if (kind === "video") {
      if (isStart) this.#readPicture(data);
      return;
    }
    const counter = fourth & 15;
    const before = this.#counters.get(pid);
    // A packet may be sent twice.
    if (before === counter) return;
    this.#counters.set(pid, counter);
    // What is incomplete because of a lost packet is dropped.
    if (before !== undefined && ((before + 1) & 15) !== counter) this.#pes.delete(pid);
    if (pid === 0) this.#readPrograms(isStart ? data.subarray(1 + (data[0] ?? 0)) : Buffer.alloc(0));
    else if (kind === "klv") this.#takePart(pid, data, isStart);
    else this.#takeSection(pid, data, isStart);
  }

  #readPrograms(section: Buffer): void {
    const end = endOf(section);
    if (section[0] !== 0 || end === null) return;
    for (let at = 8; at + 4 <= end && this.#maps.size < MAX_PROGRAMS; at += 4) {
      const pid = section.readUInt16BE(at + 2) & 0x1fff;
      if (section.readUInt16BE(at) !== 0 && !this.#maps.has(pid)) this.#maps.set(pid, Buffer.alloc(0));
    }
  }

  /** A map may be longer than a packet. */
  #takeSection(pid: number, data: Buffer, isStart: boolean): void {
    const known = this.#maps.get(pid) ?? Buffer.alloc(0);
    const section = isStart ? Buffer.from(data.subarray(1 + (data[0] ?? 0))) : Buffer.concat([known, data]);
    const end = endOf(section);
    if (end === null) this.#maps.set(pid, section.length > MAX_SECTION_BYTES ? Buffer.alloc(0) : section);
    else if (section[0] === 2) this.#readMap(section, end);
  }

  #readMap(section: Buffer, end: number): void {
    if (end < 12) return;
    for (let at = 12 + (section.readUInt16BE(10) & 0xfff); at + 5 <= end && this.#kinds.size < MAX_STREAMS; ) {
      const type = section[at] ?? 0;
      const pid = section.readUInt16BE(at + 1) & 0x1fff;
      const next = at + 5 + (section.readUInt16BE(at + 3) & 0xfff);
      const described = section.subarray(at + 5, Math.min(next, end));
      if (KLV_STREAM_TYPES.has(type) && described.includes("KLVA")) this.#kinds.set(pid, "klv");
      else if (VIDEO_STREAM_TYPES.has(type)) this.#kinds.set(pid, "video");
      at = next;
    }
  }

  #readPicture(data: Buffer): void {
    const pts = this.#readPts(data);
    if (pts === null) return;
    this.#picture = pts;
    this.lastPicture = Math.max(pts, this.lastPicture ?? pts);
    if (this.#pictures < FIRST_PICTURES) this.firstPicture = Math.min(pts, this.firstPicture ?? pts);
    this.#pictures += 1;
  }

  #takePart(pid: number, data: Buffer, isStart: boolean): void {
    if (isStart) {
      this.#finish(pid);
      this.#pes.set(pid, { parts: [], bytes: 0 });
    }
    const pes = this.#pes.get(pid);
    if (pes === undefined) return;
    pes.parts.push(Buffer.from(data));
    pes.bytes += data.length;
    const [head] = pes.parts;
    const length = head !== undefined && head.length >= 6 ? head.readUInt16BE(4) : 0;
    if (pes.bytes > MAX_PES_BYTES) this.#pes.delete(pid);
    // One of known length is output at once, and not with the start of the next.
    else if (length !== 0 && pes.bytes >= length + 6) this.#finish(pid);
  }

  #finish(pid: number): void {
    const pes = this.#pes.get(pid);
    this.#pes.delete(pid);
    if (pes === undefined) return;
    const bytes = Buffer.concat(pes.parts);
    if (bytes.length < 9 || bytes.readUIntBE(0, 3) !== 1) return;
    const pts = this.#readPts(bytes);
    const length = bytes.readUInt16BE(4);
    const data = bytes.subarray(9 + (bytes[8] ?? 0), length === 0 ? bytes.length : Math.min(bytes.length, 6 + length));
    for (const unit of splitCells(data)) this.#onUnit({ pts, picture: this.#picture, data: unit });
  }

  #readPts(pes: Buffer): number | null {
    if (pes.length < 14 || pes.readUIntBE(0, 3) !== 1 || ((pes[7] ?? 0) & 0x80) === 0) return null;
    const high = ((pes[9] ?? 0) >> 1) & 7;
    return this.#unwrap(high * 2 ** 30 + (pes.readUInt16BE(10) >> 1) * 2 ** 15 + (pes.readUInt16BE(12) >> 1));
  }

  /** The time that is nearest to the last one. */
  #unwrap(ticks: number): number {
    const near = this.#reference ?? ticks;
    this.#reference = ticks + Math.round((near - ticks) / WRAP) * WRAP;
    return this.#reference;
  }
}

/** Where the content of a section ends, before its CRC; null if it has not arrived completely. */
function endOf(section: Buffer): number | null {
  if (section.length < 3) return null;
  const whole = 3 + (section.readUInt16BE(1) & 0xfff);
  return whole > section.length ? null : whole - 4;
}

function splitCells(data: Buffer): readonly Buffer[] {
  const isKlv = data.length < CELL_BYTES + 4 || data.readUInt32BE(0) === UNIVERSAL_LABEL;
  if (isKlv || data.readUInt32BE(CELL_BYTES) !== UNIVERSAL_LABEL) return [data];
  const units: Buffer[] = [];
  for (let at = 0; at + CELL_BYTES <= data.length; ) {
    const end = at + CELL_BYTES + data.readUInt16BE(at + 3);
    units.push(data.subarray(at + CELL_BYTES, Math.min(end, data.length)));
    at = end;
  }
  return units;
}
