/** H.265 NAL units (ITU-T H.265, 7.3.1 and 7.4.2.2). Start codes and emulation prevention are those of H.264. */
import { MediaError } from "../access-unit.ts";
import { BitReader } from "../bits.ts";
import { nalPayload } from "../h264/nal.ts";

export const NAL = {
  raslN: 8,
  raslR: 9,
  /** First and last type of pictures that decoding can start with: BLA, IDR, CRA. */
  firstKey: 16,
  lastKey: 21,
  /** Reserved types of such pictures follow them. */
  lastIrap: 23,
  vps: 32,
  sps: 33,
  pps: 34,
  delimiter: 35,
  prefixSei: 39,
  suffixSei: 40,
} as const;

export const HEADER_BYTES = 2;
/** The slice header's first numbers fit. */
const SLICE_BYTES = 16;

export const nalType = (nal: Uint8Array): number => ((nal[0] ?? 0) >> 1) & 0x3f;

/** Other layers are for scalable and three-dimensional video: decoders of the base layer ignore them. */
export const isBaseLayer = (nal: Uint8Array): boolean =>
  nal.length > HEADER_BYTES && ((nal[0] as number) & 1) === 0 && (nal[1] as number) >> 3 === 0;

export const isKeyType = (type: number): boolean => type >= NAL.firstKey && type <= NAL.lastKey;
export const isSliceType = (type: number): boolean => type <= NAL.raslR || isKeyType(type);

/** After the header. `name` is the subject of error texts. */
export const readerOf = (nal: Uint8Array, name: string, maxBytes?: number): BitReader =>
  new BitReader(nalPayload(nal, maxBytes, HEADER_BYTES), name);

/** Null if it is not readable. */
export function readPpsId(slice: Uint8Array): number | null {
  try {
    const bits = readerOf(slice, "the slice", SLICE_BYTES);
    bits.skip(nalType(slice) >= NAL.firstKey && nalType(slice) <= NAL.lastIrap ? 2 : 1);
    return bits.unsigned(63);
  } catch (error) {
    if (error instanceof MediaError) return null;
    throw error;
  }
}
