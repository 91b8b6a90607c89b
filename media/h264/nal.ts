/** H.264 NAL units (ITU-T H.264, 7.3 and annex B): splits them without copying, and inspects slices and SEI. */
import { MediaError } from "../access-unit.ts";
import { BitReader } from "../bits.ts";

export const NAL = {
  slice: 1,
  idr: 5,
  sei: 6,
  sps: 7,
  pps: 8,
  delimiter: 9,
  endOfSequence: 10,
  endOfStream: 11,
  filler: 12,
} as const;

/** A picture has a few; more are an attack. */
const MAX_NALS = 4096;
export const START_CODE = Buffer.from([0, 0, 1]);
const B_SLICE = 1;
const RECOVERY_POINT = 6;
/** The slice header's first two numbers fit; the SEI messages that matter are within the second limit. */
const SLICE_BYTES = 16;
const SEI_BYTES = 512;

/** 0 if it is empty. */
export const nalType = (nal: Uint8Array): number => (nal[0] ?? 0) & 0x1f;

export const isSlice = (type: number): boolean => type >= NAL.slice && type <= NAL.idr;

/** Splits an annex B byte stream with start codes of three or four bytes. Skips bytes before the first start code. */
export function splitStartCodes(bytes: Uint8Array): Uint8Array[] {
  const view = Buffer.from(bytes.buffer, bytes.byteOffset, bytes.byteLength);
  const nals: Uint8Array[] = [];
  let code = view.indexOf(START_CODE);
  while (code !== -1) {
    const begin = code + START_CODE.length;
    code = view.indexOf(START_CODE, begin);
    let end = code === -1 ? view.length : code;
    // Trailing zeros belong to the next start code or are padding: no NAL unit ends with a zero.
    while (end > begin && view[end - 1] === 0) end--;
    if (end > begin) pushNal(nals, bytes.subarray(begin, end));
  }
  return nals;
}

/** Splits length-prefixed NAL units, as in MP4 and FLV. Throws a `MediaError` if the lengths exceed the bytes. */
export function splitLengths(bytes: Uint8Array, lengthSize: number): Uint8Array[] {
  const nals: Uint8Array[] = [];
  let at = 0;
  while (at < bytes.length) {
    const begin = at + lengthSize;
    if (begin > bytes.length) throw new MediaError("the length of a NAL unit is truncated");
    let length = 0;
    for (; at < begin; at++) length = length * 256 + (bytes[at] as number);
    at = begin + length;
    if (at > bytes.length)
      throw new MediaError(`expected a NAL unit of ${length} bytes, received ${bytes.length - begin}`);
    if (length > 0) pushNal(nals, bytes.subarray(begin, at));
  }
  return nals;
}

/** Throws a `MediaError` beyond `MAX_NALS`. */
export function pushNal(nals: Uint8Array[], nal: Uint8Array): void {
  if (nals.length === MAX_NALS) throw new MediaError(`the picture has more than ${MAX_NALS} NAL units`);
  nals.push(nal);
}

/** Removes the header and the emulation prevention bytes (7.3.1) from at most `maxBytes` of a NAL unit. */
export function nalPayload(nal: Uint8Array, maxBytes = 4096, headerBytes = 1): Uint8Array {
  const length = Math.min(nal.length, maxBytes);
  const bytes = new Uint8Array(length);
  let end = 0;
  let zeros = 0;
  for (let i = headerBytes; i < length; i++) {
    const byte = nal[i] as number;
    if (zeros >= 2 && byte === 3) {
      zeros = 0;
      continue;
    }
    zeros = byte === 0 ? zeros + 1 : 0;
    bytes[end++] = byte;
  }
  return bytes.subarray(0, end);
}

/** Reads the Exp-Golomb numbers that a NAL unit starts with. Null if they are truncated or out of range. */
export function readLeadingNumbers(nal: Uint8Array, count: number): number[] | null {
  try {
    const bits = new BitReader(nalPayload(nal, SLICE_BYTES), "the NAL unit");
    return Array.from({ length: count }, () => bits.unsigned());
  } catch (error) {
    if (error instanceof MediaError) return null;
    throw error;
  }
}

/** Whether this is a B slice, which refers to pictures before and after it. False if it is not readable. */
export function isBidirectional(slice: Uint8Array): boolean {
  // Of the first slice of a picture, the number of its first macroblock is one bit, and the type is in the same byte.
  const second = slice[1] ?? 0;
  return second >= 0x80 && slice.length > 2 ? (FIRST_IS_B[second - 0x80] as boolean) : readType(slice) === B_SLICE;
}

/** -1 if it is not readable. */
function readType(slice: Uint8Array): number {
  const [, type = -1] = readLeadingNumbers(slice, 2) ?? [];
  return type <= 9 ? type % 5 : -1;
}

/** By the byte after the header, without its first bit. */
const FIRST_IS_B = Array.from(
  { length: 128 },
  (_, i) => readType(Uint8Array.of(NAL.slice, 0x80 | i, 0xff)) === B_SLICE,
);

/** Whether decoding can start here without an IDR picture: open GOP, gradual refresh (annex D). */
export function hasRecoveryPoint(sei: Uint8Array): boolean {
  const end = Math.min(sei.length, SEI_BYTES);
  let at = 1;
  /** 7.3.2.3.1: a byte of 255 continues the number. */
  const readNumber = (): number => {
    let sum = 0;
    while (at < end && sei[at] === 0xff) {
      sum += 255;
      at++;
    }
    return sum + (sei[at++] ?? 0);
  };
  // The last byte is the trailing bit.
  while (at < end - 1) {
    if (readNumber() === RECOVERY_POINT) return true;
    const size = readNumber();
    at += size;
  }
  return false;
}
