/**
 * One fragment (ISO/IEC 14496-12, 8.8.4): a `moof` that tells of the samples and an `mdat` that holds them, of the video,
 * the audio or both. Offsets count from the `moof`, so that a fragment is good wherever it stands in a file.
 */
import { KEY_SAMPLE, PREDICTED_SAMPLE } from "./init-segment.ts";
import { AUDIO_ID, VIDEO_ID } from "./timing.ts";

/** Times in ticks of its track. */
export interface Sample {
  /** When it is decoded. */
  readonly time: number;
  readonly duration: number;
  /** So much later it is shown. */
  readonly offset: number;
  readonly isKey: boolean;
  /** NAL units, which get their lengths here; or one frame of AAC. */
  readonly parts: readonly Uint8Array[];
}

const HEADER_BYTES = 8;
const MFHD_BYTES = 16;
/** traf, tfhd, tfdt, and trun without its entries. */
const TRAF_BYTES = HEADER_BYTES + 16 + 20 + 20;
const DEFAULT_BASE_IS_MOOF = 0x020000;
const LENGTH_BYTES = 4;

/** What each entry of `trun` has. */
const FIELDS = { offset: 0x1, duration: 0x100, size: 0x200, flags: 0x400, composition: 0x800 } as const;

interface Run {
  readonly id: number;
  readonly samples: readonly Sample[];
  readonly sizes: readonly number[];
  readonly fields: number;
  readonly entryBytes: number;
}

/** At least one of the two has samples. */
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
