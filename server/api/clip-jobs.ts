/** Clips that are rendered on request. */
import { ClipListing, ClipRecord, ClipsQuery, NewClip } from "../../schemas/api/clips.ts";
import { Deleted } from "../../schemas/api/records.ts";
import type { ClipJobs } from "../clips/clip-jobs.ts";
import { readRange } from "../clips/source-video.ts";
import type { Signer } from "../keys/signed-urls.ts";
import type { Sql } from "../store/client.ts";
import { type ClipRow, findClip, listClips } from "../store/clips.ts";
import { RENDER_ERRORS, sendClipFile } from "./clips.ts";
import { type AnyEndpoint, defineEndpoints, deleted, listing, ok, rangeOf } from "./endpoint.ts";
import { orElsewhere, type RecordingDeps } from "./recordings.ts";
import { FILE_ANSWERS } from "./send-file.ts";

const define = defineEndpoints("Sources");

interface ClipJobDeps extends Pick<RecordingDeps, "stallMs" | "forwarder"> {
  readonly sql: Sql;
  readonly clips: ClipJobs;
  readonly signer: Pick<Signer, "sign">;
}

export function clipJobEndpoints({ sql, clips, signer, stallMs, forwarder }: ClipJobDeps): readonly AnyEndpoint[] {
  const describe = (row: ClipRow, publicUrl: string): ClipRecord => describeClip(row, signer, publicUrl);
  return [
    define("POST", "/clips", "renderClip", {
      summary: "Render a clip of a source, with or without boxes: MP4",
      description:
        "The clip is encoded as H.264, without sound, by a job: `GET /clip/{clip_uuid}` shows its progress and, when it is ready, a signed URL; the event `clip-ready` or `clip-failed` (`GET /events`) says when. Works for all sources: recorded streams and files of every codec. Boxes, labels and trails are those of the stored detections, drawn as on the processed video. Clips are kept for `evidence.retention_days` or until deleted, and count in the storage of recordings of the key.",
      body: NewClip,
      answers: { 202: { description: "Queued.", schema: ClipRecord } },
      errors: ["source_not_found", "process_not_found", "clips_limit_reached", "disk_full"],
      async handle({ user, body, publicUrl }) {
        const { source_uuid: sourceUuid, from, to, boxes = false, process_uuid: processUuid = null } = body;
        const row = await clips.add(user, { sourceUuid, range: readRange(from, to), boxes, processUuid });
        return { status: 202, body: describe(row, publicUrl), headers: { Location: `${publicUrl}/clip/${row.uuid}` } };
      },
    }),
    define("GET", "/clips", "listClips", {
      summary: "List your rendered clips",
      sources: "listed",
      query: ClipsQuery,
      answers: { 200: { description: "Newest first.", schema: ClipListing } },
      async handle({ user, query, publicUrl }) {
        const { source_uuid: sourceUuid, ...rest } = query;
        const found = await listClips(sql, user.uuid, { ...rest, sourceUuid, created: rangeOf(query) });
        return listing("clips", found, (row) => describe(row, publicUrl));
      },
    }),
    define("GET", "/clip/{clip_uuid}", "readClip", {
      summary: "Get a rendered clip: its state and progress",
      answers: { 200: { description: "The clip.", schema: ClipRecord } },
      errors: ["clip_not_found"],
      handle: async ({ user, params, publicUrl }) =>
        ok(describe(await findClip(sql, user.uuid, params.clip_uuid), publicUrl)),
    }),
    define("DELETE", "/clip/{clip_uuid}", "deleteClip", {
      summary: "Cancel or delete a rendered clip",
      answers: { 200: { description: "Deleted.", schema: Deleted } },
      errors: ["clip_not_found"],
      async handle({ user, params: { clip_uuid: uuid } }) {
        await clips.remove(user, uuid);
        return deleted(uuid);
      },
    }),
    define("GET", "/clip/{clip_uuid}/file", "downloadRenderedClip", {
      summary: "Download a rendered clip: MP4",
      description: "The whole file, or the part selected by `Range`. `download_url` of the record is this URL, signed.",
      access: "signed",
      answers: FILE_ANSWERS("video/mp4"),
      errors: [...RENDER_ERRORS, "recording_unavailable", "range_not_satisfiable", "storage_unavailable"],
      handle: (call) =>
        orElsewhere(call, forwarder, async () => {
          const row = await findClip(sql, call.user?.uuid ?? null, call.params.clip_uuid);
          return sendClipFile(call, row, { clips, stallMs });
        }),
    }),
  ];
}

function describeClip(row: ClipRow, signer: Pick<Signer, "sign">, publicUrl: string): ClipRecord {
  const { uuid, isFile, state } = row;
  const toTime = (ms: number): number | string => (isFile ? ms / 1000 : new Date(Math.round(ms)).toISOString());
  const url = `${publicUrl}/clip/${uuid}/file?token=${signer.sign(`clip/${uuid}`)}`;
  return {
    ...{ uuid, source_uuid: row.sourceUuid, process_uuid: row.processUuid, from: toTime(row.fromMs) },
    ...{ to: toTime(row.toMs), boxes: row.processUuid !== null, state, progress: row.progress, error: row.error },
    ...{ size_bytes: row.sizeBytes, created_at: row.createdAt.toISOString() },
    download_url: state === "ready" ? url : null,
  };
}
