/**
 * How KLV metadata is carried in an MPEG-2 transport stream (ISO/IEC 13818-1, MISB ST 1402):
 * - asynchronous: stream type 0x06 with the registration descriptor `KLVA`; a PES packet has KLV, and often a PTS;
 * - synchronous: stream type 0x15 with a metadata descriptor; a PES packet has a PTS and cells with a header before the KLV.
 */
import type { KlvCarriage } from "../access-unit.ts";
import { STREAM_TYPE } from "./packet.ts";

/** A PES packet of metadata is much smaller; one that is larger is damaged. */
export const MAX_KLV_BYTES = 2 ** 18;
/** Every unit begins with it (SMPTE 298M). */
const UNIVERSAL_LABEL = 0x060e2b34;
/** Service, sequence, flags and length of a cell. */
const CELL_BYTES = 5;

/** `type` and `format` of its elementary stream. */
export const isKlv = ({ type, format }: { readonly type: number; readonly format: string | null }): boolean =>
  format === "KLVA" && (type === STREAM_TYPE.private || type === STREAM_TYPE.metadata);

export const carriageOf = ({ type }: { readonly type: number }): KlvCarriage =>
  type === STREAM_TYPE.metadata ? "synchronous" : "asynchronous";

/** The KLV of a PES packet. The bytes decide whether it has cells: programs that copy streams mix the two up. */
export function splitCells(bytes: Uint8Array): readonly Buffer[] {
  const data = Buffer.from(bytes.buffer, bytes.byteOffset, bytes.length);
  const isPlain = data.length < CELL_BYTES + 4 || data.readUInt32BE(0) === UNIVERSAL_LABEL;
  if (isPlain || data.readUInt32BE(CELL_BYTES) !== UNIVERSAL_LABEL) return [data];
  const units: Buffer[] = [];
  for (let at = 0; at + CELL_BYTES <= data.length; ) {
    const end = at + CELL_BYTES + data.readUInt16BE(at + 3);
    const unit = data.subarray(at + CELL_BYTES, Math.min(end, data.length));
    if (unit.length >= 4 && unit.readUInt32BE(0) === UNIVERSAL_LABEL) units.push(unit);
    at = end;
  }
  return units;
}

/** A cell with one unit. */
export function writeCellHeader(sequence: number, unitBytes: number): Buffer {
  const header = Buffer.from([0, sequence, 0xdf, 0, 0]);
  header.writeUInt16BE(unitBytes, 3);
  return header;
}
