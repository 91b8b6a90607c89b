/**
 * Cuts a clip out of recorded files without decoding: an MP4 of known length whose index comes first, so that it is played
 * while it is received. It contains everything from the keyframe before the first frame; an edit list makes players start
 * exactly with that frame and end with the last one. The frames before it last a moment each, so that players that ignore
 * edit lists do not show them either. A second of the clip is a second of real time: before a gap of the recording, the last
 * frame stays.
 */
import { MediaError } from "../access-unit.ts";
import { findBox, readBoxHeader, u32, u64, writeBox } from "./box.ts";
import { type RunSamples, readRuns } from "./fragment.ts";
import { findRandomAccess } from "./fragment-index.ts";
import { AUDIO_ID, VIDEO_ID, VIDEO_SCALE } from "./init-segment.ts";
import { type Chunk, type MovieTrack, readTracks, type SampleTable, writeMovie } from "./movie.ts";
import { listRuns, type UploadedMovie } from "./uploaded-movie.ts";

/** One file of a recording. */
export interface ClipFile {
  /** Unix time at time 0 of the file. */
  readonly startedAtMs: number;
  /** As far as it may be read. */
  readonly bytes: number;
  /** Resolves with fewer bytes at the end of the file. */
  read(at: number, bytes: number): Promise<Buffer>;
}

export interface TimeRange {
  readonly fromMs: number;
  readonly toMs: number;
}

export interface CutRange extends TimeRange {
  /** With all frames from the keyframe on and without an edit list, for a program that selects frames by their times. */
  readonly isPlain?: boolean;
}

export interface ClipPiece<F extends ClipFile> {
  readonly file: F;
  readonly at: number;
  readonly bytes: number;
}

export interface Clip<F extends ClipFile = ClipFile> extends TimeRange {
  /** What comes before the pieces. */
  readonly head: Buffer;
  readonly pieces: readonly ClipPiece<F>[];
  /** Of head and pieces. */
  readonly bytes: number;
  /** Parts of the requested range without video. */
  readonly gaps: readonly TimeRange[];
  /** Of a plain clip: Unix time at time 0 of the clip, which is before its first frame. */
  readonly zeroMs: number;
}

interface Fragment {
  /** Of its `moof`. */
  readonly offset: number;
  readonly runs: readonly RunSamples[];
}

/** A `moof` of a second of video and its neighbour's header. Longer ones are read again. */
const WINDOW_BYTES = 4096;
/** `ftyp`, `moov` and label of a file. */
const HEAD_BYTES = 8192;
/** A damaged file could state any length. */
const MAX_HEADER_BYTES = 4 * 2 ** 20;
/** Of a finished file of a day: an index entry has 19 bytes, a keyframe comes once per second or so. */
const MAX_INDEX_BYTES = 16 * 2 ** 20;
/** Frames further apart than this are a gap, whatever their usual distance is. */
const GAP_SECONDS = 2;
/** So are frames further apart than this, and than this many usual distances. */
const SHORT_GAP_SECONDS = 1 / 2;
const SHORT_GAP_STEPS = 4;
/** Less than this at the ends of a range is not a gap: the duration of the last frame of a file is estimated. */
const NEAR_SECONDS = 1 / 4;
const MDAT_HEADER_BYTES = 16;
/** The first frame of a file is displayed at most this long after its start; until then one of the file before is. */
const REORDER_MS = 1000;
/** ffmpeg takes a step of more than 1000 times the usual one for a fault. */
const MOST_FASTER = 500;

/** `files`: in the order of their start. Null: none of them has a frame in this range. */
export async function cutClip<F extends ClipFile>(files: readonly F[], range: CutRange): Promise<Clip<F> | null> {
  const cutter = new ClipCutter<F>(range);
  const first = files.findLastIndex(({ startedAtMs }) => startedAtMs <= range.fromMs - REORDER_MS);
  for (const file of files.slice(Math.max(0, first))) await cutter.add(file);
  return cutter.finish();
}

/** Of an uploaded file, whose times are those of its video: a range beyond its end is cut off, and it has no gaps. */
export function cutMovie<F extends ClipFile>(file: F, movie: UploadedMovie, range: CutRange): Clip<F> | null {
  const toMs = Math.min(range.toMs, movie.durationMs);
  if (toMs <= range.fromMs) return null;
  const cutter = new ClipCutter<F>({ ...range, toMs });
  cutter.addMovie(file, movie);
  const clip = cutter.finish();
  return clip && { ...clip, gaps: [] };
}

class ClipCutter<F extends ClipFile> {
  readonly #range: CutRange;
  readonly #pieces: ClipPiece<F>[] = [];
  #mediaBytes = 0;
  #moov: Buffer | null = null;
  /** Unix time at time 0 of the clip: of its first sample. */
  #zeroMs = 0;
  #video: GrowingTable | null = null;
  #audio: GrowingTable | null = null;

  constructor(range: CutRange) {
    this.#range = range;
  }

  async add(file: F): Promise<void> {
    const { fromMs, toMs } = this.#range;
    const moov = findBox(await readHead(file), "moov");
    if (moov === null) return;
    const tracks = readTracks(moov);
    const [video, audio] = [VIDEO_ID, AUDIO_ID].map((id) => tracks.find((track) => track.id === id));
    if (video === undefined) return;
    const endTicks = (toMs - file.startedAtMs) * (VIDEO_SCALE / 1000);
    let isFirst = true;
    const begin = this.#video === null ? await findKey(file, (fromMs - file.startedAtMs) * (VIDEO_SCALE / 1000)) : 0;
    for await (const { offset, runs } of walk(file, begin)) {
      const pictures = runs.find(({ trackId }) => trackId === VIDEO_ID);
      const sounds = runs.find(({ trackId }) => trackId === AUDIO_ID);
      if (this.#video === null && (pictures === undefined || pictures.samples[0]?.isKey !== true)) continue;
      if (pictures !== undefined && pictures.time >= endTicks) return;
      if (this.#video === null) {
        this.#begin(moov, video, audio ?? null, file.startedAtMs + ((pictures?.time ?? 0) * 1000) / VIDEO_SCALE);
      }
      if (pictures !== undefined && this.#video !== null) {
        if (isFirst) this.#video.endBefore(this.#displayOf(file, pictures));
        isFirst = false;
        this.#take(this.#video, video, file, offset, pictures);
      }
      if (sounds !== undefined && audio !== undefined && this.#audio?.track.scale === audio.scale)
        this.#take(this.#audio, audio, file, offset, sounds);
    }
  }

  /** When the first picture of a run is displayed, in ticks of the clip. */
  #displayOf(file: F, { time, samples: [first] = [] }: RunSamples): number {
    return time + (first?.offset ?? 0) + (file.startedAtMs - this.#zeroMs) * (VIDEO_SCALE / 1000);
  }

  addMovie(file: F, movie: UploadedMovie): void {
    const { moov, video, audio } = movie;
    const runs = listRuns(movie, this.#range.fromMs - file.startedAtMs, this.#range.toMs - file.startedAtMs);
    this.#begin(moov, video, audio, file.startedAtMs + ((runs[0]?.time ?? 0) * 1000) / video.scale);
    for (const run of runs) {
      const [table, track] = run.trackId === VIDEO_ID ? [this.#video, video] : [this.#audio, audio];
      if (table !== null && track !== null) this.#take(table, track, file, 0, run);
    }
  }

  #begin(moov: Buffer, video: MovieTrack, audio: MovieTrack | null, zeroMs: number): void {
    this.#moov = moov;
    this.#zeroMs = zeroMs;
    this.#video = new GrowingTable(video);
    if (audio !== null) this.#audio = new GrowingTable(audio);
  }

  /** The samples that are decoded before the end of the range. */
  #take(table: GrowingTable, track: MovieTrack, file: F, offset: number, run: RunSamples): void {
    const { scale } = track;
    const shift = ((file.startedAtMs - this.#zeroMs) * scale) / 1000;
    const end = ((this.#range.toMs - this.#zeroMs) * scale) / 1000;
    let at = offset + run.position;
    let time = run.time;
    let [taken, bytes] = [0, 0];
    for (const sample of run.samples) {
      const onClip = Math.round(time + shift);
      time += sample.duration;
      if (onClip >= end) break;
      if (onClip < 0)
        at += sample.bytes; // audio before the keyframe
      else {
        table.add(onClip, sample);
        taken += 1;
        bytes += sample.bytes;
      }
    }
    if (taken === 0) return;
    table.addChunk({ position: this.#mediaBytes, samples: taken }, track.entry);
    this.#mediaBytes += bytes;
    const last = this.#pieces.at(-1);
    if (last !== undefined && last.file === file && last.at + last.bytes === at)
      this.#pieces[this.#pieces.length - 1] = { ...last, bytes: last.bytes + bytes };
    else this.#pieces.push({ file, at, bytes });
  }

  finish(): Clip<F> | null {
    const { fromMs, toMs, isPlain = false } = this.#range;
    const [moov, video] = [this.#moov, this.#video];
    if (moov === null || video === null || video.times.length === 0) return null;
    const { scale } = video.track;
    const toTicks = (ms: number): number => (ms - this.#zeroMs) * (scale / 1000);
    const toMsOf = (ticks: number): number => this.#zeroMs + (ticks * 1000) / scale;
    const shown = findShown(video, toTicks(fromMs), toTicks(toMs));
    if (shown === null) return null;
    const { start, end } = shown;
    const tables = [isPlain ? video.toTable(0, video.end) : this.#toShown(video, start, end)];
    const audio = isPlain ? null : this.#audio;
    if (audio !== null) {
      const [from = 0, to = 0] = [start, end].map((time) => Math.round((time * audio.track.scale) / scale));
      audio.keepBetween(from, to);
      if (audio.times.length > 0) tables.push(audio.toTable(from, to));
    }
    const type = writeBox("ftyp", Buffer.from("isom", "latin1"), u32(0x200), Buffer.from("isomiso2avc1mp41", "latin1"));
    const before = type.length + writeMovie(moov, tables, 0).length + MDAT_HEADER_BYTES;
    const mdat = Buffer.concat([u32(1), Buffer.from("mdat", "latin1"), u64(MDAT_HEADER_BYTES + this.#mediaBytes)]);
    const head = Buffer.concat([type, writeMovie(moov, tables, before), mdat]);
    const missing = shown.gaps.map(([from, to]) => ({ fromMs: toMsOf(from), toMs: toMsOf(to) }));
    return {
      ...{ head, pieces: this.#pieces, bytes: head.length + this.#mediaBytes },
      ...{ fromMs: toMsOf(start), toMs: toMsOf(end), gaps: missing, zeroMs: this.#zeroMs },
    };
  }

  /** An edit list shows what is between these times. */
  #toShown(video: GrowingTable, start: number, end: number): SampleTable {
    video.keepOneStart(start);
    const hidden = video.hideBefore(start);
    const length = end - start;
    // GStreamer 1.22 ends a track after a keyframe when the next frame is later in the track than the track is long.
    const isKeyNext = video.keys.at(-2) === true && video.displayedBy(hidden + length);
    return video.toTable(hidden, hidden + length + (isKeyNext ? hidden : 0));
  }
}

/** The samples of one track while files are added. */
class GrowingTable {
  readonly track: MovieTrack;
  times: number[] = [];
  offsets: number[] = [];
  readonly durations: number[] = [];
  readonly #sizes: number[] = [];
  readonly keys: boolean[] = [];
  readonly #chunks: Chunk[] = [];
  readonly #entries: Buffer[] = [];

  constructor(track: MovieTrack) {
    this.track = track;
  }

  /** When the last sample has been displayed. */
  get end(): number {
    return this.times.reduce(
      (end, time, i) => Math.max(end, time + (this.offsets[i] ?? 0) + (this.durations[i] ?? 0)),
      0,
    );
  }

  /** All samples are displayed before `end`. */
  displayedBy(end: number): boolean {
    return this.times.every((time, i) => time + (this.offsets[i] ?? 0) < end);
  }

  add(time: number, { duration, offset, bytes, isKey }: RunSamples["samples"][number]): void {
    // The first of a file can be a rounding error before the end of the file before.
    this.times.push(Math.max(time, (this.times.at(-1) ?? -1) + 1));
    this.offsets.push(offset);
    this.durations.push(duration);
    this.#sizes.push(bytes);
    this.keys.push(isKey);
  }

  addChunk(chunk: Omit<Chunk, "entry">, entry: Buffer): void {
    let index = this.#entries.findIndex((known) => known.equals(entry));
    if (index === -1) index = this.#entries.push(entry) - 1;
    this.#chunks.push({ ...chunk, entry: index });
  }

  /**
   * The next file begins there. Where a clock was set back, frames of this one would be displayed later: they are left out,
   * with those that are decoded after them.
   */
  endBefore(start: number): void {
    const kept = this.times.findIndex((time, i) => time + (this.offsets[i] ?? 0) >= start);
    if (kept !== -1) this.#truncate(kept);
  }

  #truncate(length: number): void {
    let dropped = this.times.length - length;
    for (const values of [this.times, this.offsets, this.durations, this.keys, this.#sizes]) values.length = length;
    while (dropped > 0) {
      const last = this.#chunks.pop();
      if (last === undefined) return;
      if (last.samples > dropped) this.#chunks.push({ ...last, samples: last.samples - dropped });
      dropped -= last.samples;
    }
  }

  /**
   * With an open GOP, the first frame may be displayed before a keyframe that is decoded earlier, and refer to frames before
   * that. Players that start with the last keyframe decoded before the first frame would lose it: it is not marked as one.
   */
  keepOneStart(start: number): void {
    const displayed = this.times.map((time, i) => time + (this.offsets[i] ?? 0));
    const first = displayed.indexOf(start);
    for (let i = 1; i < first; i++) if ((displayed[i] ?? 0) > start) this.keys[i] = false;
  }

  /**
   * Frames that are displayed before `start` last a moment each, and others are decoded as late as possible. Returns the new
   * time of `start`, which is small.
   */
  hideBefore(start: number): number {
    const displayed = this.times.map((time, i) => time + (this.offsets[i] ?? 0));
    const hidden = displayed.flatMap((time, i) => (time < start ? [i] : []));
    const inOrder = hidden.toSorted((a, b) => (displayed[a] ?? 0) - (displayed[b] ?? 0));
    // Parsers of H.264 replace durations by that of the frame rate, which must end before the first frame, too.
    const longest = Math.max(...(hidden.length > 0 ? hidden : [0]).map((i) => this.durations[i] ?? 0));
    const moment = Math.max(1, Math.ceil(longest / MOST_FASTER));
    // They are decoded one after the other, and displayed when all before them are.
    const delay = Math.max(0, ...inOrder.map((decoded, at) => decoded - at));
    const newStart = hidden.length === 0 ? 0 : (hidden.length + delay) * moment + longest;
    const shownAt = displayed.map((time) => newStart + time - start);
    for (const [at, i] of inOrder.entries()) shownAt[i] = (delay + at) * moment;
    let last = -moment;
    this.times = this.times.map((time) => {
      last = Math.max(last + moment, newStart + time - start);
      return last;
    });
    this.offsets = this.times.map((time, i) => Math.max(0, (shownAt[i] ?? 0) - time));
    return newStart;
  }

  /**
   * For audio, whose samples do not depend on others. The last one is left out if it is later in the track than the track is
   * long, as the first one begins before `start`: GStreamer 1.22 would end all tracks there.
   */
  keepBetween(start: number, end: number): void {
    const kept = this.times.findIndex((time, i) => time + (this.durations[i] ?? 0) > start);
    const dropped = kept === -1 ? this.times.length : kept;
    for (const values of [this.times, this.offsets, this.durations, this.keys]) values.splice(0, dropped);
    this.#dropChunks(this.#sizes.splice(0, dropped));
    const [first = 0] = this.times;
    while ((this.times.at(-1) ?? first) - first >= Math.max(1, end - start)) this.#truncate(this.times.length - 1);
  }

  /** `bytes`: of each sample. */
  #dropChunks(bytes: readonly number[]): void {
    let left = bytes;
    while (left.length > 0) {
      const chunk = this.#chunks.shift();
      if (chunk === undefined) return;
      const skipped = left.slice(0, chunk.samples);
      left = left.slice(chunk.samples);
      const samples = chunk.samples - skipped.length;
      const position = skipped.reduce((sum, size) => sum + size, chunk.position);
      if (samples > 0) this.#chunks.unshift({ ...chunk, position, samples });
    }
  }

  toTable(start: number, end: number): SampleTable {
    const { track, times, offsets } = this;
    return {
      ...{ track, times, offsets, start, end, entries: this.#entries, sizes: this.#sizes, keys: this.keys },
      ...{ chunks: this.#chunks, lastDuration: this.durations.at(-1) ?? 0 },
    };
  }
}

interface Shown {
  /** When the first frame is displayed and the last one ends. */
  readonly start: number;
  readonly end: number;
  readonly gaps: readonly (readonly [number, number])[];
}

/** The frames that are displayed between `from` and `to`: the first is on display at `from`. Null: there are none. */
function findShown(table: GrowingTable, from: number, to: number): Shown | null {
  const { times, offsets, durations, track } = table;
  const [gapTicks, nearTicks] = [GAP_SECONDS * track.scale, NEAR_SECONDS * track.scale];
  const frames = times
    .map((time, i) => ({ pts: time + (offsets[i] ?? 0), duration: durations[i] ?? 0 }))
    .sort((a, b) => a.pts - b.pts);
  const isOn = (frame: (typeof frames)[number]) =>
    frame.pts <= from && frame.pts + Math.max(frame.duration, gapTicks) > from;
  const first = frames.findLastIndex(isOn);
  const begin = first >= 0 ? first : frames.findIndex(({ pts }) => pts > from);
  const last = frames.findLastIndex(({ pts }) => pts < to);
  const [one, other] = [frames[begin], frames[last]];
  if (one === undefined || other === undefined || last < begin) return null;
  // Durations are from one decoding time to the next: with B-frames they differ from the time on display.
  const stated = other.pts + other.duration;
  const end = to - stated <= nearTicks ? Math.round(to) : stated;
  const gaps: [number, number][] = [];
  if (one.pts - from > nearTicks) gaps.push([from, one.pts]);
  const steps = frames.slice(0, -1).map(({ pts }, i) => (frames[i + 1]?.pts ?? pts) - pts);
  // Of all that was read: of a short range, a gap may be the only step.
  const usual = steps.toSorted((a, b) => a - b)[Math.floor((steps.length - 1) / 2)] ?? 0;
  const most = Math.min(gapTicks, Math.max(SHORT_GAP_SECONDS * track.scale, SHORT_GAP_STEPS * usual));
  for (const [i, step] of steps.slice(begin, last).entries()) {
    const { pts = 0, duration = 0 } = frames[begin + i] ?? {};
    if (step > most) gaps.push([Math.max(from, pts + Math.min(duration, usual, gapTicks)), pts + step]);
  }
  if (to - end > nearTicks) gaps.push([end, to]);
  return { start: one.pts, end, gaps };
}

export async function readHead(file: Pick<ClipFile, "read">): Promise<Buffer> {
  let view = await file.read(0, HEAD_BYTES);
  let at = 0;
  for (;;) {
    const header = readBoxHeader(view.subarray(at, at + 16));
    if (header === null || header.bytes > MAX_HEADER_BYTES) throw new MediaError("the recording has no valid header");
    if (at + header.bytes > view.length) view = await file.read(0, at + header.bytes);
    if (at + header.bytes > view.length) throw new MediaError("the recording has no valid header");
    at += header.bytes;
    if (header.type === "moov") return view.subarray(0, at);
  }
}

/** Whole fragments from this position on, which is one of a box. Does not read the media data. */
async function* walk(file: ClipFile, begin: number): AsyncGenerator<Fragment> {
  let at = begin;
  while (at < file.bytes) {
    let view = await file.read(at, WINDOW_BYTES);
    const skipped = countOtherBytes(view);
    if (skipped > 0) {
      at += skipped;
      continue;
    }
    const header = readBoxHeader(view.subarray(0, 16));
    if (header === null || header.type === "mfra") return;
    if (header.type === "moof") {
      if (header.bytes > MAX_HEADER_BYTES) return;
      if (header.bytes + 16 > view.length) view = await file.read(at, header.bytes + 16);
      const media = readBoxHeader(view.subarray(header.bytes, header.bytes + 16));
      if (media === null || media.type !== "mdat" || at + header.bytes + media.bytes > file.bytes) return;
      yield { offset: at, runs: readRuns(view.subarray(header.headerBytes, header.bytes)) };
      at += header.bytes + media.bytes;
    }
  }
}

/** Of boxes before the next fragment or the index: metadata, of which there may be many. */
function countOtherBytes(view: Buffer): number {
  let at = 0;
  for (;;) {
    const header = readBoxHeader(view.subarray(at, at + 16));
    if (header === null || header.type === "moof" || header.type === "mfra") return at;
    at += header.bytes;
  }
}

/** Position of the last fragment that starts with a keyframe displayed at `ticks` or before; else of the first. */
async function findKey(file: ClipFile, ticks: number): Promise<number> {
  const known = await readKeys(file);
  if (known !== null) {
    for (const { offset } of known.filter(({ time }) => time <= ticks).reverse())
      for await (const { runs } of walk(file, offset)) {
        if (isKeyBy(runs, ticks)) return offset;
        break;
      }
    return known[0]?.offset ?? 0;
  }
  let found = 0;
  for await (const { offset, runs } of walk(file, 0)) {
    if (isKeyBy(runs, ticks)) found = offset;
    else if ((runs.find(({ trackId }) => trackId === VIDEO_ID)?.time ?? 0) > ticks) break;
  }
  return found;
}

function isKeyBy(runs: readonly RunSamples[], ticks: number): boolean {
  const { time, samples: [first] = [] } = runs.find(({ trackId }) => trackId === VIDEO_ID) ?? { time: 0 };
  return first?.isKey === true && time + first.offset <= ticks;
}

/** Of the index at the end of a finished file (`writeRandomAccess`); null: there is none. */
async function readKeys(file: ClipFile): Promise<{ readonly time: number; readonly offset: number }[] | null> {
  const tail = await file.read(Math.max(0, file.bytes - 16), 16);
  const at = findRandomAccess(tail, file.bytes);
  if (at === null || file.bytes - at > MAX_INDEX_BYTES) return null;
  const tfra = findBox(await file.read(at, file.bytes - at), "mfra", "tfra");
  if (tfra === null || tfra.length < 16) return null;
  const count = Math.min(tfra.readUInt32BE(12), Math.floor((tfra.length - 16) / ENTRY_BYTES));
  const readU64 = (position: number) => tfra.readUInt32BE(position) * 2 ** 32 + tfra.readUInt32BE(position + 4);
  return Array.from({ length: count }, (_, i) => {
    const position = 16 + i * ENTRY_BYTES;
    return { time: readU64(position), offset: readU64(position + 8) };
  });
}

/** Time, position, and three bytes. */
const ENTRY_BYTES = 19;
