/** The length of the video in a fragmented MP4 of any writer, which may still grow (ISO/IEC 14496-12, 8.8). */
import type { FileHandle } from "node:fs/promises";
import { MediaError } from "../access-unit.ts";
import { type Box, findBox, readBoxes, readBoxHeader } from "./box.ts";
import { readAt } from "./fragment-index.ts";

/** What has been read of a file, to continue there when it has grown. */
export interface MeasuredFragments {
  /** The next box. */
  readonly at: number;
  /** Of the first track; null: the `moov` has not been read. */
  readonly track: { readonly id: number; readonly scale: number; readonly sampleTicks: number } | null;
  readonly ticks: number;
}

const BEGIN: MeasuredFragments = { at: 0, track: null, ticks: 0 };
/** A larger `moov` or `moof` is damaged. */
const MAX_HEADER_BYTES = 4 * 2 ** 20;

export const lengthMs = ({ track, ticks }: MeasuredFragments): number | null =>
  track === null ? null : (ticks / track.scale) * 1000;

/** Reads no media data. Stops at a box that is incomplete or damaged; only system errors reject. */
export async function measureFragments(file: FileHandle, known: MeasuredFragments = BEGIN): Promise<MeasuredFragments> {
  const { size } = await file.stat();
  let { at, track, ticks } = known.at > size ? BEGIN : known;
  for (;;) {
    const header = readBoxHeader(await readAt(file, at, 16));
    if (header === null || at + header.bytes > size) return { at, track, ticks };
    const { type, headerBytes, bytes } = header;
    if (type === "moov" || type === "moof") {
      if (bytes > MAX_HEADER_BYTES) return { at, track, ticks };
      const content = await readAt(file, at + headerBytes, bytes - headerBytes);
      try {
        if (type === "moov") track = readTrack(content);
        else if (track !== null) ticks += sumDurations(content, track);
      } catch (error) {
        if (error instanceof MediaError) return { at, track, ticks };
        throw error;
      }
    }
    at += bytes;
  }
}

type Track = NonNullable<MeasuredFragments["track"]>;

function readTrack(moov: Buffer): MeasuredFragments["track"] {
  const trak = readBoxes(moov).find(({ type }) => type === "trak");
  const tkhd = trak && findBox(trak.content, "tkhd");
  const mdhd = trak && findBox(trak.content, "mdia", "mdhd");
  if (tkhd == null || mdhd == null) return null;
  // Version 1 has times of 8 bytes.
  const [id, scale] = [tkhd, mdhd].map((box) => numberAt(box, box[0] === 1 ? 20 : 12));
  if (id === undefined || !scale) return null;
  const mvex = readBoxes(moov).find(({ type }) => type === "mvex");
  const trex = mvex && readBoxes(mvex.content).find((box) => box.type === "trex" && numberAt(box.content, 4) === id);
  return { id, scale, sampleTicks: (trex && numberAt(trex.content, 12)) ?? 0 };
}

function sumDurations(moof: Buffer, track: Track): number {
  let ticks = 0;
  for (const traf of readBoxes(moof).filter(({ type }) => type === "traf")) {
    const boxes = readBoxes(traf.content);
    const tfhd = boxes.find(({ type }) => type === "tfhd")?.content;
    if (tfhd === undefined || numberAt(tfhd, 4) !== track.id) continue;
    const flags = (numberAt(tfhd, 0) ?? 0) & 0xffffff;
    const at = 8 + ((flags & 1) === 0 ? 0 : 8) + ((flags & 2) === 0 ? 0 : 4);
    const usual = (flags & 8) === 0 ? track.sampleTicks : (numberAt(tfhd, at) ?? 0);
    for (const trun of boxes.filter(({ type }) => type === "trun")) ticks += sumRun(trun, usual);
  }
  return ticks;
}

function sumRun({ content }: Box, usual: number): number {
  const fields = (numberAt(content, 0) ?? 0) & 0xffffff;
  const count = numberAt(content, 4) ?? 0;
  if ((fields & 0x100) === 0) return count * usual;
  const first = 8 + ((fields & 1) === 0 ? 0 : 4) + ((fields & 4) === 0 ? 0 : 4);
  const step = 4 * [0x100, 0x200, 0x400, 0x800].filter((field) => (fields & field) !== 0).length;
  let ticks = 0;
  for (let i = 0; i < count && first + i * step + 4 <= content.length; i++)
    ticks += content.readUInt32BE(first + i * step);
  return ticks;
}

const numberAt = (bytes: Buffer, at: number): number | undefined =>
  at + 4 <= bytes.length ? bytes.readUInt32BE(at) : undefined;
