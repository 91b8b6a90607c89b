/** NAL units of H.264 (ITU-T H.264, 7.3.1 and annex B): where they begin and what they are. Nothing is copied. */
import { MediaFault } from "../fault.ts";

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
const MOST_NALS = 4096;
const START_CODE = Buffer.from([0, 0, 1]);

/** 0 for an empty one. */
export const nalType = (nal: Uint8Array): number => (nal[0] ?? 0) & 0x1f;

/** Of a byte stream (annex B), with start codes of three or four bytes. What is before the first one is left out. */
export function splitStartCodes(bytes: Uint8Array): Uint8Array[] {
  const view = Buffer.from(bytes.buffer, bytes.byteOffset, bytes.byteLength);
  const nals: Uint8Array[] = [];
  let code = view.indexOf(START_CODE);
  while (code !== -1) {
    const begin = code + START_CODE.length;
    code = view.indexOf(START_CODE, begin);
    let end = code === -1 ? view.length : code;
    // Zeros after a unit belong to the next start code or are padding: no unit ends with one.
    while (end > begin && view[end - 1] === 0) end--;
    if (end > begin) push(nals, bytes.subarray(begin, end));
  }
  return nals;
}

/** Each with its length in front, as in MP4 and FLV. Throws a `MediaFault` where lengths and bytes do not agree. */
export function splitLengths(bytes: Uint8Array, lengthSize: number): Uint8Array[] {
  const nals: Uint8Array[] = [];
  let at = 0;
  while (at < bytes.length) {
    const begin = at + lengthSize;
    if (begin > bytes.length) throw new MediaFault("a NAL unit's length is cut off");
    let length = 0;
    for (; at < begin; at++) length = length * 256 + (bytes[at] as number);
    at = begin + length;
    if (at > bytes.length)
      throw new MediaFault(`a NAL unit of ${length} bytes was promised, ${bytes.length - begin} came`);
    if (length > 0) push(nals, bytes.subarray(begin, at));
  }
  return nals;
}

function push(nals: Uint8Array[], nal: Uint8Array): void {
  if (nals.length === MOST_NALS) throw new MediaFault(`a picture of more than ${MOST_NALS} NAL units`);
  nals.push(nal);
}
