/**
 * Reads the sequence parameter set (ITU-T H.264, 7.3.2.1.1 and annex E), and reads and writes the
 * AVCDecoderConfigurationRecord (ISO/IEC 14496-15, 5.3.3.1) that carries parameter sets in FLV and MP4.
 */
import { MediaError } from "../access-unit.ts";
import { BitReader } from "../bits.ts";
import type { DecoderConfig } from "../codec.ts";
import { NAL, nalPayload, nalType } from "./nal.ts";

export interface Sps {
  /** Of the displayed picture, after cropping. */
  readonly width: number;
  readonly height: number;
  readonly profileIdc: number;
  readonly constraintFlags: number;
  readonly levelIdc: number;
  /** max_num_reorder_frames. Null if neither the VUI nor the profile states it. */
  readonly reorderFrames: number | null;
  /** chroma_format_idc, and bits per sample. */
  readonly chromaFormat: number;
  readonly depthLuma: number;
  readonly depthChroma: number;
}

/** Profiles with chroma_format_idc (7.3.2.1.1). */
const WITH_CHROMA = new Set([100, 110, 122, 244, 44, 83, 86, 118, 128, 138, 139, 134, 135]);
/** Profiles that are intra-only with constraint_set3_flag (A.2.8 ff., E.2.1). */
const MAYBE_INTRA = new Set([44, 86, 100, 110, 122, 244]);
const BASELINE = 66;
const EXTENDED_SAR = 255;
/** The largest side of level 6.2. */
const MAX_SIDE = 16_384;
const MAX_FRAMES = 16;

/** Throws a `MediaError` unless it is a valid SPS. */
export function readSps(sps: Uint8Array): Sps {
  if (nalType(sps) !== NAL.sps) throw new MediaError(`expected an SPS, received a NAL unit of type ${nalType(sps)}`);
  const bits = new BitReader(nalPayload(sps), "the SPS");
  const profileIdc = bits.bits(8);
  const constraintFlags = bits.bits(8);
  const levelIdc = bits.bits(8);
  bits.unsigned(31);
  const chroma = WITH_CHROMA.has(profileIdc)
    ? readChroma(bits)
    : { format: 1, isPlanar: false, depthLuma: 8, depthChroma: 8 };
  bits.unsigned(12);
  const orderType = readOrderType(bits);
  bits.unsigned(MAX_FRAMES);
  bits.bit();
  const columns = bits.unsigned(MAX_SIDE / 16 - 1) + 1;
  const rows = bits.unsigned(MAX_SIDE / 16 - 1) + 1;
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
  // 6.2: without chroma, or with separate planes, crop units are luma samples.
  const isSubsampled = chroma.format > 0 && !chroma.isPlanar;
  const stepX = isSubsampled && chroma.format < 3 ? 2 : 1;
  const stepY = (isSubsampled && chroma.format === 1 ? 2 : 1) * mapRows;
  const [left, right, top, bottom] = [bits.unsigned(), bits.unsigned(), bits.unsigned(), bits.unsigned()];
  const cropped = { width: width - (left + right) * stepX, height: height - (top + bottom) * stepY };
  if (cropped.width <= 0 || cropped.height <= 0) throw new MediaError("the SPS crops the whole picture");
  return cropped;
}

function readReorder(bits: BitReader, profileIdc: number, constraintFlags: number, orderType: number): number | null {
  const stated = bits.flag() ? readVui(bits) : null;
  if (stated !== null) return stated;
  // Order type 2 displays pictures in decoding order (8.2.1.3), and Baseline has no B slices.
  if (orderType === 2 || profileIdc === BASELINE) return 0;
  return MAYBE_INTRA.has(profileIdc) && (constraintFlags & 0x10) !== 0 ? 0 : null;
}

/** Returns max_num_reorder_frames. A truncated VUI (some cameras write one) is not an error: null. */
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
    return bits.unsigned(MAX_FRAMES);
  } catch (error) {
    if (error instanceof MediaError) return null;
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

/** RFC 6381: `avc1.64001f`. */
export const codecName = (sps: Uint8Array): string =>
  `avc1.${Buffer.from([sps[1] ?? 0, sps[2] ?? 0, sps[3] ?? 0]).toString("hex")}`;

/** Every SPS, then every PPS; at least one of each. Throws a `MediaError` unless it is valid. */
export function readAvcConfig(bytes: Uint8Array): DecoderConfig {
  if (bytes[0] !== 1)
    throw new MediaError(`expected version 1 of the AVC configuration, received ${bytes[0] ?? "no bytes"}`);
  const lengthSize = (byteAt(bytes, 4) & 3) + 1;
  if (lengthSize === 3)
    throw new MediaError("the AVC configuration has a NAL unit length of 3 bytes; 1, 2 and 4 are allowed");
  const sps = readSets(bytes, 6, byteAt(bytes, 5) & 0x1f);
  const pps = readSets(bytes, sps.end + 1, byteAt(bytes, sps.end));
  if (sps.sets.length === 0 || pps.sets.length === 0)
    throw new MediaError("the AVC configuration has no SPS or no PPS");
  return { parameterSets: [...sps.sets, ...pps.sets], lengthSize };
}

/** Writes it with a NAL unit length of 4 bytes. */
export function writeAvcConfig(sps: Uint8Array, pps: Uint8Array): Uint8Array {
  const { profileIdc, chromaFormat, depthLuma, depthChroma } = readSps(sps);
  // 5.3.3.1.2: all profiles but the oldest have four more bytes.
  const more = ![66, 77, 88].includes(profileIdc)
    ? [0xfc | chromaFormat, 0xf8 | (depthLuma - 8), 0xf8 | (depthChroma - 8), 0]
    : [];
  const head = [1, sps[1] ?? 0, sps[2] ?? 0, sps[3] ?? 0, 0xff, 0xe1];
  return Buffer.concat([
    Uint8Array.from([...head, sps.length >> 8, sps.length & 0xff]),
    sps,
    Uint8Array.from([1, pps.length >> 8, pps.length & 0xff]),
    pps,
    Uint8Array.from(more),
  ]);
}

function readSets(bytes: Uint8Array, begin: number, count: number): { sets: Uint8Array[]; end: number } {
  const sets: Uint8Array[] = [];
  let at = begin;
  for (let i = 0; i < count; i++) {
    const length = byteAt(bytes, at) * 256 + byteAt(bytes, at + 1);
    const end = at + 2 + length;
    if (end > bytes.length) throw truncated();
    if (length > 0) sets.push(bytes.subarray(at + 2, end));
    at = end;
  }
  return { sets, end: at };
}

function byteAt(bytes: Uint8Array, at: number): number {
  const byte = bytes[at];
  if (byte === undefined) throw truncated();
  return byte;
}

const truncated = () => new MediaError("the AVC configuration is truncated");
