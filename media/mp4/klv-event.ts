/**
 * KLV metadata in fragmented MP4, by MISB ST 1910: each unit is an event message (`emsg`, ISO/IEC 23009-1, 5.10.3.3) before the
 * fragment of its picture. Players that do not know it ignore it.
 */
import type { KlvCarriage, TimedKlv } from "../access-unit.ts";
import { u32, u64, writeFullBox } from "./box.ts";

const SCHEME = "urn:misb:KLV:bin:1910.1";
/** The first stream of metadata, with its `stream_id` in MPEG-TS. */
const VALUES: Readonly<Record<KlvCarriage, string>> = { synchronous: "KLV0:01FC", asynchronous: "KLV0:01BD" };
const SCALE = 1_000_000;
/** Version and flags, timescale, time, duration, id. */
const FIXED_BYTES = 4 + 4 + 8 + 4 + 4;

export interface KlvEvent extends TimedKlv {
  readonly carriage: KlvCarriage;
}

/** `ptsUs`: from the start of the file. */
export function writeKlvEvent(id: number, { ptsUs, data, carriage }: KlvEvent): Buffer {
  const names = Buffer.from(`${SCHEME}\0${VALUES[carriage]}\0`, "latin1");
  const time = Math.max(0, Math.round(ptsUs));
  return writeFullBox("emsg", 1, 0, u32(SCALE), u64(time), u32(0, id % 2 ** 32), names, data);
}

/** The content of an `emsg`; null if it is not KLV that `writeKlvEvent` wrote. */
export function readKlvEvent(content: Buffer): KlvEvent | null {
  if (content.length < FIXED_BYTES || content[0] !== 1) return null;
  const scale = content.readUInt32BE(4);
  const [schemeEnd, valueEnd] = findNames(content);
  if (scale === 0 || valueEnd < 0 || content.toString("latin1", FIXED_BYTES, schemeEnd) !== SCHEME) return null;
  const value = content.toString("latin1", schemeEnd + 1, valueEnd);
  const time = content.readUInt32BE(8) * 2 ** 32 + content.readUInt32BE(12);
  return {
    ...{ ptsUs: (time * 1e6) / scale, data: content.subarray(valueEnd + 1) },
    carriage: value === VALUES.synchronous ? "synchronous" : "asynchronous",
  };
}

function findNames(content: Buffer): readonly [number, number] {
  const schemeEnd = content.indexOf(0, FIXED_BYTES);
  return [schemeEnd, schemeEnd < 0 ? -1 : content.indexOf(0, schemeEnd + 1)];
}
