/** What a slice or an SEI message tells about its picture, without decoding it (ITU-T H.264, 7.3.3 and annex D). */
import { MediaFault } from "../fault.ts";
import { BitReader } from "./bit-reader.ts";

const B_SLICE = 1;
const RECOVERY_POINT = 6;
/** Of a slice's header, enough for its first two numbers; of SEI, where the messages that matter are. */
const SLICE_BYTES = 16;
const SEI_BYTES = 512;

/** Refers to pictures on both sides of it in time. False for a slice that cannot be read. */
export function isBidirectional(slice: Uint8Array): boolean {
  try {
    const bits = new BitReader(slice, SLICE_BYTES);
    bits.unsigned();
    return bits.unsigned(9) % 5 === B_SLICE;
  } catch (error) {
    if (error instanceof MediaFault) return false;
    throw error;
  }
}

/** Decoding may begin here although it is no IDR picture: open groups of pictures, gradual refresh. */
export function hasRecoveryPoint(sei: Uint8Array): boolean {
  const end = Math.min(sei.length, SEI_BYTES);
  let at = 1;
  /** A byte of 255 says that there is more (7.3.2.3.1). */
  const readSum = (): number => {
    let sum = 0;
    while (at < end && sei[at] === 0xff) {
      sum += 255;
      at++;
    }
    return sum + (sei[at++] ?? 0);
  };
  // The last byte is the trailing bit.
  while (at < end - 1) {
    if (readSum() === RECOVERY_POINT) return true;
    const size = readSum();
    at += size;
  }
  return false;
}
