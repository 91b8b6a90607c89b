/** AAC frames with ADTS headers (ISO/IEC 13818-7, 6.2), as in MPEG-TS. */
import { MediaError } from "../access-unit.ts";
import { BitReader } from "../bits.ts";

export interface AdtsFrame {
  /** The AudioSpecificConfig that the header states. */
  readonly config: Uint8Array;
  /** Without the header. */
  readonly frame: Uint8Array;
}

const HEADER_BYTES = 7;
const CRC_BYTES = 2;
/** The length field has 13 bits. */
export const MAX_ADTS_BYTES = 8191;
/** AAC has 1024 samples per frame. */
export const SAMPLES = 1024;

/** Splits frames; bytes of an incomplete one are kept for the next call. Skips bytes that are not a frame. */
export class AdtsReader {
  #rest: Uint8Array = new Uint8Array(0);

  push(bytes: Uint8Array): AdtsFrame[] {
    const input = this.#rest.length === 0 ? bytes : Buffer.concat([this.#rest, bytes]);
    const frames: AdtsFrame[] = [];
    let at = 0;
    while (at + HEADER_BYTES <= input.length) {
      const header = readHeader(input, at);
      if (header === null) {
        at++;
        continue;
      }
      if (at + header.bytes > input.length) break;
      frames.push({ config: header.config, frame: input.subarray(at + header.headerBytes, at + header.bytes) });
      at += header.bytes;
    }
    this.#rest = new Uint8Array(input.subarray(at));
    return frames;
  }

  /** Bytes before the next ones are missing. */
  reset(): void {
    this.#rest = new Uint8Array(0);
  }
}

/** Null: it is not a header of AAC with one frame. */
function readHeader(input: Uint8Array, at: number) {
  const [sync = 0, flags = 0, format = 0, high = 0, middle = 0, low = 0, blocks = 0] = input.subarray(
    at,
    at + HEADER_BYTES,
  );
  if (sync !== 0xff || (flags & 0xf6) !== 0xf0 || (blocks & 3) !== 0) return null;
  const bytes = ((high & 3) << 11) | (middle << 3) | (low >> 5);
  const headerBytes = (flags & 1) === 1 ? HEADER_BYTES : HEADER_BYTES + CRC_BYTES;
  const rate = (format >> 2) & 0x0f;
  if (bytes <= headerBytes || rate > 12) return null;
  const object = (format >> 6) + 1;
  const channels = ((format & 1) << 2) | (high >> 6);
  const config = Uint8Array.of((object << 3) | (rate >> 1), ((rate & 1) << 7) | (channels << 3));
  return { bytes, headerBytes, config };
}

/** Throws a `MediaError` for a configuration that ADTS cannot express, or a frame that is too large. */
export function writeAdtsHeader(config: Uint8Array, frameBytes: number): Uint8Array {
  const bits = new BitReader(config, "the AAC configuration");
  // SBR and PS are signalled in the frames: the header has the core, which is LC.
  const object = bits.bits(5);
  const rate = bits.bits(4);
  const channels = rate === 15 ? 0 : bits.bits(4);
  const bytes = HEADER_BYTES + frameBytes;
  if (rate > 12 || channels > 7 || bytes > MAX_ADTS_BYTES)
    throw new MediaError("this AAC cannot be sent in MPEG-TS: its sample rate, channels or frames are not of ADTS");
  const profile = (object >= 1 && object <= 4 ? object : 2) - 1;
  return Uint8Array.of(
    0xff,
    0xf1,
    (profile << 6) | (rate << 2) | (channels >> 2),
    ((channels & 3) << 6) | (bytes >> 11),
    (bytes >> 3) & 0xff,
    ((bytes & 7) << 5) | 0x1f,
    0xfc,
  );
}
