/** RTP packets into frames of AAC (RFC 3640, modes AAC-hbr and AAC-lbr). */
import type { RtpPacket } from "./packet.ts";

export interface AacLayout {
  /** `sizelength`, `indexlength` of the session description; `indexdeltalength` is the same as the latter. */
  readonly sizeBits: number;
  readonly indexBits: number;
  /** Ticks of the RTP clock that a frame lasts. */
  readonly frameTicks: number;
}

export interface CodedFrame {
  readonly timestamp: number;
  /** A copy: nothing of a packet is kept alive. */
  readonly frame: Uint8Array;
}

export class AacDepayloader {
  readonly #layout: AacLayout;
  readonly #emit: (frame: CodedFrame) => void;
  /** Filled as its pieces come; so many bytes of it are still missing. */
  #frame = Buffer.alloc(0);
  #missingBytes = 0;
  #timestamp = 0;

  constructor(layout: AacLayout, emit: (frame: CodedFrame) => void) {
    this.#layout = layout;
    this.#emit = emit;
  }

  take({ timestamp, payload }: RtpPacket, isAfterLoss: boolean): void {
    if (isAfterLoss || timestamp !== this.#timestamp) this.#missingBytes = 0;
    this.#timestamp = timestamp;
    const sizes = readSizes(payload, this.#layout);
    if (sizes === null) return;
    let data = payload.subarray(sizes.bytes);
    const [first = 0] = sizes.sizes;
    if (sizes.sizes.length === 1 && (first > data.length || this.#missingBytes > 0)) {
      this.#gather(timestamp, first, data);
      return;
    }
    this.#missingBytes = 0;
    for (const [i, size] of sizes.sizes.entries()) {
      if (size === 0 || size > data.length) return;
      this.#emit({
        timestamp: (timestamp + i * this.#layout.frameTicks) >>> 0,
        frame: Buffer.from(data.subarray(0, size)),
      });
      data = data.subarray(size);
    }
  }

  /** A frame above a packet's size comes in several, each with the size of the whole. */
  #gather(timestamp: number, size: number, data: Uint8Array): void {
    if (this.#missingBytes === 0) {
      this.#frame = Buffer.allocUnsafe(size);
      this.#missingBytes = size;
    }
    const isTooMuch = data.length > this.#missingBytes;
    if (!isTooMuch) this.#frame.set(data, this.#frame.length - this.#missingBytes);
    this.#missingBytes = isTooMuch ? 0 : this.#missingBytes - data.length;
    if (this.#missingBytes === 0 && !isTooMuch) this.#emit({ timestamp, frame: this.#frame });
  }
}

/** The sizes of the frames in a packet, and the bytes that told them. Null where they do not make sense. */
function readSizes(payload: Uint8Array, { sizeBits, indexBits }: AacLayout): { sizes: number[]; bytes: number } | null {
  if (payload.length < 2) return null;
  const bits = ((payload[0] as number) << 8) | (payload[1] as number);
  const each = sizeBits + indexBits;
  const bytes = 2 + Math.ceil(bits / 8);
  if (bits < each || bytes > payload.length) return null;
  const sizes: number[] = [];
  for (let at = 16; at + each <= 16 + bits; at += each) sizes.push(readBits(payload, at, sizeBits));
  return { sizes, bytes };
}

function readBits(bytes: Uint8Array, at: number, count: number): number {
  let value = 0;
  for (let i = at; i < at + count; i++) value = value * 2 + (((bytes[i >> 3] as number) >> (7 - (i & 7))) & 1);
  return value;
}
