/**
 * RTP packets into pictures of H.264 (RFC 6184, packetization-mode 0 and 1). A picture of which a packet is missing is left
 * out, and with it all that follow up to the next key picture: they would be decoded into smears.
 */
import { MediaFault } from "../fault.ts";
import { NAL, nalType } from "../h264/nal.ts";
import { hasRecoveryPoint } from "../h264/slice.ts";
import type { RtpPacket } from "./packet.ts";

export interface CodedPicture {
  readonly timestamp: number;
  /** Copies: nothing of a packet is kept alive. */
  readonly nals: Uint8Array[];
}

const STAP_A = 24;
const FU_A = 28;
const LAST_SINGLE = 23;
const START = 0x80;
const END = 0x40;
/** A picture has a few; more are an attack. */
const MOST_NALS = 4096;
/** Of what fragments are gathered in, at least. */
const FIRST_BYTES = 16_384;

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
  /** The unit that comes in fragments, copied: of a packet nothing is kept, be it ever so small. Used again for the next. */
  #fragments = Buffer.alloc(0);
  #fragmentBytes = 0;

  constructor(maxBytes: number, emit: (picture: CodedPicture) => void) {
    this.#maxBytes = maxBytes;
    this.#emit = emit;
  }

  /** In order. `isAfterLoss`: what came before it is missing. Throws a `MediaFault` when a picture is too large. */
  take({ timestamp, marker, payload }: RtpPacket, isAfterLoss: boolean): void {
    if (isAfterLoss) {
      this.#needsKey = true;
      this.#isDamaged = true;
    }
    if (timestamp !== this.#timestamp) {
      this.#finish();
      this.#timestamp = timestamp;
      // The missing packets may have been of this picture, unless it is seen to begin here.
      this.#isDamaged = isAfterLoss && !beginsPicture(payload);
    }
    if (!this.#isDamaged) this.#read(payload);
    // Some senders mark the parameter sets as well: a picture has not ended before it has a slice.
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
      const larger = Buffer.allocUnsafe(Math.max(2 * end, FIRST_BYTES));
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
    if (this.#bytes > this.#maxBytes) throw new MediaFault(`a picture of more than ${this.#maxBytes} bytes`);
  }

  #keep(bytes: Uint8Array): void {
    if (this.#nals.length === MOST_NALS) throw new MediaFault(`a picture of more than ${MOST_NALS} NAL units`);
    const nal = Buffer.from(bytes);
    this.#nals.push(nal);
    const type = nalType(nal);
    if (type >= NAL.slice && type <= NAL.idr) this.#hasSlice = true;
    if (type === NAL.idr || (type === NAL.sei && hasRecoveryPoint(nal))) this.#hasKey = true;
  }

  /** What has been gathered is one picture, or nothing worth telling of. */
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

function beginsPicture(payload: Uint8Array): boolean {
  const type = nalType(payload) === STAP_A ? nalType(payload.subarray(3)) : nalType(payload);
  return type === NAL.sps || type === NAL.delimiter;
}
