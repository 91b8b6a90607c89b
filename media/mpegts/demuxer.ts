/**
 * Demultiplexes an MPEG transport stream (ISO/IEC 13818-1) of any origin: finds the first program and passes on the PES packets
 * of its elementary streams, with timestamps that continue where their 33 bits wrap. Buffers are bounded, whatever arrives.
 */
import { MediaError } from "../access-unit.ts";
import { isKlv, MAX_KLV_BYTES } from "./klv-cells.ts";
import { NULL_PID, PAT_PID, SYNC, sectionCrc, TS_BYTES, toUs, WRAP } from "./packet.ts";

export interface ElementaryStream {
  readonly pid: number;
  /** `stream_type` of the PMT. */
  readonly type: number;
  /** `format_identifier` of the registration descriptor, or of the metadata descriptor: `HEVC`, `KLVA`. */
  readonly format: string | null;
}

export interface PesPacket {
  readonly stream: ElementaryStream;
  /** Null: not sent. */
  readonly ptsUs: number | null;
  readonly dtsUs: number | null;
  /** `now()` when its first byte arrived. */
  readonly arrivedMs: number;
  readonly data: Uint8Array;
  /** Packets of this stream before it are missing. */
  readonly isAfterLoss: boolean;
}

export interface DemuxerOptions {
  /** Maximum size of a PES packet; a larger one throws, or is dropped if it is metadata. */
  readonly unitBytes: number;
  /** An input that has no sync bytes for this long is not a transport stream, and throws. */
  readonly junkBytes?: number;
  /** Streams of the program, before the first packet and after changes. Returns those to pass on. */
  onStreams(streams: readonly ElementaryStream[]): Iterable<ElementaryStream>;
  /** A PES packet begins. False: it is not collected, and not passed on. */
  onBegin?(stream: ElementaryStream, ptsUs: number | null): boolean;
  onPacket(packet: PesPacket): void;
  /** Default: Unix time. */
  now?(): number;
}

/** A section has at most 1024 bytes; it may begin after up to 255 others. */
const SECTION_BYTES = 1024;
const MAX_JUNK_BYTES = 64 * 1024;
const MAX_STREAMS = 32;
const REGISTRATION = 0x05;
const METADATA = 0x26;
const PAT_TABLE = 0;
const PMT_TABLE = 2;
/** PES header with both timestamps, at most. */
const PES_HEADER_BYTES = 9 + 255;

interface Assembly {
  readonly stream: ElementaryStream;
  parts: Uint8Array[];
  bytes: number;
  /** Of the packet with its length field; 0: up to the start of the next one. */
  expectedBytes: number;
  arrivedMs: number;
  continuity: number | null;
  /** False: its beginning is missing. */
  isOpen: boolean;
  isAfterLoss: boolean;
}

interface Section {
  parts: Uint8Array;
  continuity: number | null;
}

export class TsDemuxer {
  readonly #options: DemuxerOptions;
  readonly #now: () => number;
  readonly #maxJunkBytes: number;
  readonly #assemblies = new Map<number, Assembly>();
  readonly #sections = new Map<number, Section>([[PAT_PID, { parts: new Uint8Array(0), continuity: null }]]);
  #pmtPid: number | null = null;
  /** The last PMT, to skip repetitions. */
  #pmt: Uint8Array = new Uint8Array(0);
  #rest: Uint8Array = new Uint8Array(0);
  #junkBytes = 0;
  /** Of the last timestamp, not wrapped. */
  #ticks: number | null = null;
  /** TS packets that are missing by their continuity counters, and those marked as damaged. */
  lost = 0;

  constructor(options: DemuxerOptions) {
    this.#options = options;
    this.#now = options.now ?? Date.now;
    this.#maxJunkBytes = options.junkBytes ?? MAX_JUNK_BYTES;
  }

  /** Any part of the stream. Throws a `MediaError` if it is not a transport stream, or its packets are too large. */
  push(bytes: Uint8Array): void {
    const input = this.#rest.length === 0 ? bytes : Buffer.concat([this.#rest, bytes]);
    let at = 0;
    while (input.length - at >= TS_BYTES) {
      const next = input[at + TS_BYTES];
      if (input[at] !== SYNC || (next !== undefined && next !== SYNC)) {
        at++;
        if (++this.#junkBytes > this.#maxJunkBytes)
          throw new MediaError("expected MPEG-TS, received something else: set the encoder to MPEG-TS");
        continue;
      }
      this.#junkBytes = 0;
      this.#read(input.subarray(at, at + TS_BYTES));
      at += TS_BYTES;
    }
    // A copy: the input must not be kept for a few bytes.
    this.#rest = at === input.length ? new Uint8Array(0) : new Uint8Array(input.subarray(at));
  }

  /** Passes on what is complete only now: the stream has ended. */
  flush(): void {
    for (const assembly of this.#assemblies.values()) this.#finish(assembly);
  }

  #read(packet: Uint8Array): void {
    // By index: this runs for every packet, and destructuring is slow.
    const flags = packet[1] as number;
    const control = packet[3] as number;
    const adaptationBytes = packet[4] as number;
    const pid = ((flags & 0x1f) << 8) | (packet[2] as number);
    const hasPayload = (control & 0x10) !== 0;
    const hasAdaptation = (control & 0x20) !== 0;
    if (pid === NULL_PID || !hasPayload) return;
    const begin = hasAdaptation ? 5 + adaptationBytes : 4;
    if (begin >= TS_BYTES) return;
    if ((flags & 0x80) !== 0) {
      // The missing counter of the damaged packet marks the loss.
      this.lost++;
      return;
    }
    const isAnnounced = hasAdaptation && adaptationBytes > 0 && ((packet[5] as number) & 0x80) !== 0;
    const payload = packet.subarray(begin);
    const isStart = (flags & 0x40) !== 0;
    const continuity = control & 0x0f;
    const assembly = this.#assemblies.get(pid);
    if (assembly !== undefined) this.#readPes(assembly, payload, isStart, continuity, isAnnounced);
    else if (this.#sections.has(pid)) this.#readSection(pid, payload, isStart, continuity);
  }

  #readPes(assembly: Assembly, payload: Uint8Array, isStart: boolean, continuity: number, isAnnounced: boolean): void {
    const { continuity: last } = assembly;
    // A packet may be repeated once.
    if (last === continuity && !isAnnounced) return;
    assembly.continuity = continuity;
    const missing = last === null || isAnnounced ? 0 : (continuity - last - 1) & 0x0f;
    if (missing > 0) {
      this.lost += missing;
      assembly.isAfterLoss = true;
      this.#drop(assembly);
    }
    if (isStart) {
      this.#finish(assembly);
      assembly.isOpen = true;
      assembly.arrivedMs = this.#now();
      assembly.expectedBytes = readPesLength(payload);
      if (!this.#begins(assembly.stream, payload)) this.#drop(assembly);
    }
    if (!assembly.isOpen) return;
    assembly.parts.push(payload);
    assembly.bytes += payload.length;
    const { unitBytes } = this.#options;
    if (isKlv(assembly.stream) && assembly.bytes > MAX_KLV_BYTES) this.#drop(assembly);
    else if (assembly.bytes > unitBytes + PES_HEADER_BYTES)
      throw new MediaError(`a PES packet has more than ${unitBytes} bytes`);
    if (assembly.expectedBytes > 0 && assembly.bytes >= assembly.expectedBytes) this.#finish(assembly);
  }

  #begins(stream: ElementaryStream, payload: Uint8Array): boolean {
    const { onBegin } = this.#options;
    if (onBegin === undefined) return true;
    const pts = readPesHeader(Buffer.from(payload.buffer, payload.byteOffset, payload.length))?.pts ?? null;
    return onBegin(stream, pts === null ? null : this.#unwrap(pts));
  }

  #drop(assembly: Assembly): void {
    assembly.parts = [];
    assembly.bytes = 0;
    assembly.expectedBytes = 0;
    assembly.isOpen = false;
  }

  #finish(assembly: Assembly): void {
    const { stream, parts, bytes, expectedBytes, arrivedMs, isOpen, isAfterLoss } = assembly;
    this.#drop(assembly);
    if (!isOpen || bytes === 0) return;
    const pes = Buffer.concat(parts, expectedBytes > 0 ? Math.min(expectedBytes, bytes) : bytes);
    const header = readPesHeader(pes);
    // Truncated: shorter than its length field says.
    if (header === null || bytes < expectedBytes) {
      assembly.isAfterLoss = true;
      return;
    }
    assembly.isAfterLoss = false;
    const dtsUs = header.dts === null ? null : this.#unwrap(header.dts);
    const ptsUs = header.pts === null ? null : this.#unwrap(header.pts);
    this.#options.onPacket({ stream, ptsUs, dtsUs, arrivedMs, data: pes.subarray(header.begin), isAfterLoss });
  }

  /** The shorter distance from the last timestamp, forward or back: that of any stream, since they have one clock. */
  #unwrap(ticks: number): number {
    if (this.#ticks === null) this.#ticks = ticks;
    else {
      const step = (((ticks - this.#ticks) % WRAP) + WRAP) % WRAP;
      this.#ticks += step > WRAP / 2 ? step - WRAP : step;
    }
    return toUs(this.#ticks);
  }

  /** Only the first section that begins in a packet is read: PAT and PMT have one each. */
  #readSection(pid: number, payload: Uint8Array, isStart: boolean, continuity: number): void {
    const section = this.#sections.get(pid) as Section;
    const { continuity: last } = section;
    if (last === continuity && !isStart) return;
    const isGap = last !== null && ((last + 1) & 0x0f) !== continuity;
    section.continuity = continuity;
    if (isStart) section.parts = payload.subarray(1 + (payload[0] as number));
    else if (isGap || section.parts.length === 0) section.parts = new Uint8Array(0);
    else section.parts = Buffer.concat([section.parts, payload]);
    const [table = -1, high = 0, low = 0] = section.parts;
    const length = 3 + (((high & 0x0f) << 8) | low);
    if (section.parts.length < 3 || section.parts.length < length) {
      if (section.parts.length > SECTION_BYTES) section.parts = new Uint8Array(0);
      return;
    }
    const whole = Buffer.from(section.parts.subarray(0, length));
    section.parts = new Uint8Array(0);
    // `current_next_indicator`: announced changes are ignored until they are valid.
    const isCurrent = length >= 12 && length <= SECTION_BYTES && ((whole[5] as number) & 1) === 1;
    if (!isCurrent || sectionCrc(whole) !== 0) return;
    if (pid === PAT_PID && table === PAT_TABLE) this.#readPat(whole);
    else if (pid === this.#pmtPid && table === PMT_TABLE) this.#readPmt(whole);
  }

  #readPat(section: Buffer): void {
    for (let at = 8; at + 4 <= section.length - 4; at += 4) {
      const pid = section.readUInt16BE(at + 2) & NULL_PID;
      // Program 0 is the network information table.
      if (section.readUInt16BE(at) === 0 || pid === PAT_PID || pid === NULL_PID) continue;
      if (pid === this.#pmtPid) return;
      if (this.#pmtPid !== null) this.#sections.delete(this.#pmtPid);
      this.#pmtPid = pid;
      this.#pmt = new Uint8Array(0);
      this.#sections.set(pid, { parts: new Uint8Array(0), continuity: null });
      return;
    }
  }

  #readPmt(section: Buffer): void {
    if (Buffer.compare(section, this.#pmt) === 0) return;
    this.#pmt = section;
    const streams: ElementaryStream[] = [];
    const end = section.length - 4;
    for (let at = 12 + (section.readUInt16BE(10) & 0xfff); at + 5 <= end && streams.length < MAX_STREAMS; ) {
      const descriptors = section.subarray(at + 5, Math.min(at + 5 + (section.readUInt16BE(at + 3) & 0xfff), end));
      const pid = section.readUInt16BE(at + 1) & NULL_PID;
      if (pid !== NULL_PID && !this.#sections.has(pid))
        streams.push({ pid, type: section[at] as number, format: readFormat(descriptors) });
      at += 5 + (section.readUInt16BE(at + 3) & 0xfff);
    }
    const wanted = new Map([...this.#options.onStreams(streams)].map((stream) => [stream.pid, stream]));
    for (const [pid, assembly] of this.#assemblies) {
      const stream = wanted.get(pid);
      if (stream?.type === assembly.stream.type && stream.format === assembly.stream.format) wanted.delete(pid);
      else this.#assemblies.delete(pid);
    }
    for (const [pid, stream] of wanted) {
      this.#assemblies.set(pid, {
        ...{ stream, parts: [], bytes: 0, expectedBytes: 0, arrivedMs: 0 },
        ...{ continuity: null, isOpen: false, isAfterLoss: false },
      });
    }
  }
}

function readFormat(descriptors: Buffer): string | null {
  for (let at = 0; at + 2 <= descriptors.length; at += 2 + (descriptors[at + 1] as number)) {
    const content = descriptors.subarray(at + 2, at + 2 + (descriptors[at + 1] as number));
    const from =
      descriptors[at] === REGISTRATION ? 0 : descriptors[at] === METADATA ? findMetadataFormat(content) : null;
    if (from !== null && from + 4 <= content.length) return content.toString("latin1", from, from + 4);
  }
  return null;
}

/** Position of the `metadata_format_identifier` of a metadata descriptor; null: it has none. */
function findMetadataFormat(content: Buffer): number | null {
  const at = content.length >= 2 && content.readUInt16BE(0) === 0xffff ? 6 : 2;
  return content[at] === 0xff ? at + 1 : null;
}

/** 0: unbounded, or the header is not in the first packet. */
function readPesLength(payload: Uint8Array): number {
  const length = payload.length < 6 ? 0 : ((payload[4] as number) << 8) | (payload[5] as number);
  return length === 0 ? 0 : length + 6;
}

interface PesHeader {
  readonly pts: number | null;
  readonly dts: number | null;
  /** Of the payload. */
  readonly begin: number;
}

/** Null unless it is a PES packet with the usual header. */
function readPesHeader(pes: Buffer): PesHeader | null {
  if (pes.length < 9 || pes.readUIntBE(0, 3) !== 1 || ((pes[6] as number) & 0xc0) !== 0x80) return null;
  const flags = (pes[7] as number) >> 6;
  const begin = 9 + (pes[8] as number);
  if (begin > pes.length) return null;
  const pts = flags >= 2 ? readTimestamp(pes, 9, begin) : null;
  const dts = flags === 3 ? readTimestamp(pes, 14, begin) : null;
  return { pts, dts: dts ?? pts, begin };
}

function readTimestamp(pes: Buffer, at: number, end: number): number | null {
  if (at + 5 > end) return null;
  const high = ((pes[at] as number) >> 1) & 7;
  return high * 2 ** 30 + (pes.readUInt16BE(at + 1) >> 1) * 2 ** 15 + (pes.readUInt16BE(at + 3) >> 1);
}
