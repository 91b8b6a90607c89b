/**
 * Reads parameter sets (ITU-T H.265, 7.3.2), and reads and writes the HEVCDecoderConfigurationRecord (ISO/IEC 14496-15,
 * 8.3.3.1) that carries them in FLV and MP4.
 */
import { MediaError } from "../access-unit.ts";
import type { BitReader } from "../bits.ts";
import type { DecoderConfig, ParameterSet } from "../codec.ts";
import { nalPayload } from "../h264/nal.ts";
import { HEADER_BYTES, NAL, nalType, readerOf } from "./nal.ts";

export interface Sps {
  readonly id: number;
  readonly vpsId: number;
  readonly width: number;
  readonly height: number;
  readonly reorderFrames: number;
  /** general_profile_space, general_tier_flag, general_profile_idc. */
  readonly profileSpace: number;
  readonly isHighTier: boolean;
  readonly profile: number;
  /** 4 and 6 bytes. */
  readonly compatibility: Uint8Array;
  readonly constraints: Uint8Array;
  readonly level: number;
  /** sps_max_sub_layers_minus1 + 1. */
  readonly subLayers: number;
  readonly isNested: boolean;
  readonly chromaFormat: number;
  readonly depthLuma: number;
  readonly depthChroma: number;
}

/** The largest side of level 6.2, rounded up. */
const MAX_SIDE = 16_888;
const MAX_REORDER = 16;
/** Profile and level are within this many, with emulation prevention bytes. */
const PROFILE_BYTES = 32;
/** Bits of one sub-layer's profile, and of its level. */
const PROFILE_BITS = 88;
const LEVEL_BITS = 8;

/** Throws a `MediaError` unless it is a valid SPS. */
export function readSps(nal: Uint8Array): Sps {
  if (nalType(nal) !== NAL.sps) throw new MediaError(`expected an SPS, received a NAL unit of type ${nalType(nal)}`);
  const bits = readerOf(nal, "the SPS");
  const vpsId = bits.bits(4);
  const subLayers = bits.bits(3) + 1;
  if (subLayers > 7) throw new MediaError("the SPS states 8 sub-layers; at most 7 are allowed");
  const isNested = bits.flag();
  const profileSpace = bits.bits(2);
  const isHighTier = bits.flag();
  const profile = bits.bits(5);
  bits.skip(80);
  const level = bits.bits(8);
  skipSubLayers(bits, subLayers - 1);
  // These are whole bytes of the payload: its first describes the layers, its second the profile.
  const payload = nalPayload(nal, PROFILE_BYTES, HEADER_BYTES);
  const id = bits.unsigned(15);
  const chromaFormat = bits.unsigned(3);
  if (chromaFormat === 3) bits.bit();
  const size = readSize(bits, chromaFormat);
  const depthLuma = bits.unsigned(8) + 8;
  const depthChroma = bits.unsigned(8) + 8;
  return {
    ...{ id, vpsId, ...size, profileSpace, isHighTier, profile, level, subLayers, isNested },
    ...{ compatibility: payload.slice(2, 6), constraints: payload.slice(6, 12), chromaFormat, depthLuma, depthChroma },
    reorderFrames: readReorder(bits, subLayers),
  };
}

function skipSubLayers(bits: BitReader, count: number): void {
  if (count === 0) return;
  const present = Array.from({ length: count }, () => [bits.flag(), bits.flag()] as const);
  bits.skip(2 * (8 - count));
  for (const [hasProfile, hasLevel] of present)
    bits.skip((hasProfile ? PROFILE_BITS : 0) + (hasLevel ? LEVEL_BITS : 0));
}

function readSize(bits: BitReader, chromaFormat: number): { width: number; height: number } {
  const [coded, codedHeight] = [bits.unsigned(MAX_SIDE), bits.unsigned(MAX_SIDE)];
  const [left, right, top, bottom] = bits.flag()
    ? [bits.unsigned(MAX_SIDE), bits.unsigned(MAX_SIDE), bits.unsigned(MAX_SIDE), bits.unsigned(MAX_SIDE)]
    : [0, 0, 0, 0];
  const stepX = chromaFormat === 1 || chromaFormat === 2 ? 2 : 1;
  const stepY = chromaFormat === 1 ? 2 : 1;
  const width = coded - (left + right) * stepX;
  const height = codedHeight - (top + bottom) * stepY;
  if (width <= 0 || height <= 0) throw new MediaError("the SPS crops the whole picture");
  return { width, height };
}

/** Of the highest sub-layer. */
function readReorder(bits: BitReader, subLayers: number): number {
  bits.unsigned(12);
  const count = bits.flag() ? subLayers : 1;
  let reorder = 0;
  for (let i = 0; i < count; i++) {
    bits.unsigned(MAX_REORDER);
    reorder = bits.unsigned(MAX_REORDER);
    bits.unsigned();
  }
  return reorder;
}

/** Throws a `MediaError`. */
export function readSet(nal: Uint8Array): ParameterSet {
  const type = nalType(nal);
  if (type === NAL.vps) return { kind: "vps", id: readerOf(nal, "the VPS").bits(4), refersTo: null, picture: null };
  if (type === NAL.pps) {
    const bits = readerOf(nal, "the PPS");
    return { kind: "pps", id: bits.unsigned(63), refersTo: bits.unsigned(15), picture: null };
  }
  const picture = readSps(nal);
  return { kind: "sps", id: picture.id, refersTo: picture.vpsId, picture };
}

const SPACES = ["", "A", "B", "C"] as const;

/** ISO/IEC 14496-15, annex E.3: `hvc1.1.6.L93.90`. */
export function codecName(nal: Uint8Array): string {
  const { profileSpace, profile, compatibility, isHighTier, level, constraints } = readSps(nal);
  const flags = Buffer.from(compatibility).readUInt32BE(0);
  let reversed = 0;
  for (let i = 0; i < 32; i++) reversed = reversed * 2 + ((flags >>> i) & 1);
  const last = constraints.findLastIndex((byte) => byte !== 0);
  return [
    ...["hvc1", `${SPACES[profileSpace]}${profile}`, toHex(reversed), `${isHighTier ? "H" : "L"}${level}`],
    ...[...constraints.subarray(0, last + 1)].map(toHex),
  ].join(".");
}

const toHex = (value: number): string => value.toString(16).toUpperCase();

/** Bytes before the arrays of parameter sets. */
const RECORD_BYTES = 23;
const TYPES: readonly number[] = [NAL.vps, NAL.sps, NAL.pps];
/** A stream has one or two of each. */
const MAX_SETS = 64;
/** All sets of this type are in the array, and none is in the stream. */
const COMPLETE = 0x80;

/** Throws a `MediaError`. */
export function readHevcConfig(bytes: Uint8Array): DecoderConfig {
  if (bytes[0] !== 1)
    throw new MediaError(`expected version 1 of the HEVC configuration, received ${bytes[0] ?? "no bytes"}`);
  const view = Buffer.from(bytes.buffer, bytes.byteOffset, bytes.byteLength);
  if (view.length < RECORD_BYTES) throw truncated();
  const lengthSize = (view.readUInt8(21) & 3) + 1;
  if (lengthSize === 3)
    throw new MediaError("the HEVC configuration has a NAL unit length of 3 bytes; 1, 2 and 4 are allowed");
  const sets: Uint8Array[] = [];
  let at = RECORD_BYTES;
  for (let array = view.readUInt8(22); array > 0; array--) {
    if (at + 3 > view.length) throw truncated();
    const count = view.readUInt16BE(at + 1);
    at += 3;
    for (let i = 0; i < count; i++) {
      const end = at + 2 + (at + 2 > view.length ? 0 : view.readUInt16BE(at));
      if (end > view.length) throw truncated();
      const set = bytes.subarray(at + 2, end);
      if (sets.length === MAX_SETS)
        throw new MediaError(`the HEVC configuration has more than ${MAX_SETS} parameter sets`);
      if (TYPES.includes(nalType(set)) && set.length > HEADER_BYTES) sets.push(set);
      at = end;
    }
  }
  return { parameterSets: sets.toSorted((a, b) => nalType(a) - nalType(b)), lengthSize };
}

const truncated = () => new MediaError("the HEVC configuration is truncated");

/** Of VPS, SPS and PPS. Throws a `MediaError` unless the SPS is valid. */
export function writeHevcConfig(sets: readonly Uint8Array[]): Buffer {
  const sps = readSps(sets.find((nal) => nalType(nal) === NAL.sps) ?? new Uint8Array(0));
  const head = Buffer.concat([
    Uint8Array.of(1, (sps.profileSpace << 6) | (sps.isHighTier ? 0x20 : 0) | sps.profile),
    sps.compatibility,
    sps.constraints,
    // Unknown segmentation and parallelism; reserved bits are ones.
    Uint8Array.of(sps.level, 0xf0, 0, 0xfc, 0xfc | sps.chromaFormat, 0xf8 | (sps.depthLuma - 8)),
    // Unknown frame rate; NAL unit lengths of 4 bytes.
    Uint8Array.of(0xf8 | (sps.depthChroma - 8), 0, 0, (sps.subLayers << 3) | (sps.isNested ? 4 : 0) | 3, TYPES.length),
  ]);
  const arrays = TYPES.flatMap((type) => {
    const found = sets.filter((nal) => nalType(nal) === type);
    return [
      Uint8Array.of(COMPLETE | type, 0, found.length),
      ...found.flatMap((nal) => [Uint8Array.of(nal.length >> 8, nal.length & 0xff), nal]),
    ];
  });
  return Buffer.concat([head, ...arrays]);
}
