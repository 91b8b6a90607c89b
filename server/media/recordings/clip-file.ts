/** Recorded files as the parts of a clip, on the disk of this node or in the bucket. */
import { type FileHandle, open } from "node:fs/promises";
import { MediaError } from "../../../media/access-unit.ts";
import { type Clip, type ClipFile, type CutRange, cutClip, cutMovie, type TimeRange } from "../../../media/mp4/clip.ts";
import { readAt } from "../../../media/mp4/fragment-index.ts";
import { NotCuttable, readUploadedMovie } from "../../../media/mp4/uploaded-movie.ts";
import { toTransportStream } from "../../../media/mpegts/from-recording.ts";
import { type ByteRange, type Pieces, readFile } from "../../files/file-store.ts";
import { ServiceError } from "../../service-error.ts";
import type { SegmentFile } from "./recordings.ts";

export type { CutRange, TimeRange };
export type RecordedClip = Clip<RecordedFile>;

/** Of one request to the bucket: an index of the fragments is read in small parts. */
const WINDOW_BYTES = 2 ** 20;

type VideoFile = Pick<SegmentFile, "path" | "read" | "startedAt" | "sizeBytes">;

export class RecordedFile implements ClipFile {
  readonly startedAtMs: number;
  readonly bytes: number;
  readonly #file: VideoFile;
  #handle: FileHandle | null = null;
  /** Of a file in the bucket. */
  #window: { readonly at: number; readonly bytes: Buffer } | null = null;

  constructor(file: VideoFile) {
    this.#file = file;
    this.startedAtMs = file.startedAt.getTime();
    this.bytes = file.sizeBytes;
  }

  async read(at: number, bytes: number): Promise<Buffer> {
    const end = Math.min(at + bytes, this.bytes);
    if (end <= at) return Buffer.alloc(0);
    if (this.#file.read === undefined) {
      this.#handle ??= await open(this.#file.path, "r");
      return readAt(this.#handle, at, end - at);
    }
    const known = this.#window;
    if (known !== null && at >= known.at && end <= known.at + known.bytes.length)
      return known.bytes.subarray(at - known.at, end - known.at);
    const last = Math.min(Math.max(end, at + WINDOW_BYTES), this.bytes) - 1;
    const pieces: Uint8Array[] = [];
    for await (const piece of await this.#file.read({ first: at, last })) pieces.push(piece);
    this.#window = { at, bytes: Buffer.concat(pieces) };
    return this.#window.bytes.subarray(0, end - at);
  }

  async stream(range: ByteRange): Promise<Pieces> {
    return this.#file.read?.(range) ?? readFile(this.#file.path, range);
  }

  /** It can still be streamed. */
  async close(): Promise<void> {
    this.#window = null;
    await this.#handle?.close();
    this.#handle = null;
  }
}

/** Null: there is no frame in this range. Rejects with a `MediaError` for damaged files. */
export async function cutRecorded(found: readonly SegmentFile[], range: CutRange): Promise<RecordedClip | null> {
  const files = found.map((file) => new RecordedFile(file));
  try {
    return await cutClip(files, range);
  } finally {
    await Promise.all(files.map((file) => file.close()));
  }
}

/**
 * Of an uploaded video; times are milliseconds from its start. Null: it ends before. Rejects with `clip_needs_encoding`, or
 * with `video_invalid` for a damaged file.
 */
export async function cutUploaded(found: VideoFile, range: CutRange): Promise<RecordedClip | null> {
  const file = new RecordedFile(found);
  try {
    return cutMovie(file, await readUploadedMovie(file), range);
  } catch (cause) {
    if (cause instanceof NotCuttable)
      throw new ServiceError("clip_needs_encoding", {
        ...{ detail: `the video ${cause.message}; POST /clips renders this range as H.264`, cause },
      });
    if (!(cause instanceof MediaError)) throw cause;
    throw new ServiceError("video_invalid", { detail: `${cause.message}; upload the video again`, cause });
  } finally {
    await file.close();
  }
}

/** A recorded file as MPEG-TS, with one fragment in memory. Rejects with `video_invalid` for a damaged file. */
export async function* readAsStream(found: SegmentFile): Pieces {
  const file = new RecordedFile(found);
  try {
    yield* toTransportStream(file);
  } catch (cause) {
    if (!(cause instanceof MediaError)) throw cause;
    throw new ServiceError("video_invalid", { detail: `${cause.message}; download it as MP4`, cause });
  } finally {
    await file.close();
  }
}

/** A range of its bytes, with one piece in memory. */
export async function* readClip({ head, pieces }: RecordedClip, { first, last }: ByteRange): Pieces {
  if (first < head.length) yield head.subarray(first, last + 1);
  let at = head.length;
  for (const { file, at: begin, bytes } of pieces) {
    const [from, to] = [Math.max(first, at), Math.min(last, at + bytes - 1)];
    if (from <= to) yield* await file.stream({ first: begin + from - at, last: begin + to - at });
    at += bytes;
    if (at > last) return;
  }
}
