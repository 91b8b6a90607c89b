/** AVCDecoderConfigurationRecord (ISO/IEC 14496-15, 5.3.3.1): what FLV and MP4 tell a decoder first. */
import { MediaFault } from "../fault.ts";
import { readSps } from "./sps.ts";

export interface AvcConfig {
  /** The first of each. */
  readonly sps: Uint8Array;
  readonly pps: Uint8Array;
  /** All of them, in their order. */
  readonly parameterSets: readonly Uint8Array[];
  /** Bytes of the length in front of each NAL unit. */
  readonly lengthSize: number;
}

/** Throws a `MediaFault` for anything that is none. */
export function readAvcConfig(bytes: Uint8Array): AvcConfig {
  if (bytes[0] !== 1)
    throw new MediaFault(`version 1 of the AVC configuration was expected, ${bytes[0] ?? "nothing"} came`);
  const lengthSize = (byteAt(bytes, 4) & 3) + 1;
  if (lengthSize === 3) throw new MediaFault("NAL units with lengths of 3 bytes are not allowed");
  const sps = readSets(bytes, 6, byteAt(bytes, 5) & 0x1f);
  const pps = readSets(bytes, sps.end + 1, byteAt(bytes, sps.end));
  const [firstSps, firstPps] = [sps.sets[0], pps.sets[0]];
  if (firstSps === undefined || firstPps === undefined)
    throw new MediaFault("the AVC configuration has no SPS or no PPS");
  return { sps: firstSps, pps: firstPps, parameterSets: [...sps.sets, ...pps.sets], lengthSize };
}

/** With lengths of four bytes. */
export function writeAvcConfig(sps: Uint8Array, pps: Uint8Array): Uint8Array {
  const { profileIdc, chromaFormat, depthLuma, depthChroma } = readSps(sps);
  // 5.3.3.1.2: all but the oldest profiles have four bytes more.
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
    if (end > bytes.length) throw cutOff();
    if (length > 0) sets.push(bytes.subarray(at + 2, end));
    at = end;
  }
  return { sets, end: at };
}

function byteAt(bytes: Uint8Array, at: number): number {
  const byte = bytes[at];
  if (byte === undefined) throw cutOff();
  return byte;
}

const cutOff = () => new MediaFault("the AVC configuration is cut off");
