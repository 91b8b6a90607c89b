/** Recordings of media-server sources and of processes. */
import { Type } from "typebox";
import type { ProcessRecord } from "../../schemas/api/processes.ts";
import { Deleted } from "../../schemas/api/records.ts";
import { RecordingListing, RecordingQuery } from "../../schemas/api/sources.ts";
import type { Signer } from "../keys/signed-urls.ts";
import { readAsStream } from "../media/recordings/clip-file.ts";
import type { ProcessRecording, ProcessRecordings } from "../media/recordings/recording-files.ts";
import { ElsewhereError, type Recordings } from "../media/recordings/recordings.ts";
import { ServiceError } from "../service-error.ts";
import type { Sql } from "../store/client.ts";
import { findProcess } from "../store/processes.ts";
import type { RecordingRow } from "../store/recordings.ts";
import { mayRecord } from "../store/users.ts";
import type { User } from "../user.ts";
import { type Answer, type AnyEndpoint, defineEndpoints, deleted, listing, rangeOf } from "./endpoint.ts";
import type { ForwardedCall, Forwarder } from "./forward.ts";
import { FILE_ANSWERS, sendFile, sendMade } from "./send-file.ts";

export interface RecordingDeps {
  readonly recordings: Pick<Recordings, "list" | "find" | "remove">;
  readonly signer: Signer;
  /** A client that reads nothing for this long is disconnected. */
  readonly stallMs: number;
  /** Null or undefined: there are no other nodes. */
  readonly forwarder?: Pick<Forwarder, "toNode"> | null | undefined;
}

const defineSource = defineEndpoints("Sources");
const defineMedia = defineEndpoints("Media server");
const defineProcess = defineEndpoints("Process");

const TYPE = "video/mp4";
export const TS_TYPE = "video/mp2t";
const Index = (of: string) =>
  Type.String({ pattern: "^(0|[1-9][0-9]{0,8})$", description: `Index of the ${of}, from 0.` });

export function recordingEndpoints({ recordings, signer, stallMs, forwarder }: RecordingDeps): readonly AnyEndpoint[] {
  return [
    defineSource("GET", "/sources/recordings", "listRecordings", {
      summary: "List the recordings of your media-server sources",
      sources: "listed",
      description:
        "A recording starts when a stream is published, or a process pulls a camera that is to be recorded, and ends with it; until then `stopped_at` is null. Recordings are kept for their retention time, also when their source is deleted.",
      query: RecordingQuery,
      answers: { 200: { description: "Newest first.", schema: RecordingListing } },
      async handle({ user, query, publicUrl }) {
        const { source_uuid: sourceUuid, since, until, ...rest } = query;
        const { from, to } = rangeOf({ from: since, to: until });
        const found = await recordings.list(user, { ...rest, sourceUuid, since: from, until: to });
        return listing("recordings", found, (row) => describe(row, signer, publicUrl));
      },
    }),
    defineMedia("GET", "/recording/{recording_uuid}/{index}", "downloadRecording", {
      summary: "Download one segment of a recording: fragmented MP4, or MPEG-TS",
      description:
        "The whole file, or the part selected by `Range`. While the recording continues: what has been written so far. With `format=ts` the same video as MPEG-TS, not encoded again, with the KLV metadata of the stream as a stream of its own; it is made while it is sent, without ranges. The MP4 has the metadata as event messages (MISB ST 1910).",
      access: "signed",
      params: Type.Object({ index: Index("segment") }),
      query: Type.Object({
        format: Type.Optional(Type.Enum(["mp4", "ts"], { default: "mp4", description: "`ts`: as MPEG-TS." })),
      }),
      answers: FILE_ANSWERS(TYPE, TS_TYPE),
      errors: [
        ...(["recording_not_found", "recording_unavailable", "range_not_satisfiable"] as const),
        ...(["storage_unavailable", "video_invalid"] as const),
      ],
      async handle(call) {
        const uuid = call.params.recording_uuid;
        const index = Number(call.params.index);
        return orElsewhere(call, forwarder, async () => {
          const found = await recordings.find(call.user, uuid, index);
          const { path, read, sizeBytes, startedAt, alias } = found;
          const time = startedAt.toISOString().slice(0, 19).replaceAll(":", "-");
          if (call.query.format === "ts")
            return sendMade(readAsStream(found), { type: TS_TYPE, name: `${alias} ${time}.ts` }, call, stallMs);
          const etag = `"${uuid}-${index}-${sizeBytes}"`;
          const file = { path, type: TYPE, bytes: sizeBytes, etag, name: `${alias} ${time}.mp4` };
          return sendFile({ ...file, ...(read && { read }) }, call, stallMs);
        });
      },
    }),
    defineMedia("DELETE", "/recording/{recording_uuid}", "deleteRecording", {
      summary: "Delete a recording that has ended, and its files",
      answers: { 200: { description: "Deleted.", schema: Deleted } },
      errors: ["recording_not_found", "recording_unavailable"],
      handle: (call) =>
        orElsewhere(call, forwarder, async () => {
          const uuid = call.params.recording_uuid;
          await recordings.remove(call.user, uuid);
          return deleted(uuid);
        }),
    }),
  ];
}

/** The node that has the files answers, if it can be reached. */
export async function orElsewhere(
  call: ForwardedCall,
  forwarder: RecordingDeps["forwarder"],
  answer: () => Promise<Answer>,
): Promise<Answer> {
  try {
    return await answer();
  } catch (error) {
    if (!(error instanceof ElsewhereError) || forwarder == null) throw error;
    const passed = await forwarder.toNode(call, error.nodeUuid);
    if (passed === null) throw error;
    return passed;
  }
}

function describe(row: RecordingRow, signer: Signer, publicUrl: string) {
  const { uuid, segments } = row;
  const token = signer.sign(`recording/${uuid}`);
  const sum = (numbers: readonly number[]) => numbers.reduce((total, number) => total + number, 0);
  return {
    uuid,
    source_uuid: row.sourceUuid,
    alias: row.alias,
    started_at: row.createdAt,
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

/** For keys with process recording. */
export function processRecordingEndpoints(
  sql: Sql,
  recordings: ProcessRecordings,
  stallMs: number,
): readonly AnyEndpoint[] {
  return [
    defineProcess("GET", "/process/{process_uuid}/recording/{index}", "downloadProcessRecording", {
      summary: "Download one file of the processed video of a process: fragmented MP4",
      description:
        "For keys with process recording. A new file starts with each start of the runner, and when a file reaches the configured segment length; `recordings` of the process lists the files. They are kept for the retention time of recordings. The whole file, or the part selected by `Range`; while the process runs, what has been written so far.",
      access: "signed",
      params: Type.Object({ index: Index("file") }),
      answers: FILE_ANSWERS(TYPE),
      errors: ["recording_not_found", "range_not_satisfiable", "storage_unavailable"],
      async handle(call) {
        const uuid = call.params.process_uuid;
        const index = Number(call.params.index);
        const isAllowed = call.user === null ? await mayRecord(sql, uuid) : await isOwn(sql, call.user, uuid);
        const found = isAllowed ? await recordings.find(uuid, index) : null;
        if (found === null)
          throw new ServiceError("recording_not_found", { detail: `process ${uuid} has no recording ${index}` });
        const { path, read, sizeBytes } = found;
        const etag = `"${uuid}-${index}-${sizeBytes}"`;
        const file = { path, type: TYPE, bytes: sizeBytes, etag, name: `process ${uuid} ${index}.mp4` };
        return sendFile({ ...file, ...(read && { read }) }, call, stallMs);
      },
    }),
  ];
}

const isOwn = async (sql: Sql, { uuid, hasRecording }: User, processUuid: string): Promise<boolean> =>
  hasRecording && (await findProcess(sql, uuid, processUuid)) !== null;

/** For the record of the process, with signed URLs. */
export const describeFiles = (
  files: readonly ProcessRecording[],
  uuid: string,
  signer: Pick<Signer, "sign">,
  publicUrl: string,
): ProcessRecord["recordings"] =>
  files.map(({ index, sizeBytes, modifiedAt, startedAt, durationMs }) => ({
    index,
    started_at: startedAt?.toISOString() ?? null,
    duration_seconds: durationMs === null ? null : Math.round(durationMs) / 1000,
    written_at: modifiedAt.toISOString(),
    size_bytes: sizeBytes,
    download_url: `${publicUrl}/process/${uuid}/recording/${index}?token=${signer.sign(`process/${uuid}`)}`,
  }));
