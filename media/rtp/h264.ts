/**
 * H.264 over RTP (RFC 6184). The depayloader reads packetization-mode 0 and 1; after a lost packet it drops pictures up to
 * the next keyframe, because they would decode into artefacts. The payloader writes mode 1.
 */
import { MediaError } from "../access-unit.ts";
import { hasRecoveryPoint, isSlice, NAL, nalType, pushNal } from "../h264/nal.ts";
import { NO_HEAD, type RtpPacket, type RtpPayload } from "./packet.ts";

export interface CodedPicture {
  readonly timestamp: number;
  /** Copies, so that packets are not kept alive. */
  readonly nals: Uint8Array[];
}

const STAP_A = 24;
const FU_A = 28;
const LAST_SINGLE = 23;
const START = 0x80;
const END = 0x40;
const FU_HEAD_BYTES = 2;
/** Initial size of the buffer that fragments are reassembled in. */
const INITIAL_BYTES = 16_384;
/** Larger NAL units are not worth the copy into a STAP-A. */
const SMALL_BYTES = 512;

export class H264Depayloader {
  readonly #maxBytes: number;
  readonly #emit: (picture: CodedPicture) => void;
  #timestamp: number | null = null;
  #nals: Uint8Array[] = [];
  #bytes = 0;
  #hasSlice = false;
  #hasKey = false;
  #isDamaged = false;
  #needsKey = false;
  /** Reassembly buffer of a fragmented NAL unit, reused for the next one. */
  #fragments = Buffer.alloc(0);
  #fragmentBytes = 0;

  constructor(maxBytes: number, emit: (picture: CodedPicture) => void) {
    this.#maxBytes = maxBytes;
    this.#emit = emit;
  }

  /** Takes packets in order. `isAfterLoss`: packets before this one are missing. Throws a `MediaError` if a picture is too large. */
  push({ timestamp, marker, payload }: RtpPacket, isAfterLoss: boolean): void {
    if (isAfterLoss) {
      this.#needsKey = true;
      this.#isDamaged = true;
    }
    if (timestamp !== this.#timestamp) {
      this.#finish();
      this.#timestamp = timestamp;
      // The missing packets may belong to this picture, unless it visibly starts here.
      this.#isDamaged = isAfterLoss && !startsPicture(payload);
    }
    if (!this.#isDamaged) this.#read(payload);
    // Some senders set the marker on parameter sets too: a picture without a slice has not ended.
    if (marker && (this.#hasSlice || this.#isDamaged)) this.#finish();
  }

  #read(payload: Uint8Array): void {
    const type = nalType(payload);
    if (payload.length === 0 || type === 0) return;
    if (type <= LAST_SINGLE) this.#add(payload);
    else if (type === STAP_A) this.#readAggregate(payload);
    else if (type === FU_A) this.#readFragment(payload);
    else this.#isDamaged = true;
  }

  #readAggregate(payload: Uint8Array): void {
    let at = 1;
    while (at + 2 < payload.length) {
      const length = ((payload[at] as number) << 8) | (payload[at + 1] as number);
      const end = at + 2 + length;
      if (length === 0 || end > payload.length) {
        this.#isDamaged = true;
        return;
      }
      this.#add(payload.subarray(at + 2, end));
      at = end;
    }
  }

  #readFragment(payload: Uint8Array): void {
    if (payload.length < 3) return;
    const indicator = payload[0] as number;
    const header = payload[1] as number;
    const isStart = (header & START) !== 0;
    if (isStart) this.#fragmentBytes = 0;
    else if (this.#fragmentBytes === 0) {
      this.#isDamaged = true;
      return;
    }
    this.#count(payload.length - 2);
    if (isStart) this.#append(Uint8Array.of((indicator & 0xe0) | (header & 0x1f)));
    this.#append(payload.subarray(2));
    if ((header & END) === 0) return;
    this.#keep(this.#fragments.subarray(0, this.#fragmentBytes));
    this.#fragmentBytes = 0;
  }

  #append(bytes: Uint8Array): void {
    const end = this.#fragmentBytes + bytes.length;
    if (end > this.#fragments.length) {
      const larger = Buffer.allocUnsafe(Math.max(2 * end, INITIAL_BYTES));
      this.#fragments.copy(larger, 0, 0, this.#fragmentBytes);
      this.#fragments = larger;
    }
    this.#fragments.set(bytes, this.#fragmentBytes);
    this.#fragmentBytes = end;
  }

  #add(nal: Uint8Array): void {
    this.#count(nal.length);
    this.#keep(nal);
  }

  #count(bytes: number): void {
    this.#bytes += bytes;
    if (this.#bytes > this.#maxBytes) throw new MediaError(`the picture has more than ${this.#maxBytes} bytes`);
  }

  #keep(bytes: Uint8Array): void {
    const nal = Buffer.from(bytes);
    pushNal(this.#nals, nal);
    const type = nalType(nal);
    if (isSlice(type)) this.#hasSlice = true;
    if (type === NAL.idr || (type === NAL.sei && hasRecoveryPoint(nal))) this.#hasKey = true;
  }

  /** Emits the collected picture, if it is complete and decodable. */
  #finish(): void {
    const isWhole = !this.#isDamaged && this.#fragmentBytes === 0;
    if (this.#hasKey && isWhole) this.#needsKey = false;
    if (this.#hasSlice && isWhole && !this.#needsKey) {
      this.#emit({ timestamp: this.#timestamp as number, nals: this.#nals });
    } else if (this.#hasSlice || this.#isDamaged) {
      this.#needsKey = true;
    }
    this.#nals = [];
    this.#fragmentBytes = 0;
    this.#bytes = 0;
    this.#hasSlice = false;
    this.#hasKey = false;
    this.#isDamaged = false;
    this.#timestamp = null;
  }
}

function startsPicture(payload: Uint8Array): boolean {
  const type = nalType(payload) === STAP_A ? nalType(payload.subarray(3)) : nalType(payload);
  return type === NAL.sps || type === NAL.delimiter;
}

/** The payloads of one picture, none above `maxBytes`: single NAL units, STAP-A for small ones, FU-A for large ones. */
export function payloadH264(nals: readonly Uint8Array[], maxBytes: number): RtpPayload[] {
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

/** How many NAL units from `at` fit one STAP-A. */
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
  // 5.7.1: the F bit of any, and the highest NRI.
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
