/** A `moov` with an index of all samples (ISO/IEC 14496-12, 8.5 to 8.7), made from the `moov` of a fragmented file. */
import { MediaError } from "../access-unit.ts";
import { type Box, findBox, readBoxes, u32, u32s, u64, writeBox, writeFullBox } from "./box.ts";

/** One track of a fragmented file. */
export interface MovieTrack {
  readonly id: number;
  /** Ticks per second. */
  readonly scale: number;
  /** The only entry of its `stsd`: codec and parameter sets. */
  readonly entry: Buffer;
  /** Content of its `trak`. */
  readonly trak: Buffer;
}

/** Samples that follow each other in the file. */
export interface Chunk {
  /** From the start of the media data. */
  readonly position: number;
  readonly samples: number;
  /** Which of the entries describes them. */
  readonly entry: number;
}

/** All samples of a track, in decoding order. Times are in ticks of the track, and increase. */
export interface SampleTable {
  readonly track: MovieTrack;
  readonly entries: readonly Buffer[];
  readonly times: readonly number[];
  /** Composition offsets. */
  readonly offsets: readonly number[];
  readonly sizes: readonly number[];
  readonly keys: readonly boolean[];
  readonly chunks: readonly Chunk[];
  /** Of the last sample. */
  readonly lastDuration: number;
  /** What is played, from `start` to `end`. */
  readonly start: number;
  readonly end: number;
}

/** Also the timescale of the movie: the longest has 13 hours. */
export const MOVIE_SCALE = 90_000;

/** Reads the content of a `moov`. Throws a `MediaError` if it is not one that Windhover wrote. */
export function readTracks(moov: Buffer): MovieTrack[] {
  return readBoxes(moov)
    .filter(({ type }) => type === "trak")
    .map(({ content: trak }) => {
      const [header, media] = [findBox(trak, "tkhd"), findBox(trak, "mdia", "mdhd")];
      const descriptions = findBox(trak, "mdia", "minf", "stbl", "stsd");
      if (header === null || media === null || descriptions === null || header.length < 84 || media.length < 20)
        throw new MediaError("a track of the MP4 file has no valid header");
      return { id: header.readUInt32BE(12), scale: media.readUInt32BE(12), entry: descriptions.subarray(8), trak };
    });
}

/** `mediaAt`: where the media data starts in the file. The length does not depend on it. */
export function writeMovie(moov: Buffer, tables: readonly SampleTable[], mediaAt: number): Buffer {
  const header = Buffer.from(findBox(moov, "mvhd") ?? Buffer.alloc(100));
  const durations = tables.map(({ start, end, track }) => Math.round(((end - start) * MOVIE_SCALE) / track.scale));
  header.writeUInt32BE(MOVIE_SCALE, 12);
  header.writeUInt32BE(Math.max(...durations), 16);
  return writeBox(
    "moov",
    writeBox("mvhd", header),
    ...tables.map((table, i) => writeTrack(table, durations[i] ?? 0, mediaAt)),
  );
}

function writeTrack(table: SampleTable, duration: number, mediaAt: number): Buffer {
  const boxes = readBoxes(table.track.trak).map((box) => {
    if (box.type === "tkhd") return writeBox("tkhd", patch(box, 20, duration));
    return box.type === "mdia" ? writeMedia(box, table, mediaAt) : writeBox(box.type, box.content);
  });
  const [header = Buffer.of(), ...rest] = boxes;
  return writeBox("trak", header, writeEdits(table, duration), ...rest);
}

/** The track begins at its first sample; one that begins later than the movie is preceded by an empty edit. */
function writeEdits({ start, times, track }: SampleTable, duration: number): Buffer {
  const [first = 0] = times;
  const delay = Math.max(0, Math.round(((first - start) * MOVIE_SCALE) / track.scale));
  const empty = delay === 0 ? [] : [u64(delay), u32(0xffffffff, 0xffffffff, 0x10000)];
  const media = [u64(Math.max(0, duration - delay)), u64(Math.max(0, start - first)), u32(0x10000)];
  return writeBox("edts", writeFullBox("elst", 1, 0, u32(delay === 0 ? 1 : 2), ...empty, ...media));
}

function writeMedia({ content }: Box, table: SampleTable, mediaAt: number): Buffer {
  const boxes = readBoxes(content).map((box) => {
    if (box.type === "mdhd") return writeBox("mdhd", patch(box, 16, lengthOf(table)));
    if (box.type !== "minf") return writeBox(box.type, box.content);
    const inner = readBoxes(box.content).filter(({ type }) => type !== "stbl");
    return writeBox("minf", ...inner.map(({ type, content }) => writeBox(type, content)), writeTable(table, mediaAt));
  });
  return writeBox("mdia", ...boxes);
}

function patch({ content }: Box, at: number, value: number): Buffer {
  const copy = Buffer.from(content);
  copy.writeUInt32BE(Math.min(value, 2 ** 32 - 1), at);
  return copy;
}

const lengthOf = ({ times, lastDuration }: SampleTable): number => (times.at(-1) ?? 0) + lastDuration - (times[0] ?? 0);

function writeTable(table: SampleTable, mediaAt: number): Buffer {
  const { entries, times, offsets, sizes, keys, chunks, lastDuration } = table;
  const durations = times.map((time, i) => (i + 1 < times.length ? (times[i + 1] ?? 0) - time : lastDuration));
  const keyNumbers = keys.flatMap((isKey, i) => (isKey ? [i + 1] : []));
  const byChunk = joinEqual(chunks.map(({ samples, entry }) => [samples, entry] as const));
  let chunkNumber = 1;
  const toChunks = byChunk.map(({ count, value: [samples, entry] }) => {
    const row = [chunkNumber, samples, entry + 1];
    chunkNumber += count;
    return row;
  });
  const pairs = (values: readonly number[]) => joinEqual(values).map(({ count, value }) => [count, value]);
  return writeBox(
    "stbl",
    writeFullBox("stsd", 0, 0, u32(entries.length), ...entries),
    writeRows("stts", pairs(durations)),
    ...(offsets.some((offset) => offset !== 0) ? [writeRows("ctts", pairs(offsets))] : []),
    ...(keyNumbers.length < keys.length
      ? [
          writeRows(
            "stss",
            keyNumbers.map((number) => [number]),
          ),
        ]
      : []),
    writeRows("stsc", toChunks),
    writeFullBox("stsz", 0, 0, u32(0, sizes.length), u32s(sizes)),
    writeFullBox("co64", 0, 0, u32(chunks.length), ...chunks.map(({ position }) => u64(mediaAt + position))),
  );
}

const writeRows = (type: string, rows: readonly (readonly number[])[]): Buffer =>
  writeFullBox(type, 0, 0, u32(rows.length), u32s(rows.flat()));

/** Runs of equal values. */
function joinEqual<T extends number | readonly number[]>(values: readonly T[]): { count: number; readonly value: T }[] {
  const runs: { count: number; readonly value: T }[] = [];
  for (const value of values) {
    const last = runs.at(-1);
    if (last !== undefined && String(last.value) === String(value)) last.count += 1;
    else runs.push({ count: 1, value });
  }
  return runs;
}
