/**
 * One fragment (ISO/IEC 14496-12, 8.8.4): a `moof` that describes the samples and an `mdat` that holds them, of video,
 * audio or both. Offsets are relative to the `moof`, so a fragment is valid at any position in a file.
 */
import { MediaError, type TimedKlv } from "../access-unit.ts";
import { readBoxes } from "./box.ts";
import { AUDIO_ID, KEY_SAMPLE, PREDICTED_SAMPLE, VIDEO_ID } from "./init-segment.ts";

/** Times are in ticks of the track. */
export interface Sample {
  /** Decoding time. */
  readonly time: number;
  readonly duration: number;
  /** Composition offset: PTS minus DTS. */
  readonly offset: number;
  readonly isKey: boolean;
  /** NAL units without lengths, or one AAC frame. */
  readonly parts: readonly Uint8Array[];
  /** Metadata of a picture, which is not a part of the fragment itself. */
  readonly klv?: readonly TimedKlv[] | undefined;
}

const HEADER_BYTES = 8;
const MFHD_BYTES = 16;
/** traf, tfhd, tfdt, and trun without entries. */
const TRAF_BYTES = HEADER_BYTES + 16 + 20 + 20;
const DEFAULT_BASE_IS_MOOF = 0x020000;
const LENGTH_BYTES = 4;

/** Flags of `trun`: which fields an entry has. */
const FIELDS = { offset: 0x1, duration: 0x100, size: 0x200, flags: 0x400, composition: 0x800 } as const;

interface Run {
  readonly id: number;
  readonly samples: readonly Sample[];
  readonly sizes: readonly number[];
  readonly fields: number;
  readonly entryBytes: number;
}

/** At least one of the two must have samples. */
export function writeFragment(sequence: number, video: readonly Sample[], audio: readonly Sample[]): Buffer {
  const runs = [makeVideoRun(video), makeAudioRun(audio)].filter(({ samples }) => samples.length > 0);
  const moofBytes = runs.reduce(
    (sum, { samples, entryBytes }) => sum + TRAF_BYTES + samples.length * entryBytes,
    HEADER_BYTES + MFHD_BYTES,
  );
  const mediaBytes = runs.reduce((sum, { sizes }) => sizes.reduce((a, b) => a + b, sum), 0);
  const bytes = Buffer.allocUnsafe(moofBytes + HEADER_BYTES + mediaBytes);
  let at = writeHeader(bytes, 0, moofBytes, "moof");
  at = writeHeader(bytes, at, MFHD_BYTES, "mfhd");
  at = writeNumbers(bytes, at, 0, sequence);
  let mediaAt = moofBytes + HEADER_BYTES;
  for (const run of runs) {
    at = writeTraf(bytes, at, run, mediaAt);
    mediaAt = writeMedia(bytes, mediaAt, run);
  }
  writeHeader(bytes, at, HEADER_BYTES + mediaBytes, "mdat");
  return bytes;
}

function makeVideoRun(samples: readonly Sample[]): Run {
  const isReordered = samples.some(({ offset }) => offset !== 0);
  const fields = FIELDS.offset | FIELDS.duration | FIELDS.size | FIELDS.flags;
  return {
    id: VIDEO_ID,
    samples,
    sizes: samples.map(({ parts }) => parts.reduce((sum, { length }) => sum + LENGTH_BYTES + length, 0)),
    fields: isReordered ? fields | FIELDS.composition : fields,
    entryBytes: isReordered ? 16 : 12,
  };
}

function makeAudioRun(samples: readonly Sample[]): Run {
  const sizes = samples.map(({ parts }) => parts.reduce((sum, { length }) => sum + length, 0));
  return { id: AUDIO_ID, samples, sizes, fields: FIELDS.offset | FIELDS.duration | FIELDS.size, entryBytes: 8 };
}

function writeTraf(bytes: Buffer, begin: number, run: Run, mediaAt: number): number {
  const { samples, entryBytes, fields } = run;
  const entriesBytes = samples.length * entryBytes;
  const time = samples[0]?.time ?? 0;
  let at = writeHeader(bytes, begin, TRAF_BYTES + entriesBytes, "traf");
  at = writeHeader(bytes, at, 16, "tfhd");
  at = writeNumbers(bytes, at, DEFAULT_BASE_IS_MOOF, run.id);
  at = writeHeader(bytes, at, 20, "tfdt");
  at = writeNumbers(bytes, at, 0x01000000, Math.floor(time / 2 ** 32), time % 2 ** 32);
  at = writeHeader(bytes, at, 20 + entriesBytes, "trun");
  at = writeNumbers(bytes, at, fields, samples.length, mediaAt);
  for (const [i, sample] of samples.entries()) {
    at = writeNumbers(bytes, at, sample.duration, run.sizes[i] ?? 0);
    if (fields & FIELDS.flags) at = writeNumbers(bytes, at, sample.isKey ? KEY_SAMPLE : PREDICTED_SAMPLE);
    if (fields & FIELDS.composition) at = writeNumbers(bytes, at, sample.offset);
  }
  return at;
}

function writeMedia(bytes: Buffer, begin: number, { id, samples }: Run): number {
  let at = begin;
  for (const { parts } of samples) {
    for (const part of parts) {
      if (id === VIDEO_ID) at = bytes.writeUInt32BE(part.length, at);
      bytes.set(part, at);
      at += part.length;
    }
  }
  return at;
}

function writeHeader(bytes: Buffer, at: number, length: number, type: string): number {
  bytes.writeUInt32BE(length, at);
  bytes.write(type, at + 4, 4, "latin1");
  return at + HEADER_BYTES;
}

function writeNumbers(bytes: Buffer, begin: number, ...numbers: readonly number[]): number {
  let at = begin;
  for (const number of numbers) at = bytes.writeUInt32BE(number, at);
  return at;
}

/** One sample of a fragment that was read. Times are in ticks of the track, as all times here. */
export interface RunSample {
  readonly duration: number;
  /** Composition offset: PTS minus DTS. */
  readonly offset: number;
  readonly bytes: number;
  readonly isKey: boolean;
}

export interface RunSamples {
  readonly trackId: number;
  /** Decoding time of the first sample. */
  readonly time: number;
  /** Of the first sample, from the start of the `moof`; the others follow it. */
  readonly position: number;
  readonly samples: readonly RunSample[];
}

export interface FragmentRun {
  readonly trackId: number;
  readonly time: number;
  readonly duration: number;
  /** When the last sample has been displayed. */
  readonly end: number;
  readonly samples: number;
  readonly bytes: number;
  readonly isKey: boolean;
}

const NON_SYNC = 0x10000;

/** Reads the content of a `moof` that `writeFragment` wrote. Throws a `MediaError` otherwise. */
export const readMoof = (content: Uint8Array): FragmentRun[] => readRuns(content).map(summarize);

/** The same, with every sample. */
export const readRuns = (content: Uint8Array): RunSamples[] =>
  readBoxes(content)
    .filter(({ type }) => type === "traf")
    .map((traf) => readTraf(traf.content));

function readTraf(content: Buffer): RunSamples {
  const boxes = readBoxes(content);
  const find = (type: string, least: number): Buffer => {
    const box = boxes.find((other) => other.type === type);
    if (box === undefined || box.content.length < least) throw new MediaError(`the fragment has no valid ${type} box`);
    return box.content;
  };
  const tfdt = find("tfdt", 12);
  const time = tfdt.readUInt32BE(4) * 2 ** 32 + tfdt.readUInt32BE(8);
  return { trackId: find("tfhd", 8).readUInt32BE(4), time, ...readTrun(find("trun", 12)) };
}

function readTrun(content: Buffer): Pick<RunSamples, "position" | "samples"> {
  const fields = content.readUInt32BE(0) & 0xffffff;
  const count = content.readUInt32BE(4);
  const hasFlags = (fields & FIELDS.flags) !== 0;
  const hasOffsets = (fields & FIELDS.composition) !== 0;
  const entryBytes = 8 + (hasFlags ? 4 : 0) + (hasOffsets ? 4 : 0);
  const needed = FIELDS.offset | FIELDS.duration | FIELDS.size;
  if ((fields & needed) !== needed || content.length < 12 + count * entryBytes)
    throw new MediaError("the fragment's trun box does not have the fields that Windhover writes");
  const samples = Array.from({ length: count }, (_, i): RunSample => {
    const at = 12 + i * entryBytes;
    return {
      duration: content.readUInt32BE(at),
      bytes: content.readUInt32BE(at + 4),
      offset: hasOffsets ? content.readUInt32BE(at + entryBytes - 4) : 0,
      isKey: !hasFlags || (content.readUInt32BE(at + 8) & NON_SYNC) === 0,
    };
  });
  return { position: content.readUInt32BE(8), samples };
}

function summarize({ trackId, time, samples }: RunSamples): FragmentRun {
  let duration = 0;
  let bytes = 0;
  let end = time;
  for (const sample of samples) {
    duration += sample.duration;
    bytes += sample.bytes;
    end = Math.max(end, time + duration + sample.offset);
  }
  return { trackId, time, duration, end, samples: samples.length, bytes, isKey: samples[0]?.isKey ?? false };
}
