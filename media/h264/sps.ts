/** The sequence parameter set (ITU-T H.264, 7.3.2.1.1 and annex E), as far as anything here wants to know it. */
import { MediaFault } from "../fault.ts";
import { BitReader } from "./bit-reader.ts";
import { NAL, nalType } from "./nal.ts";

export interface Sps {
  /** Of the picture as it is shown: cropped. */
  readonly width: number;
  readonly height: number;
  readonly profileIdc: number;
  readonly constraintFlags: number;
  readonly levelIdc: number;
  /** So many pictures may come before one that is shown earlier. Null where it does not tell. */
  readonly reorderFrames: number | null;
  /** chroma_format_idc, and the bits of a sample. */
  readonly chromaFormat: number;
  readonly depthLuma: number;
  readonly depthChroma: number;
}

/** Profiles that tell of their chroma format (7.3.2.1.1). */
const WITH_CHROMA = new Set([100, 110, 122, 244, 44, 83, 86, 118, 128, 138, 139, 134, 135]);
/** Profiles that have nothing but intra pictures when constraint_set3_flag is set (A.2.8 and on, E.2.1). */
const MAYBE_INTRA = new Set([44, 86, 100, 110, 122, 244]);
const BASELINE = 66;
const EXTENDED_SAR = 255;
/** Level 6.2 goes up to 16,384; a claim of more is a fault. */
const MOST_SIDE = 16_384;
const MOST_FRAMES = 16;

/** Throws a `MediaFault` for anything that is no SPS. */
export function readSps(sps: Uint8Array): Sps {
  if (nalType(sps) !== NAL.sps) throw new MediaFault(`an SPS was expected, a NAL unit of type ${nalType(sps)} came`);
  try {
    return read(new BitReader(sps));
  } catch (error) {
    if (error instanceof MediaFault) throw new MediaFault(`the SPS is damaged: ${error.message}`, { cause: error });
    throw error;
  }
}

/** RFC 6381: `avc1.64001f`. */
export const codecName = (sps: Uint8Array): string =>
  `avc1.${Buffer.from([sps[1] ?? 0, sps[2] ?? 0, sps[3] ?? 0]).toString("hex")}`;

function read(bits: BitReader): Sps {
  const profileIdc = bits.bits(8);
  const constraintFlags = bits.bits(8);
  const levelIdc = bits.bits(8);
  bits.unsigned(31);
  const chroma = WITH_CHROMA.has(profileIdc)
    ? readChroma(bits)
    : { format: 1, isPlanar: false, depthLuma: 8, depthChroma: 8 };
  bits.unsigned(12);
  const orderType = readOrderType(bits);
  bits.unsigned(MOST_FRAMES);
  bits.bit();
  const columns = bits.unsigned(MOST_SIDE / 16 - 1) + 1;
  const rows = bits.unsigned(MOST_SIDE / 16 - 1) + 1;
  const isFrames = bits.flag();
  if (!isFrames) bits.bit();
  bits.bit();
  const mapRows = isFrames ? 1 : 2;
  const size = crop(bits, columns * 16, rows * 16 * mapRows, chroma, mapRows);
  return {
    ...size,
    profileIdc,
    constraintFlags,
    levelIdc,
    reorderFrames: readReorder(bits, profileIdc, constraintFlags, orderType),
    chromaFormat: chroma.format,
    depthLuma: chroma.depthLuma,
    depthChroma: chroma.depthChroma,
  };
}

interface Chroma {
  readonly format: number;
  readonly isPlanar: boolean;
  readonly depthLuma: number;
  readonly depthChroma: number;
}

function readChroma(bits: BitReader): Chroma {
  const format = bits.unsigned(3);
  const isPlanar = format === 3 && bits.flag();
  const depthLuma = bits.unsigned(6) + 8;
  const depthChroma = bits.unsigned(6) + 8;
  bits.bit();
  if (bits.flag()) {
    const lists = format === 3 ? 12 : 8;
    for (let i = 0; i < lists; i++) if (bits.flag()) skipScalingList(bits, i < 6 ? 16 : 64);
  }
  return { format, isPlanar, depthLuma, depthChroma };
}

function skipScalingList(bits: BitReader, size: number): void {
  let next = 8;
  for (let i = 0; i < size && next !== 0; i++) next = (next + bits.signed() + 256) & 0xff;
}

function readOrderType(bits: BitReader): number {
  const type = bits.unsigned(2);
  if (type === 0) bits.unsigned(12);
  if (type !== 1) return type;
  bits.bit();
  bits.signed();
  bits.signed();
  const cycle = bits.unsigned(255);
  for (let i = 0; i < cycle; i++) bits.signed();
  return type;
}

function crop(bits: BitReader, width: number, height: number, chroma: Chroma, mapRows: number) {
  if (!bits.flag()) return { width, height };
  // 6.2: without chroma, or with planes of their own, a sample is a luma sample.
  const isSubsampled = chroma.format > 0 && !chroma.isPlanar;
  const stepX = isSubsampled && chroma.format < 3 ? 2 : 1;
  const stepY = (isSubsampled && chroma.format === 1 ? 2 : 1) * mapRows;
  const [left, right, top, bottom] = [bits.unsigned(), bits.unsigned(), bits.unsigned(), bits.unsigned()];
  const cropped = { width: width - (left + right) * stepX, height: height - (top + bottom) * stepY };
  if (cropped.width <= 0 || cropped.height <= 0) throw new MediaFault("nothing of the picture is left after cropping");
  return cropped;
}

function readReorder(bits: BitReader, profileIdc: number, constraintFlags: number, orderType: number): number | null {
  const told = bits.flag() ? readVui(bits) : null;
  if (told !== null) return told;
  // Pictures of order type 2 are shown as they come (8.2.1.3), and Baseline has no B slices.
  if (orderType === 2 || profileIdc === BASELINE) return 0;
  return MAYBE_INTRA.has(profileIdc) && (constraintFlags & 0x10) !== 0 ? 0 : null;
}

/** max_num_reorder_frames. A VUI that ends too early (some cameras write such) tells nothing, and is no fault. */
function readVui(bits: BitReader): number | null {
  try {
    if (bits.flag() && bits.bits(8) === EXTENDED_SAR) bits.skip(32);
    if (bits.flag()) bits.skip(1);
    if (bits.flag()) {
      bits.skip(4);
      if (bits.flag()) bits.skip(24);
    }
    if (bits.flag()) for (let i = 0; i < 2; i++) bits.unsigned(5);
    if (bits.flag()) bits.skip(65);
    const hasNal = bits.flag();
    if (hasNal) skipHrd(bits);
    const hasVcl = bits.flag();
    if (hasVcl) skipHrd(bits);
    if (hasNal || hasVcl) bits.skip(1);
    bits.skip(1);
    if (!bits.flag()) return null;
    bits.skip(1);
    for (let i = 0; i < 4; i++) bits.unsigned(16);
    return bits.unsigned(MOST_FRAMES);
  } catch (error) {
    if (error instanceof MediaFault) return null;
    throw error;
  }
}

function skipHrd(bits: BitReader): void {
  const entries = bits.unsigned(31) + 1;
  bits.skip(8);
  for (let i = 0; i < entries; i++) {
    bits.unsigned();
    bits.unsigned();
    bits.skip(1);
  }
  bits.skip(20);
}
