/** AAC over RTP (RFC 3640). The depayloader reads modes AAC-hbr and AAC-lbr, the payloader writes AAC-hbr. */
import { BitReader } from "../bits.ts";
import type { RtpPacket, RtpPayload } from "./packet.ts";

export interface AacLayout {
  /** `sizelength` and `indexlength` of the SDP; `indexdeltalength` equals the latter. */
  readonly sizeBits: number;
  readonly indexBits: number;
  /** Duration of a frame in ticks of the RTP clock. */
  readonly frameTicks: number;
}

export interface CodedFrame {
  readonly timestamp: number;
  /** A copy, so that packets are not kept alive. */
  readonly frame: Uint8Array;
}

export class AacDepayloader {
  readonly #layout: AacLayout;
  readonly #emit: (frame: CodedFrame) => void;
  /** A fragmented frame, and how many of its bytes are missing. */
  #frame = Buffer.alloc(0);
  #missingBytes = 0;
  #timestamp = 0;

  constructor(layout: AacLayout, emit: (frame: CodedFrame) => void) {
    this.#layout = layout;
    this.#emit = emit;
  }

  push({ timestamp, payload }: RtpPacket, isAfterLoss: boolean): void {
    if (isAfterLoss || timestamp !== this.#timestamp) this.#missingBytes = 0;
    this.#timestamp = timestamp;
    const header = readSizes(payload, this.#layout);
    if (header === null) return;
    let data = payload.subarray(header.bytes);
    const [first = 0] = header.sizes;
    if (header.sizes.length === 1 && (first > data.length || this.#missingBytes > 0)) {
      this.#addFragment(timestamp, first, data);
      return;
    }
    this.#missingBytes = 0;
    for (const [i, size] of header.sizes.entries()) {
      if (size === 0 || size > data.length) return;
      this.#emit({
        timestamp: (timestamp + i * this.#layout.frameTicks) | 0,
        frame: Buffer.from(data.subarray(0, size)),
      });
      data = data.subarray(size);
    }
  }

  /** A frame larger than a packet is sent in several, each with the size of the whole frame. */
  #addFragment(timestamp: number, size: number, data: Uint8Array): void {
    if (this.#missingBytes === 0) {
      this.#frame = Buffer.allocUnsafe(size);
      this.#missingBytes = size;
    }
    if (data.length > this.#missingBytes) {
      this.#missingBytes = 0;
      return;
    }
    this.#frame.set(data, this.#frame.length - this.#missingBytes);
    this.#missingBytes -= data.length;
    if (this.#missingBytes === 0) this.#emit({ timestamp, frame: this.#frame });
  }
}

/** Reads the sizes of the frames in a packet, and the length of that header. Null if it is invalid. */
function readSizes(payload: Uint8Array, { sizeBits, indexBits }: AacLayout): { sizes: number[]; bytes: number } | null {
  if (payload.length < 2) return null;
  const reader = new BitReader(payload, "the AU header");
  const headerBits = reader.bits(16);
  const entryBits = sizeBits + indexBits;
  const bytes = 2 + Math.ceil(headerBits / 8);
  if (headerBits < entryBits || bytes > payload.length) return null;
  const sizes: number[] = [];
  for (let left = headerBits; left >= entryBits; left -= entryBits) {
    sizes.push(reader.bits(sizeBits));
    reader.skip(indexBits);
  }
  return { sizes, bytes };
}

const HEADER_BITS = 16;
const INDEX_BITS = 3;
/** The size field has 13 bits. */
export const AAC_FRAME_BYTES = 8191;

/** The payloads of one frame, more than one only if it exceeds `maxBytes`. Empty for a frame above `AAC_FRAME_BYTES`. */
export function payloadAac(frame: Uint8Array, maxBytes: number): RtpPayload[] {
  if (frame.length > AAC_FRAME_BYTES) return [];
  const head = Buffer.allocUnsafe(4);
  head.writeUInt16BE(HEADER_BITS, 0);
  head.writeUInt16BE(frame.length << INDEX_BITS, 2);
  const step = maxBytes - head.length;
  const payloads: RtpPayload[] = [];
  for (let at = 0; at < frame.length; at += step) {
    payloads.push({ head, body: frame.subarray(at, Math.min(at + step, frame.length)) });
  }
  return payloads;
}
