/** Recordings of media-server sources. */
import { Type } from "typebox";
import type { ProcessRecord } from "../../schemas/api/processes.ts";
import { Deleted } from "../../schemas/api/records.ts";
import { RecordingListing, RecordingQuery } from "../../schemas/api/sources.ts";
import type { Signer } from "../keys/signed-urls.ts";
import type { ProcessRecording, ProcessRecordings } from "../media/recordings/recording-files.ts";
import type { Recordings } from "../media/recordings/recordings.ts";
import { ServiceError } from "../service-error.ts";
import type { Sql } from "../store/client.ts";
import { findProcess } from "../store/processes.ts";
import type { RecordingRow } from "../store/recordings.ts";
import { mayRecord } from "../store/users.ts";
import type { User } from "../user.ts";
import { type AnyEndpoint, defineEndpoint } from "./endpoint.ts";
import { FILE_ANSWERS, sendFile } from "./send-file.ts";

interface RecordingNeeds {
  readonly recordings: Pick<Recordings, "list" | "find" | "remove">;
  readonly signer: Signer;
  /** A client that takes nothing for so long is let go. */
  readonly stallMs: number;
}

const TYPE = "video/mp4";
const SegmentIndex = Type.String({ pattern: "^(0|[1-9][0-9]{0,8})$", description: "Of the segment, from 0 on." });

export function recordingEndpoints({ recordings, signer, stallMs }: RecordingNeeds): readonly AnyEndpoint[] {
  return [
    defineEndpoint({
      method: "GET",
      path: "/sources/recordings",
      tag: "Sources",
      id: "listRecordings",
      summary: "Lists the recordings of your media-server sources",
      description:
        "Each time a stream is published a recording begins, and ends with it; `stopped_at` is null until then. They are kept when their source is deleted, for as long as recordings are kept.",
      access: "key",
      query: RecordingQuery,
      answers: { 200: { description: "Newest first.", schema: RecordingListing } },
      errors: [],
      async handle({ user, query, publicUrl }) {
        const { source_uuid: sourceUuid, since, until, ...page } = query;
        const { rows, nextCursor } = await recordings.list(user, {
          ...page,
          ...(sourceUuid !== undefined && { sourceUuid }),
          ...(since !== undefined && { since: new Date(since) }),
          ...(until !== undefined && { until: new Date(until) }),
        });
        const next = nextCursor === null ? {} : { next_cursor: nextCursor };
        return { status: 200, body: { recordings: rows.map((row) => describe(row, signer, publicUrl)), ...next } };
      },
    }),
    defineEndpoint({
      method: "GET",
      path: "/recording/{recording_uuid}/{index}",
      tag: "Media server",
      id: "downloadRecording",
      summary: "One segment of a recording: fragmented MP4",
      description: "Whole, or the part that `Range` asks for. Of a recording that goes on: what there is of it.",
      access: "signed",
      params: Type.Object({ index: SegmentIndex }),
      answers: FILE_ANSWERS(TYPE),
      errors: ["recording_not_found", "recording_unavailable", "range_not_satisfiable"],
      async handle(call) {
        const uuid = call.params.recording_uuid ?? "";
        const index = Number(call.params.index);
        const { path, sizeBytes, startedAt, alias } = await recordings.find(call.user, uuid, index);
        const time = startedAt.toISOString().slice(0, 19).replaceAll(":", "-");
        const file = {
          path,
          type: TYPE,
          bytes: sizeBytes,
          etag: `"${uuid}-${index}-${sizeBytes}"`,
          name: `${alias} ${time}.mp4`,
        };
        return sendFile(file, call, stallMs);
      },
    }),
    defineEndpoint({
      method: "DELETE",
      path: "/recording/{recording_uuid}",
      tag: "Media server",
      id: "deleteRecording",
      summary: "Removes a recording that has ended, with its files",
      access: "key",
      answers: { 200: { description: "It is gone.", schema: Deleted } },
      errors: ["recording_not_found", "recording_unavailable"],
      async handle({ user, params }) {
        const uuid = params.recording_uuid ?? "";
        await recordings.remove(user, uuid);
        return { status: 200, body: { deleted: true, uuid } };
      },
    }),
  ];
}

function describe(row: RecordingRow, signer: Signer, publicUrl: string) {
  const { uuid, segments } = row;
  const token = signer.sign(`recording/${uuid}`);
  const sum = (numbers: readonly number[]) => numbers.reduce((total, number) => total + number, 0);
  return {
    uuid,
    source_uuid: row.sourceUuid,
    alias: row.alias,
    started_at: row.startedAt,
    stopped_at: row.stoppedAt,
    detail: row.detail,
    duration_seconds: sum(segments.map(({ durationMs }) => durationMs)) / 1000,
    size_bytes: sum(segments.map(({ sizeBytes }) => sizeBytes)),
    segments: segments.map(({ index, startedAtMs, durationMs, sizeBytes }) => ({
      index,
      started_at: new Date(startedAtMs).toISOString(),
      duration_seconds: durationMs / 1000,
      size_bytes: sizeBytes,
      download_url: `${publicUrl}/recording/${uuid}/${index}?token=${token}`,
    })),
  };
}

/** Recordings of processes, for keys that have process recording. */

interface ProcessRecordingNeeds {
  readonly sql: Sql;
  readonly recordings: Pick<ProcessRecordings, "find">;
  /** A client that takes nothing for so long is let go. */
  readonly stallMs: number;
}

const FileIndex = Type.String({ pattern: "^(0|[1-9][0-9]{0,8})$", description: "Of the file, from 0 on." });

export function processRecordingEndpoints({ sql, recordings, stallMs }: ProcessRecordingNeeds): readonly AnyEndpoint[] {
  return [
    defineEndpoint({
      method: "GET",
      path: "/process/{process_uuid}/recording/{index}",
      tag: "Process",
      id: "downloadProcessRecording",
      summary: "One file of the processed video of a process: fragmented MP4",
      description:
        "Of keys with process recording. A new file begins with each start of its runner, and when one is as long as recordings are cut; `recordings` of the process lists them. They are kept as long as recordings are. Whole, or the part that `Range` asks for; while it runs, what there is of it.",
      access: "signed",
      params: Type.Object({ index: FileIndex }),
      answers: FILE_ANSWERS(TYPE),
      errors: ["recording_not_found", "range_not_satisfiable"],
      async handle(call) {
        const uuid = call.params.process_uuid ?? "";
        const index = Number(call.params.index);
        const mayHave = call.user === null ? await mayRecord(sql, uuid) : await isOwn(sql, call.user, uuid);
        const found = mayHave ? await recordings.find(uuid, index) : null;
        if (found === null) throw notFound(uuid, index);
        const { path, sizeBytes } = found;
        const etag = `"${uuid}-${index}-${sizeBytes}"`;
        const file = { path, type: TYPE, bytes: sizeBytes, etag, name: `process ${uuid} ${index}.mp4` };
        return sendFile(file, call, stallMs);
      },
    }),
  ];
}

const isOwn = async (sql: Sql, { uuid, hasRecording }: User, processUuid: string): Promise<boolean> =>
  hasRecording && (await findProcess(sql, uuid, processUuid)) !== null;

/** In the process's record, with addresses that are good for a while. */
export const describeFiles = (
  files: readonly ProcessRecording[],
  uuid: string,
  signer: Pick<Signer, "sign">,
  publicUrl: string,
): ProcessRecord["recordings"] =>
  files.map(({ index, sizeBytes, modifiedAt }) => ({
    index,
    written_at: modifiedAt.toISOString(),
    size_bytes: sizeBytes,
    download_url: `${publicUrl}/process/${uuid}/recording/${index}?token=${signer.sign(`process/${uuid}`)}`,
  }));

const notFound = (uuid: string, index: number): ServiceError =>
  new ServiceError("recording_not_found", { detail: `there is no recording ${index} of process ${uuid}` });
