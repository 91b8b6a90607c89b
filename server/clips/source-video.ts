/** Video of a source by time: of its recordings, or of its file. */
import { MAX_CLIP_SECONDS } from "../../schemas/api/clips.ts";
import {
  type CutRange,
  cutRecorded,
  cutUploaded,
  type RecordedClip,
  readClip,
  type TimeRange,
} from "../media/recordings/clip-file.ts";
import type { Recordings, SegmentFile } from "../media/recordings/recordings.ts";
import { invalidInput, ServiceError } from "../service-error.ts";
import type { Sources } from "../sources/sources.ts";
import type { Sql } from "../store/client.ts";
import { findSource } from "../store/sources.ts";
import type { User } from "../user.ts";
import type { WorkFolder } from "./work-folder.ts";

interface SourceVideoDeps {
  readonly sql: Sql;
  readonly recordings: Pick<Recordings, "findRange">;
  readonly sources: Pick<Sources, "findVideo" | "resolveInput">;
}

/** Unix times for a stream, milliseconds from the start of the video for a file. */
export interface SourceRange extends CutRange {
  readonly isFile: boolean;
}

export interface FoundClip {
  readonly clip: RecordedClip;
  readonly alias: string;
}

export class SourceVideo {
  readonly #deps: SourceVideoDeps;

  constructor(deps: SourceVideoDeps) {
    this.#deps = deps;
  }

  /**
   * Without encoding. With `isPartial` the files of other nodes are left out. Rejects with `source_not_found`,
   * `recording_not_found`, `invalid_input`, `clip_needs_encoding`, `video_invalid` and as `Recordings.findRange`.
   */
  async cut(user: Pick<User, "uuid">, uuid: string, range: SourceRange, isPartial: boolean): Promise<FoundClip> {
    const { sql, recordings, sources } = this.#deps;
    if (range.isFile) {
      const source = await findSource(sql, user.uuid, uuid);
      if (source.type !== "file") throw wrongTime("seconds", "a time for a stream: 2026-05-17T08:30:00Z");
      const clip = await cutUploaded(await sources.findVideo(source), range);
      if (clip === null) throw beyondEnd(source.durationMs);
      return { clip, alias: source.alias };
    }
    const files = await recordings.findRange(user as User, uuid, range, isPartial);
    const clip = await cutRecorded(files, range);
    const [newest] = files.slice(-1);
    if (clip !== null && newest !== undefined) return { clip, alias: newest.alias };
    // Recordings are kept when their source is deleted.
    const { type } = await findSource(sql, user.uuid, uuid);
    if (type === "file") throw wrongTime("a time", "seconds from the start of the video: 12.5");
    throw new ServiceError("recording_not_found", {
      detail: `the source ${uuid} has no recording of this time; GET /sources/recordings?source_uuid=${uuid} lists what there is`,
    });
  }

  /** The video of a file as it was uploaded. Rejects with `source_not_found`, `source_file_missing` and `invalid_input`. */
  async findFile(user: Pick<User, "uuid">, uuid: string): Promise<SegmentFile & { readonly name: string }> {
    const source = await findSource(this.#deps.sql, user.uuid, uuid);
    if (source.type !== "file")
      throw invalidInput([
        { path: "source_uuid", message: "is a stream; its recordings are listed by GET /sources/recordings" },
      ]);
    return { ...(await this.#deps.sources.findVideo(source)), name: source.fileName ?? "" };
  }

  /** As `cut`; null: it has to be encoded. */
  async find(
    user: Pick<User, "uuid">,
    uuid: string,
    range: SourceRange,
    isPartial: boolean,
  ): Promise<FoundClip | null> {
    try {
      return await this.cut(user, uuid, range, isPartial);
    } catch (error) {
      if (error instanceof ServiceError && error.code === "clip_needs_encoding") return null;
      throw error;
    }
  }

  /** The part of a range that a file has, as far as its length is known. Rejects with `invalid_input`. */
  async limit(user: Pick<User, "uuid">, uuid: string, { fromMs, toMs }: TimeRange): Promise<TimeRange> {
    const { durationMs } = await findSource(this.#deps.sql, user.uuid, uuid);
    if (durationMs === null) return { fromMs, toMs };
    if (fromMs >= durationMs) throw beyondEnd(durationMs);
    return { fromMs, toMs: Math.min(toMs, durationMs) };
  }

  /** Writes the clip for a child, or lends it the whole video. Resolves with its path. */
  async lend(user: Pick<User, "uuid">, uuid: string, found: FoundClip | null, folder: WorkFolder): Promise<string> {
    if (found !== null) {
      const { clip } = found;
      return folder.write("input.mp4", readClip(clip, { first: 0, last: clip.bytes - 1 }));
    }
    const input = await this.#deps.sources.resolveInput(user.uuid, uuid);
    try {
      return await folder.lend("input", await input.locate());
    } finally {
      input.release?.();
    }
  }
}

const IS_SECONDS = /^\d{1,7}(?:\.\d{1,9})?$/;

/** Of a query or a body. Rejects with `invalid_input`. */
export function readRange(from: string | number, to: string | number): SourceRange {
  const [start, end] = [readTime(from), readTime(to)];
  if (start.isFile !== end.isFile)
    throw invalidInput([{ path: "to", message: "is of another kind than `from`; expected two times, or two numbers" }]);
  const [fromMs, toMs] = [start.ms, end.ms];
  if (toMs > fromMs && toMs - fromMs <= MAX_CLIP_SECONDS * 1000) return { fromMs, toMs, isFile: start.isFile };
  const message = `is out of range; expected a time after \`from\`, at most ${MAX_CLIP_SECONDS} seconds later`;
  throw invalidInput([{ path: "to", message }]);
}

/** One frame. */
export function readMoment(at: string): SourceRange {
  const { ms, isFile } = readTime(at);
  return { fromMs: ms, toMs: ms + 1, isFile, isPlain: true };
}

function readTime(time: string | number): { readonly ms: number; readonly isFile: boolean } {
  const isFile = typeof time === "number" || IS_SECONDS.test(time);
  return { ms: isFile ? Number(time) * 1000 : Date.parse(String(time)), isFile };
}

const wrongTime = (met: string, expected: string): ServiceError =>
  invalidInput([{ path: "from", message: `is in ${met}; expected ${expected}` }]);

const beyondEnd = (durationMs: number | null): ServiceError =>
  invalidInput([
    {
      path: "from",
      message: `is after the end of the video${durationMs === null ? "" : `, which has ${durationMs / 1000} seconds`}`,
    },
  ]);
