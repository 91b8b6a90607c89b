/**
 * Finds the intact fragments of a file whose writer may have died, and writes and finds the random access index (`mfra`,
 * ISO/IEC 14496-12, 8.8.9) at its end. Not `sidx`: it must precede the fragments, and players assume that each of its
 * entries is one fragment that starts with a keyframe.
 */
import type { FileHandle } from "node:fs/promises";
import { MediaError } from "../access-unit.ts";
import { type BoxHeader, findBox, readBoxes, readBoxHeader, u32, u64, writeBox, writeFullBox } from "./box.ts";
import { type FragmentRun, readMoof } from "./fragment.ts";
import { toTicks, toUs, VIDEO_ID, VIDEO_SCALE } from "./init-segment.ts";

export interface IntactFragment {
  /** Position of the `moof`, and size of `moof` and `mdat`. */
  readonly offset: number;
  readonly bytes: number;
  /** As in `Fragment`. */
  readonly startUs: number;
  readonly durationUs: number;
  readonly endUs: number;
  readonly pictures: number;
  readonly isKey: boolean;
}

export interface Intact {
  /** End of the last whole fragment; 0 without one. */
  readonly bytes: number;
  /** From the first picture to the end of the last. */
  readonly durationUs: number;
  readonly fragments: readonly IntactFragment[];
}

/** A larger `moov` or `moof` is damaged: one second of video has a few kilobytes. */
const MAX_HEADER_BYTES = 4 * 2 ** 20;
const MFRO_BYTES = 16;
/** traf, trun and sample number in a `tfra` entry, one byte each: always the first. */
const FIRST_SAMPLE = Uint8Array.of(1, 1, 1);

/** Does not read the media data. Damage ends the scan and is not an error; only system errors reject. */
export async function findIntact(file: FileHandle): Promise<Intact> {
  const { size } = await file.stat();
  const fragments: IntactFragment[] = [];
  let audioScale = VIDEO_SCALE;
  let moof: { readonly offset: number; readonly runs: readonly FragmentRun[] } | null = null;
  let hasMovie = false;
  let at = 0;
  for (;;) {
    const header: BoxHeader | null = readBoxHeader(await readAt(file, at, 16));
    if (header === null || at + header.bytes > size) break;
    const { type, headerBytes, bytes } = header;
    if ((type === "moov" || type === "moof") && bytes > MAX_HEADER_BYTES) break;
    if (type === "moov") {
      const moov = await readAt(file, at + headerBytes, bytes - headerBytes);
      audioScale = unlessDamaged(() => readAudioScale(moov)) ?? VIDEO_SCALE;
      hasMovie = true;
    } else if (type === "moof") {
      const content = await readAt(file, at + headerBytes, bytes - headerBytes);
      const runs = unlessDamaged(() => readMoof(content));
      if (runs === null || !hasMovie) break;
      moof = { offset: at, runs };
    } else if (type === "mdat") {
      if (moof === null || bytes - headerBytes !== moof.runs.reduce((sum, run) => sum + run.bytes, 0)) break;
      fragments.push(describe(moof.offset, at + bytes, moof.runs, audioScale));
      moof = null;
    }
    at += bytes;
  }
  const last = fragments.at(-1);
  return { bytes: last === undefined ? 0 : last.offset + last.bytes, durationUs: spanOf(fragments), fragments };
}

function describe(offset: number, end: number, runs: readonly FragmentRun[], audioScale: number): IntactFragment {
  const video = runs.find(({ trackId }) => trackId === VIDEO_ID);
  return {
    offset,
    bytes: end - offset,
    startUs: toUs(video?.time ?? 0, VIDEO_SCALE),
    durationUs: toUs(video?.duration ?? 0, VIDEO_SCALE),
    endUs: Math.max(...runs.map((run) => toUs(run.end, run.trackId === VIDEO_ID ? VIDEO_SCALE : audioScale))),
    pictures: video?.samples ?? 0,
    isKey: video?.isKey ?? false,
  };
}

/** From the first picture to the end of the last, in microseconds. */
export function spanOf(fragments: readonly IntactFragment[]): number {
  const withPictures = fragments.filter(({ pictures }) => pictures > 0);
  const [first, last] = [withPictures[0], withPictures.at(-1)];
  return first === undefined || last === undefined ? 0 : last.startUs + last.durationUs - first.startUs;
}

/** Timescale of the second track. Null without one. */
function readAudioScale(moov: Buffer): number | null {
  const audio = readBoxes(moov).filter(({ type }) => type === "trak")[1];
  const header = audio === undefined ? null : findBox(audio.content, "mdia", "mdhd");
  return header === null || header.length < 16 ? null : Math.max(header.readUInt32BE(12), 1);
}

function unlessDamaged<T>(read: () => T): T | null {
  try {
    return read();
  } catch (error) {
    if (error instanceof MediaError) return null;
    throw error;
  }
}

export async function readAt(file: FileHandle, at: number, bytes: number): Promise<Buffer> {
  const buffer = Buffer.allocUnsafe(bytes);
  const { bytesRead } = await file.read(buffer, 0, bytes, at);
  return buffer.subarray(0, bytesRead);
}

/** Lists the fragments that start with a keyframe. */
export function writeRandomAccess(fragments: readonly Pick<IntactFragment, "offset" | "startUs" | "isKey">[]): Buffer {
  const entries = fragments
    .filter(({ isKey }) => isKey)
    .map(({ offset, startUs }) => Buffer.concat([u64(toTicks(startUs, VIDEO_SCALE)), u64(offset), FIRST_SAMPLE]));
  const tfra = writeFullBox("tfra", 1, 0, u32(VIDEO_ID, 0, entries.length), ...entries);
  const bytes = 8 + tfra.length + MFRO_BYTES;
  return writeBox("mfra", tfra, writeFullBox("mfro", 0, 0, u32(bytes)));
}

/** Position of the index in a file of `size` bytes that ends with `tail`. Null without one. */
export function findRandomAccess(tail: Buffer, size: number): number | null {
  const at = tail.length - MFRO_BYTES;
  if (at < 0 || tail.toString("latin1", at + 4, at + 8) !== "mfro") return null;
  const bytes = tail.readUInt32BE(at + 12);
  return bytes >= MFRO_BYTES && bytes <= size ? size - bytes : null;
}
