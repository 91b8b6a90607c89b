/**
 * NAL units over RTP, for H.264 (RFC 6184, packetization-mode 0 and 1) and H.265 (RFC 7798): single ones, several in one
 * packet, one in several packets. After a lost packet the depayloader drops pictures up to the next keyframe, because they
 * would decode into artefacts.
 */
import { MediaError } from "../access-unit.ts";
import type { Codec } from "../codec.ts";
import { pushNal, START_CODE, splitStartCodes } from "../h264/nal.ts";
import { NO_HEAD, type RtpPacket, type RtpPayload } from "./packet.ts";

export interface CodedPicture {
  readonly timestamp: number;
  /** Copies, so that packets are not kept alive. */
  readonly nals: Uint8Array[];
}

/** Flags in the byte after the payload's header of a fragment, whose other bits are the type of the NAL unit. */
const START = 0x80;
const END = 0x40;
/** Parameter sets and SEI before a picture. */
const MAX_AHEAD = 16;
/** Initial size of the buffer that fragments are reassembled in. */
const INITIAL_BYTES = 16_384;
/** Larger NAL units are not worth the copy into an aggregate. */
const SMALL_BYTES = 512;

export class NalDepayloader {
  readonly #codec: Codec;
  readonly #maxBytes: number;
  readonly #emit: (picture: CodedPicture) => void;
  #timestamp: number | null = null;
  #nals: Uint8Array[] = [];
  #bytes = 0;
  #hasSlice = false;
  #hasKey = false;
  #isDamaged = false;
  #needsKey = false;
  /** The last keyframe followed a loss: pictures that refer to earlier ones are dropped. */
  #isJoined = false;
  #isUndecodable = false;
  /** Reassembly buffer of a fragmented NAL unit. */
  #fragments = Buffer.alloc(0);
  #fragmentBytes = 0;
  /** Size of the next buffer, if there is none. */
  #nextBytes = INITIAL_BYTES;

  constructor(codec: Codec, maxBytes: number, emit: (picture: CodedPicture) => void) {
    this.#codec = codec;
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
      this.#isDamaged = isAfterLoss && !this.#startsPicture(payload);
    }
    if (!this.#isDamaged) this.#read(payload);
    // Some senders set the marker on parameter sets too: a picture without a slice has not ended.
    if (marker && (this.#hasSlice || this.#isDamaged)) this.#finish();
  }

  #read(payload: Uint8Array): void {
    const { headerBytes, lastSingle, aggregate, fragment, typeOf } = this.#codec.rtp;
    if (payload.length < headerBytes) return;
    const type = typeOf(payload);
    if (type <= lastSingle) this.#add(payload);
    else if (type === aggregate) this.#readAggregate(payload, headerBytes);
    else if (type === fragment) this.#readFragment(payload, headerBytes);
    else this.#isDamaged = true;
  }

  #readAggregate(payload: Uint8Array, headerBytes: number): void {
    let at = headerBytes;
    while (at + 2 < payload.length) {
      const length = ((payload[at] as number) << 8) | (payload[at + 1] as number);
      const end = at + 2 + length;
      // Padding, which some senders write here and not where RTP has it.
      if (length === 0 && at > headerBytes) return;
      if (length === 0 || end > payload.length) {
        this.#isDamaged = true;
        return;
      }
      this.#add(payload.subarray(at + 2, end));
      at = end;
    }
  }

  #readFragment(payload: Uint8Array, headerBytes: number): void {
    const begin = headerBytes + 1;
    if (payload.length <= begin) return;
    const flags = payload[headerBytes] as number;
    const isStart = (flags & START) !== 0;
    if (isStart) this.#fragmentBytes = 0;
    else if (this.#fragmentBytes === 0) {
      this.#isDamaged = true;
      return;
    }
    this.#count(payload.length - begin);
    if (isStart) this.#append(this.#codec.rtp.readFragmentHeader(payload));
    this.#append(payload.subarray(begin));
    if ((flags & END) === 0) return;
    this.#keepFragments();
  }

  /** A large NAL unit keeps the buffer it was put together in; the next one gets another. */
  #keepFragments(): void {
    const nal = this.#fragments.subarray(0, this.#fragmentBytes);
    const isLarge = 2 * nal.length >= this.#fragments.length;
    if (isLarge) this.#fragments = Buffer.alloc(0);
    this.#keep(isLarge ? nal : Buffer.from(nal));
    this.#nextBytes = Math.max(nal.length + (nal.length >> 3), INITIAL_BYTES);
    this.#fragmentBytes = 0;
  }

  #append(bytes: Uint8Array): void {
    const end = this.#fragmentBytes + bytes.length;
    if (end > this.#fragments.length) {
      const larger = Buffer.allocUnsafe(this.#fragmentBytes === 0 ? Math.max(end, this.#nextBytes) : 2 * end);
      this.#fragments.copy(larger, 0, 0, this.#fragmentBytes);
      this.#fragments = larger;
    }
    this.#fragments.set(bytes, this.#fragmentBytes);
    this.#fragmentBytes = end;
  }

  #add(nal: Uint8Array): void {
    this.#count(nal.length);
    this.#keep(Buffer.from(nal));
  }

  #count(bytes: number): void {
    this.#bytes += bytes;
    if (this.#bytes > this.#maxBytes) throw new MediaError(`the picture has more than ${this.#maxBytes} bytes`);
  }

  #keep(nal: Buffer): void {
    // Some cameras send a byte stream: parameter sets and slices in one NAL unit, with start codes between them.
    // Only those are searched: no NAL unit of this form starts with a slice.
    const isSearched = (nal[0] === 0 && nal[1] === 0) || this.#codec.kindOf(nal) !== "slice";
    const code = isSearched ? nal.indexOf(START_CODE) : -1;
    if (code === -1) this.#keepOne(nal);
    else for (const part of splitStartCodes(code < 2 ? nal : Buffer.concat([START_CODE, nal]))) this.#keepOne(part);
  }

  #keepOne(nal: Uint8Array): void {
    pushNal(this.#nals, nal);
    if (this.#codec.startsDecoding(nal)) this.#hasKey = true;
    if (this.#codec.kindOf(nal) !== "slice") return;
    this.#hasSlice = true;
    if (this.#codec.isUndecodableAfterJoin(nal)) this.#isUndecodable = true;
  }

  /** Emits the collected picture, if it is complete and decodable. */
  #finish(): void {
    const isWhole = !this.#isDamaged && this.#fragmentBytes === 0;
    if (this.#hasKey && isWhole) {
      this.#isJoined = this.#needsKey;
      this.#needsKey = false;
    }
    if (this.#hasSlice && isWhole && !this.#needsKey) {
      if (!this.#isJoined || !this.#isUndecodable)
        this.#emit({ timestamp: this.#timestamp as number, nals: this.#nals });
    } else if (this.#hasSlice || this.#isDamaged) {
      this.#needsKey = true;
    }
    // Some cameras send parameter sets with the timestamp of the picture before.
    const isAhead = !this.#hasSlice && isWhole && this.#nals.length <= MAX_AHEAD;
    if (!isAhead) this.#nals = [];
    this.#fragmentBytes = 0;
    this.#bytes = this.#nals.reduce((sum, { length }) => sum + length, 0);
    this.#hasKey &&= isAhead;
    this.#hasSlice = false;
    this.#isUndecodable = false;
    this.#isDamaged = false;
    this.#timestamp = null;
  }

  #startsPicture(payload: Uint8Array): boolean {
    const { headerBytes, aggregate, typeOf, startsPicture } = this.#codec.rtp;
    // The first of several follows its length.
    return startsPicture(typeOf(payload) === aggregate ? payload.subarray(headerBytes + 2) : payload);
  }
}

/** The payloads of one picture, none above `maxBytes`: single NAL units, aggregates of small ones, fragments of large ones. */
export function payloadNals(codec: Codec, nals: readonly Uint8Array[], maxBytes: number): RtpPayload[] {
  const payloads: RtpPayload[] = [];
  let at = 0;
  while (at < nals.length) {
    const nal = nals[at] as Uint8Array;
    const count = countSmall(codec, nals, at, maxBytes);
    if (count > 1) {
      payloads.push({ head: NO_HEAD, body: aggregate(codec, nals.slice(at, at + count)) });
      at += count;
      continue;
    }
    if (nal.length > maxBytes) split(codec, nal, maxBytes, payloads);
    else if (nal.length > 0) payloads.push({ head: NO_HEAD, body: nal });
    at++;
  }
  return payloads;
}

/** How many NAL units from `at` fit one aggregate. */
function countSmall({ rtp }: Codec, nals: readonly Uint8Array[], at: number, maxBytes: number): number {
  let bytes = rtp.headerBytes;
  let count = 0;
  for (let i = at; i < nals.length; i++, count++) {
    const length = (nals[i] as Uint8Array).length;
    bytes += 2 + length;
    if (length === 0 || length > SMALL_BYTES || bytes > maxBytes) break;
  }
  return count;
}

function aggregate({ rtp }: Codec, nals: readonly Uint8Array[]): Uint8Array {
  const bytes = Buffer.allocUnsafe(nals.reduce((sum, nal) => sum + 2 + nal.length, rtp.headerBytes));
  bytes.set(rtp.writeAggregateHeader(nals), 0);
  let at = rtp.headerBytes;
  for (const nal of nals) {
    at = bytes.writeUInt16BE(nal.length, at);
    bytes.set(nal, at);
    at += nal.length;
  }
  return bytes;
}

function split({ rtp }: Codec, nal: Uint8Array, maxBytes: number, payloads: RtpPayload[]): void {
  const { headerBytes } = rtp;
  const step = maxBytes - headerBytes - 1;
  const middle = rtp.writeFragmentHeader(nal, 0);
  for (let at = headerBytes; at < nal.length; at += step) {
    const end = Math.min(at + step, nal.length);
    const isFirst = at === headerBytes;
    const isLast = end === nal.length;
    const head = isFirst || isLast ? rtp.writeFragmentHeader(nal, isFirst ? START : END) : middle;
    payloads.push({ head, body: nal.subarray(at, end) });
  }
}
