/** How much of a file that was being written when its writer died is whole. */
import type { FileHandle } from "node:fs/promises";
import { MediaFault } from "../fault.ts";
import { type BoxHeader, findBox, readBoxes, readHeader } from "./read-boxes.ts";
import { type FragmentRun, readMoof } from "./read-fragment.ts";
import { toUs, VIDEO_ID, VIDEO_SCALE } from "./timing.ts";

export interface IntactFragment {
  /** Of `moof` and `mdat`, in the file. */
  readonly offset: number;
  readonly bytes: number;
  /** Of its pictures, as `Fragment` has them. */
  readonly startUs: number;
  readonly durationUs: number;
  readonly endUs: number;
  readonly pictures: number;
  readonly isKey: boolean;
}

export interface Intact {
  /** Up to the end of the last whole fragment; 0 where there is none. */
  readonly bytes: number;
  /** From the first picture to the end of the last one. */
  readonly durationUs: number;
  readonly fragments: readonly IntactFragment[];
}

/** A `moov` or `moof` that claims more is damaged: one second of video has a few kilobytes. */
const MOST_HEADER_BYTES = 4 * 2 ** 20;

/** Never reads the media itself. Damage ends the walk and is no error; what the system says is. */
export async function findIntact(file: FileHandle): Promise<Intact> {
  const { size } = await file.stat();
  const fragments: IntactFragment[] = [];
  let soundScale = VIDEO_SCALE;
  let moof: { readonly offset: number; readonly runs: readonly FragmentRun[] } | null = null;
  let hasMovie = false;
  let at = 0;
  for (;;) {
    const header: BoxHeader | null = readHeader(await readAt(file, at, 16));
    if (header === null || at + header.bytes > size) break;
    const { type, headerBytes, bytes } = header;
    if (type === "moov") {
      if (bytes > MOST_HEADER_BYTES) break;
      soundScale = readSoundScale(await readAt(file, at + headerBytes, bytes - headerBytes));
      hasMovie = true;
    }
    if (type === "moof") {
      const runs =
        bytes > MOST_HEADER_BYTES ? null : tryReadMoof(await readAt(file, at + headerBytes, bytes - headerBytes));
      if (runs === null || !hasMovie) break;
      moof = { offset: at, runs };
    } else if (type === "mdat") {
      if (moof === null || bytes - headerBytes !== moof.runs.reduce((sum, run) => sum + run.bytes, 0)) break;
      fragments.push(describe(moof.offset, at + bytes, moof.runs, soundScale));
      moof = null;
    }
    at += bytes;
  }
  const last = fragments.at(-1);
  return {
    bytes: last === undefined ? 0 : last.offset + last.bytes,
    durationUs: spanOf(fragments),
    fragments,
  };
}

function describe(offset: number, end: number, runs: readonly FragmentRun[], soundScale: number): IntactFragment {
  const video = runs.find(({ trackId }) => trackId === VIDEO_ID);
  return {
    offset,
    bytes: end - offset,
    startUs: toUs(video?.time ?? 0, VIDEO_SCALE),
    durationUs: toUs(video?.duration ?? 0, VIDEO_SCALE),
    endUs: Math.max(...runs.map((run) => toUs(run.end, run.trackId === VIDEO_ID ? VIDEO_SCALE : soundScale))),
    pictures: video?.samples ?? 0,
    isKey: video?.isKey ?? false,
  };
}

/** From the first picture to the end of the last one, in microseconds. */
export function spanOf(fragments: readonly IntactFragment[]): number {
  const withPictures = fragments.filter(({ pictures }) => pictures > 0);
  const [first, last] = [withPictures[0], withPictures.at(-1)];
  return first === undefined || last === undefined ? 0 : last.startUs + last.durationUs - first.startUs;
}

/** Ticks a second of the track that is not the video; any, where there is none. */
function readSoundScale(moov: Buffer): number {
  try {
    const sound = readBoxes(moov).filter(({ type }) => type === "trak")[1];
    const header = sound === undefined ? null : findBox(sound.content, "mdia", "mdhd");
    return header === null || header.length < 16 ? VIDEO_SCALE : Math.max(header.readUInt32BE(12), 1);
  } catch (error) {
    if (error instanceof MediaFault) return VIDEO_SCALE;
    throw error;
  }
}

async function readAt(file: FileHandle, at: number, bytes: number): Promise<Buffer> {
  const buffer = Buffer.allocUnsafe(bytes);
  const { bytesRead } = await file.read(buffer, 0, bytes, at);
  return buffer.subarray(0, bytesRead);
}

function tryReadMoof(content: Buffer): FragmentRun[] | null {
  try {
    return readMoof(content);
  } catch (error) {
    if (error instanceof MediaFault) return null;
    throw error;
  }
}
