/** Recorded video as the input of a process: a part of a recording, a file of a process, or a rendered clip. */
import { createReadStream } from "node:fs";
import { Readable } from "node:stream";
import type { ProcessRecordings } from "../media/recordings/recording-files.ts";
import { ElsewhereError, type Recordings, type SegmentFile } from "../media/recordings/recordings.ts";
import { isEnd } from "../processes/view.ts";
import { invalidInput, ServiceError } from "../service-error.ts";
import type { Sources } from "../sources/sources.ts";
import type { Sql } from "../store/client.ts";
import { findClip } from "../store/clips.ts";
import { findHolder } from "../store/files.ts";
import { findProcess } from "../store/processes.ts";
import { findRecordedParts, recordingNotFound } from "../store/recordings.ts";
import type { User } from "../user.ts";
import type { ClipJobs } from "./clip-jobs.ts";

interface RecordedSourceDeps {
  readonly sql: Sql;
  readonly nodeUuid: string;
  readonly recordings: Pick<Recordings, "find">;
  readonly processRecordings: Pick<ProcessRecordings, "list">;
  readonly clips: Pick<ClipJobs, "find">;
  readonly sources: Pick<Sources, "copy">;
  /** Videos are in a bucket, where all nodes reach them. */
  readonly isShared: boolean;
}

export interface RecordedPart {
  /** Of a recording, of a process with recordings, or of a clip. */
  readonly uuid: string;
  /** Null: it has one part only. */
  readonly index: number | null;
}

/** A part, whether or not it is complete. */
interface Part {
  readonly index: number;
  readonly isComplete: boolean;
}

/** The file, and the index of its part. */
interface Found {
  readonly file: SegmentFile;
  readonly index: number;
}

export class RecordedSources {
  readonly #deps: RecordedSourceDeps;

  constructor(deps: RecordedSourceDeps) {
    this.#deps = deps;
  }

  get isShared(): boolean {
    return this.#deps.isShared;
  }

  /**
   * Registers it as a video of the user, with the limits of an upload. The same bytes are registered once. Rejects with
   * `recording_not_found`, `recording_unavailable`, `invalid_input`, `ElsewhereError`, and as an upload.
   */
  async register(user: User, part: RecordedPart, signal: AbortSignal): Promise<string> {
    const { file, index } = await this.#find(user, part);
    const { path, read, sizeBytes, alias } = file;
    const time = file.startedAt.toISOString().slice(0, 19).replaceAll(":", "-");
    const name = `${alias.slice(0, MAX_ALIAS)} ${time} ${index}.mp4`;
    const open = async (): Promise<Readable> =>
      read === undefined
        ? createReadStream(path, { end: sizeBytes - 1, signal })
        : Readable.from(await read({ first: 0, last: sizeBytes - 1 }), { objectMode: false, signal });
    const { source } = await this.#deps.sources.copy({ user, open, sizeBytes, name, alias: name, loop: false, signal });
    return source.uuid;
  }

  async #find(user: User, part: RecordedPart): Promise<Found> {
    const found =
      (await this.#findRecording(user, part)) ??
      (await this.#findOfProcess(user, part)) ??
      (await this.#findClip(user, part));
    if (found === null || found.file.sizeBytes === 0) throw recordingNotFound(part.uuid);
    return found;
  }

  async #findRecording(user: User, part: RecordedPart): Promise<Found | null> {
    const parts = await findRecordedParts(this.#deps.sql, user.uuid, part.uuid);
    if (parts === null) return null;
    const index = choose(part, parts, "its stream has stopped");
    return { index, file: await this.#deps.recordings.find(user, part.uuid, index) };
  }

  async #findOfProcess(user: User, part: RecordedPart): Promise<Found | null> {
    const { sql, nodeUuid, processRecordings } = this.#deps;
    const process = user.hasRecording ? await findProcess(sql, user.uuid, part.uuid) : null;
    if (process === null) return null;
    const files = await processRecordings.list(process.uuid);
    const holder =
      (await findHolder(sql, "process-recording", process.uuid, nodeUuid)) ??
      (files.length === 0 ? process.nodeUuid : null);
    if (holder !== null && holder !== nodeUuid && !files.some(({ index }) => index === (part.index ?? 0)))
      throw new ElsewhereError(holder);
    const last = files.at(-1)?.index;
    const parts = files.map(({ index }) => ({ index, isComplete: index !== last || isEnd(process.state) }));
    const index = choose(part, parts, "the process has ended");
    const file = files.find((candidate) => candidate.index === index);
    if (file === undefined) return null;
    return {
      index,
      file: { ...file, alias: `process ${process.uuid}`, startedAt: process.startedAt ?? process.createdAt },
    };
  }

  async #findClip(user: User, part: RecordedPart): Promise<Found | null> {
    const { sql, clips } = this.#deps;
    const clip = await findClip(sql, user.uuid, part.uuid).catch((error: unknown) => {
      if (error instanceof ServiceError && error.code === "clip_not_found") return null;
      throw error;
    });
    if (clip === null) return null;
    const index = choose(part, [{ index: 0, isComplete: clip.state === "ready" }], "it is rendered");
    return { index, file: await clips.find(clip) };
  }
}

/** The name of the video has the time and the index, too. */
const MAX_ALIAS = 220;

/** Throws `recording_not_found`, `recording_unavailable`, or `invalid_input` if there are several and none is chosen. */
function choose({ uuid, index }: RecordedPart, parts: readonly Part[], when: string): number {
  const [only] = parts;
  if (only === undefined) throw recordingNotFound(uuid);
  if (index === null && parts.length > 1)
    throw invalidInput([
      {
        path: "index",
        message: `is missing: ${uuid} has ${parts.length} parts; expected one of ${list(parts)}`,
      },
    ]);
  const chosen = index === null ? only : parts.find((part) => part.index === index);
  if (chosen === undefined) throw recordingNotFound(uuid);
  if (!chosen.isComplete)
    throw new ServiceError("recording_unavailable", {
      detail: `this part is still being written; it can be used when ${when}`,
    });
  return chosen.index;
}

const MAX_LISTED = 10;
const list = (parts: readonly Part[]): string => {
  const indices = parts.map(({ index }) => index);
  const shown = indices.slice(0, MAX_LISTED).join(", ");
  return indices.length > MAX_LISTED ? `${shown}, … ${indices.at(-1)}` : shown;
};
