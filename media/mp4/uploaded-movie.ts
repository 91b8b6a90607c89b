/**
 * The samples of an uploaded MP4 or QuickTime file, whose index is in its `moov` (ISO/IEC 14496-12, 8.5 to 8.7), for clips
 * that are cut out of it. The file was written by any program: everything is checked.
 */
import { MediaError } from "../access-unit.ts";
import { CODECS, SUPPORTED_VIDEO } from "../codecs.ts";
import { type Box, findBox, readBoxes, readBoxHeader, u16, u32, writeBox, writeFullBox } from "./box.ts";
import type { RunSample, RunSamples } from "./fragment.ts";
import { AUDIO_ID, VIDEO_ID, writeMovieHeader, writeTrack } from "./init-segment.ts";
import type { MovieTrack } from "./movie.ts";

/** It can be played, but not cut without encoding again. The message completes the sentence "the video …". */
export class NotCuttable extends Error {
  override readonly name = "NotCuttable";
}

interface MovieBytes {
  readonly bytes: number;
  /** Resolves with fewer bytes at the end of the file. */
  read(at: number, bytes: number): Promise<Buffer>;
}

export interface UploadedMovie {
  /** Content of a `moov` with a header only. */
  readonly moov: Buffer;
  readonly video: UploadedTrack;
  /** Null without AAC. */
  readonly audio: UploadedTrack | null;
  /** When its last frame ends, in milliseconds from its start. */
  readonly durationMs: number;
}

/** Times are in ticks of the track, on the time line of the movie: edit lists are applied. */
export interface UploadedTrack extends MovieTrack {
  readonly samples: SampleList;
}

/** All samples of a track, in decoding order. */
interface SampleList {
  readonly count: number;
  readonly times: Float64Array;
  /** Composition offsets, none of them negative. */
  readonly offsets: Float64Array;
  readonly sizes: Float64Array;
  readonly positions: Float64Array;
  /** Null: every sample is one. */
  readonly keys: ReadonlySet<number> | null;
  /** When the last one has been decoded, and when the last one has been displayed. */
  readonly decodedAt: number;
  readonly end: number;
  /** Samples displayed from here on are cut off by the edit list. */
  readonly limit: number;
}

const MAX_TOP_BOXES = 10_000;
/** A day of video at 30 fps has 32 MB. */
const MAX_MOOV_BYTES = 64 * 2 ** 20;
const MAX_SAMPLES = 3_000_000;
/** Clips show what precedes their first frame for a moment, which must be a fraction of a frame. */
const LEAST_SCALE = 90_000;
/** Samples that follow each other are copied together up to this long, so that video and audio stay near each other. */
const RUN_SECONDS = 1;

/** Rejects with `NotCuttable`, or with a `MediaError` for a damaged file. */
export async function readUploadedMovie(file: MovieBytes): Promise<UploadedMovie> {
  const moov = await findMovie(file);
  const boxes = readBoxes(moov);
  if (boxes.some(({ type }) => type === "mvex")) throw new NotCuttable("is a fragmented MP4 file of another program");
  const movieScale = readScale(expectBox(boxes, "mvhd", 24));
  const traks = boxes.filter(({ type }) => type === "trak").map(({ content }) => content);
  const videoTrak = traks.find((trak) => handlerOf(trak) === "vide");
  if (videoTrak === undefined) throw new MediaError("the file has no video track");
  const video = readTrack(videoTrak, "vide", movieScale, file.bytes);
  if (video === null) throw new NotCuttable(`is not ${SUPPORTED_VIDEO}`);
  const audioTrak = traks.find((trak) => handlerOf(trak) === "soun");
  const audio = audioTrak === undefined ? null : readTrack(audioTrak, "soun", movieScale, file.bytes);
  const header = findBox(writeMovieHeader(), "mvhd");
  const { end, limit } = video.samples;
  return {
    moov: writeBox("mvhd", header ?? Buffer.alloc(100)),
    ...{ video, audio, durationMs: (Math.min(end, limit) * 1000) / video.scale },
  };
}

/** Content of the `moov`, wherever it is in the file. */
async function findMovie(file: MovieBytes): Promise<Buffer> {
  let at = 0;
  for (let i = 0; i < MAX_TOP_BOXES && at < file.bytes; i += 1) {
    const start = await file.read(at, 16);
    // A length of 0 is that of the rest of the file.
    const header =
      start.length >= 8 && start.readUInt32BE(0) === 0
        ? { type: start.toString("latin1", 4, 8), headerBytes: 8, bytes: file.bytes - at }
        : readBoxHeader(start);
    if (at === 0 && start.toString("latin1", 0, 4) === "RIFF") throw new NotCuttable("is not in MP4 or QuickTime");
    if (header === null) break;
    if (header.type === "moof") throw new NotCuttable("is a fragmented MP4 file of another program");
    if (header.type === "moov") {
      if (header.bytes > MAX_MOOV_BYTES) throw new NotCuttable("has an index that is too large");
      const box = await file.read(at, header.bytes);
      if (box.length < header.bytes) break;
      return box.subarray(header.headerBytes);
    }
    at += header.bytes;
  }
  throw new MediaError("the file has no index of its frames");
}

function expectBox(boxes: readonly Box[], type: string, least: number): Buffer {
  const found = boxes.find((box) => box.type === type);
  if (found === undefined || found.content.length < least) throw new MediaError(`the file has no valid ${type} box`);
  return found.content;
}

/** Of `mvhd` and `mdhd`, which begin alike. */
function readScale(header: Buffer): number {
  const scale = header.readUInt32BE(header[0] === 1 ? 20 : 12);
  if (scale === 0) throw new MediaError("the file states a timescale of 0");
  return scale;
}

function handlerOf(trak: Buffer): string | null {
  const handler = findBox(trak, "mdia", "hdlr");
  return handler === null || handler.length < 12 ? null : handler.toString("latin1", 8, 12);
}

/** Null: it has another codec. */
function readTrack(
  trak: Buffer,
  handler: "vide" | "soun",
  movieScale: number,
  fileBytes: number,
): UploadedTrack | null {
  const [inTrak, mdia] = [readBoxes(trak), readBoxes(findBox(trak, "mdia") ?? Buffer.of())];
  const scale = readScale(expectBox(mdia, "mdhd", 24));
  const stbl = readBoxes(findBox(trak, "mdia", "minf", "stbl") ?? Buffer.of());
  const entries = readBoxes(expectBox(stbl, "stsd", 8).subarray(8));
  const [given] = entries;
  const entry = given === undefined ? null : handler === "vide" ? takeVideo(given) : writeAac(given);
  if (entry === null) return null;
  if (entries.length > 1) throw new NotCuttable("changes its parameters in the middle");
  const factor = Math.ceil(LEAST_SCALE / scale);
  const id = handler === "vide" ? VIDEO_ID : AUDIO_ID;
  const { matrix, size } = readShape(expectBox(inTrak, "tkhd", 84));
  const mediaHeader =
    handler === "vide" ? writeFullBox("vmhd", 0, 1, u16(0, 0, 0, 0)) : writeFullBox("smhd", 0, 0, u16(0, 0));
  const volume = handler === "vide" ? 0 : 0x100;
  const plain = writeTrack(id, size, volume, scale * factor, handler, mediaHeader, entry, matrix);
  const edit = readEdit(inTrak, scale, movieScale);
  return {
    ...{ id, scale: scale * factor, entry, trak: findBox(plain, "trak") ?? Buffer.of() },
    samples: readSamples(stbl, edit, factor, fileBytes),
  };
}

/** Sample entries of H.265 whose parameter sets may also be in the samples; cut, both are the same. */
const ALIASES: Readonly<Record<string, string>> = { hev1: "hvc1" };

/** With its parameter sets. Null: it is another codec. */
function takeVideo({ type, content }: Box): Buffer | null {
  const codec = Object.values(CODECS).find(({ fourCc }) => fourCc === (ALIASES[type] ?? type));
  return codec !== undefined && content.includes(codec.configBox, 78, "latin1") ? writeBox(type, content) : null;
}

/** As ISO has it: QuickTime has another form. Null: it is another codec. */
function writeAac({ type, content }: Box): Buffer | null {
  const at = content.indexOf("esds", 28, "latin1") - 4;
  if (type !== "mp4a" || at < 28) return null;
  const esds = content.subarray(at, at + content.readUInt32BE(at));
  return writeBox("mp4a", content.subarray(0, 8), u32(0, 0), content.subarray(16, 28), esds);
}

/** Of a `tkhd`: how the frame is turned, and its size. */
function readShape(header: Buffer): { readonly matrix: Buffer; readonly size: readonly [number, number] } {
  const at = header[0] === 1 ? 52 : 40;
  if (header.length < at + 44) throw new MediaError("the file has no valid tkhd box");
  const sizeOf = (position: number): number => header.readUInt32BE(position) / 2 ** 16;
  return { matrix: header.subarray(at, at + 36), size: [sizeOf(at + 36), sizeOf(at + 40)] };
}

interface Edit {
  /** Of the track, at time 0 of the movie. */
  readonly shift: number;
  /** Of the track, from the start of the movie. */
  readonly limit: number;
}

/** A pause, then one part of the track at its own speed: others are not cut. Times in ticks of the track. */
function readEdit(inTrak: readonly Box[], scale: number, movieScale: number): Edit {
  const edts = inTrak.find(({ type }) => type === "edts")?.content;
  const list = edts === undefined ? null : findBox(edts, "elst");
  if (list === null || list.length < 8) return { shift: 0, limit: Number.POSITIVE_INFINITY };
  const isLong = list[0] === 1;
  const rowBytes = isLong ? 20 : 12;
  const count = list.readUInt32BE(4);
  if (count === 0) return { shift: 0, limit: Number.POSITIVE_INFINITY };
  if (count > 16 || list.length < 8 + count * rowBytes) throw new NotCuttable("has an edit list of several parts");
  const rows = Array.from({ length: count }, (_, i) => {
    const at = 8 + i * rowBytes;
    return {
      duration: isLong ? Number(list.readBigUInt64BE(at)) : list.readUInt32BE(at),
      time: isLong ? Number(list.readBigInt64BE(at + 8)) : list.readInt32BE(at + 4),
      rate: list.readUInt32BE(at + rowBytes - 4),
    };
  });
  const pauses = rows.slice(0, -1);
  const part = rows.at(-1);
  if (part === undefined || part.time < 0 || part.rate !== 0x10000 || pauses.some(({ time }) => time !== -1))
    throw new NotCuttable("has an edit list of several parts");
  const toTicks = (duration: number): number => (duration * scale) / movieScale;
  const pause = Math.round(toTicks(pauses.reduce((sum, { duration }) => sum + duration, 0)));
  // Durations of the movie are rounded: the last frame must not be lost to that.
  const limit = part.duration === 0 ? Number.POSITIVE_INFINITY : pause + toTicks(part.duration + 1);
  return { shift: pause - part.time, limit };
}

function readSamples(stbl: readonly Box[], edit: Edit, factor: number, fileBytes: number): SampleList {
  if (stbl.some(({ type }) => type === "stz2")) throw new NotCuttable("has an index of small sample sizes");
  const stsz = expectBox(stbl, "stsz", 12);
  const count = stsz.readUInt32BE(8);
  if (count > MAX_SAMPLES) throw new NotCuttable(`has more than ${MAX_SAMPLES} frames`);
  const same = stsz.readUInt32BE(4);
  if (same === 0 && stsz.length < 12 + count * 4) throw new MediaError("the index of the file is incomplete");
  const sizes = new Float64Array(count);
  for (let i = 0; i < count; i += 1) sizes[i] = same === 0 ? stsz.readUInt32BE(12 + i * 4) : same;
  const offsets = spread(stbl, "ctts", count, 0);
  const least = offsets.reduce((lowest, offset) => Math.min(lowest, offset), 0);
  const durations = spread(stbl, "stts", count, 0);
  const times = new Float64Array(count);
  let time = edit.shift + least;
  for (let i = 0; i < count; i += 1) {
    times[i] = time * factor;
    offsets[i] = ((offsets[i] ?? 0) - least) * factor;
    time += durations[i] ?? 0;
  }
  // Durations are from one decoding time to the next, also of the frame that is displayed last.
  const last = times.reduce((found, time, i) => Math.max(found, time + (offsets[i] ?? 0)), 0);
  const stss = stbl.find(({ type }) => type === "stss")?.content;
  return {
    ...{ count, times, offsets, sizes, positions: locate(stbl, sizes, fileBytes) },
    ...{ keys: stss === undefined ? null : new Set(readNumbers(stss)), limit: edit.limit * factor },
    ...{ decodedAt: time * factor, end: last + (durations.at(-1) ?? 0) * factor },
  };
}

/** Runs of equal values of `stts` or `ctts`, one value per sample. */
function spread(stbl: readonly Box[], type: "stts" | "ctts", count: number, missing: number): Float64Array {
  const values = new Float64Array(count).fill(missing);
  const table = stbl.find((box) => box.type === type)?.content;
  if (table === undefined && type === "ctts") return values;
  const content = expectBox(stbl, type, 8);
  const rows = Math.min(content.readUInt32BE(4), Math.floor((content.length - 8) / 8));
  let at = 0;
  for (let row = 0; row < rows && at < count; row += 1) {
    const length = content.readUInt32BE(8 + row * 8);
    // Programs write negative offsets in version 0, too.
    const value = type === "ctts" ? content.readInt32BE(12 + row * 8) : content.readUInt32BE(12 + row * 8);
    const end = Math.min(count, at + length);
    values.fill(value, at, end);
    at = end;
  }
  return values;
}

/** Numbers of samples, from 0. */
function readNumbers(stss: Buffer): number[] {
  const rows = stss.length < 8 ? 0 : Math.min(stss.readUInt32BE(4), Math.floor((stss.length - 8) / 4));
  return Array.from({ length: rows }, (_, i) => stss.readUInt32BE(8 + i * 4) - 1);
}

/** Position of every sample in the file. */
function locate(stbl: readonly Box[], sizes: Float64Array, fileBytes: number): Float64Array {
  const isLong = stbl.some(({ type }) => type === "co64");
  const chunks = expectBox(stbl, isLong ? "co64" : "stco", 8);
  const chunkCount = Math.min(chunks.readUInt32BE(4), Math.floor((chunks.length - 8) / (isLong ? 8 : 4)));
  const stsc = expectBox(stbl, "stsc", 8);
  const rows = Math.min(stsc.readUInt32BE(4), Math.floor((stsc.length - 8) / 12));
  const positions = new Float64Array(sizes.length);
  let sample = 0;
  for (let row = 0; row < rows; row += 1) {
    const first = stsc.readUInt32BE(8 + row * 12);
    const perChunk = stsc.readUInt32BE(12 + row * 12);
    const next = row + 1 < rows ? stsc.readUInt32BE(20 + row * 12) : chunkCount + 1;
    for (let chunk = first; chunk < next && chunk <= chunkCount && chunk > 0 && sample < sizes.length; chunk += 1) {
      const at = 8 + (chunk - 1) * (isLong ? 8 : 4);
      let position = isLong ? Number(chunks.readBigUInt64BE(at)) : chunks.readUInt32BE(at);
      for (let i = 0; i < perChunk && sample < sizes.length; i += 1) {
        positions[sample] = position;
        position += sizes[sample] ?? 0;
        sample += 1;
      }
      if (position > fileBytes) throw new MediaError("the file is shorter than its index says");
    }
  }
  if (sample < sizes.length) throw new MediaError("the index of the file is incomplete");
  return positions;
}

/** What a clip of this range is made of, in the order of its times: from the keyframe before `fromMs` on. */
export function listRuns({ video, audio }: UploadedMovie, fromMs: number, toMs: number): readonly RunSamples[] {
  const toTicks = (ms: number, { scale }: UploadedTrack): number => (ms * scale) / 1000;
  const first = findKeyframe(video.samples, toTicks(fromMs, video));
  if (first === -1) return [];
  const pictures = cutRuns(video, first, toTicks(toMs, video));
  const beginMs = ((video.samples.times[first] ?? 0) * 1000) / video.scale;
  const sounds =
    audio === null ? [] : cutRuns(audio, findAt(audio.samples, toTicks(beginMs, audio)), toTicks(toMs, audio));
  const timeOf = ({ trackId, time }: RunSamples): number =>
    time / (trackId === VIDEO_ID ? video.scale : (audio?.scale ?? 1));
  const [begin, ...rest] = pictures;
  return begin === undefined ? [] : [begin, ...[...rest, ...sounds].sort((a, b) => timeOf(a) - timeOf(b))];
}

const isKey = ({ keys }: SampleList, i: number): boolean => keys === null || keys.has(i);

/** The last that is displayed at `ticks` or before, else the first; -1: there is none. */
function findKeyframe(list: SampleList, ticks: number): number {
  let found = -1;
  for (let i = 0; i < list.count; i += 1) {
    if (!isKey(list, i)) continue;
    if (found === -1 || (list.times[i] ?? 0) + (list.offsets[i] ?? 0) <= ticks) found = i;
    else if ((list.times[i] ?? 0) > ticks) break;
  }
  return found;
}

/** The first that has not ended at `ticks`. */
function findAt({ times, count }: SampleList, ticks: number): number {
  let [low, high] = [0, count];
  while (low < high) {
    const middle = (low + high) >> 1;
    if ((times[middle] ?? 0) <= ticks) low = middle + 1;
    else high = middle;
  }
  return Math.max(0, low - 1);
}

function cutRuns({ id, scale, samples: list }: UploadedTrack, first: number, end: number): RunSamples[] {
  const runs: RunSamples[] = [];
  let samples: RunSample[] = [];
  let [time, position, next] = [0, 0, 0];
  const close = (): void => {
    if (samples.length > 0) runs.push({ trackId: id, time, position, samples });
    samples = [];
  };
  for (let i = first; i < list.count && (list.times[i] ?? 0) < end; i += 1) {
    const [at, bytes, starts] = [list.positions[i] ?? 0, list.sizes[i] ?? 0, list.times[i] ?? 0];
    if (at !== next || starts - time >= RUN_SECONDS * scale) close();
    if (samples.length === 0) [time, position] = [starts, at];
    const duration = (i + 1 < list.count ? (list.times[i + 1] ?? 0) : list.decodedAt) - starts;
    samples.push({ duration, offset: list.offsets[i] ?? 0, bytes, isKey: isKey(list, i) });
    next = at + bytes;
  }
  close();
  return runs;
}
