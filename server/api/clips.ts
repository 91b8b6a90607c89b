/** Clips and pictures of sources by time. */
import { createHash } from "node:crypto";
import { extname } from "node:path";
import type { Static } from "typebox";
import { ClipQuery, MAX_AWAITED_SECONDS, ThumbnailQuery } from "../../schemas/api/clips.ts";
import type { ClipJobs } from "../clips/clip-jobs.ts";
import { readMoment, readRange, type SourceRange, type SourceVideo } from "../clips/source-video.ts";
import type { Thumbnails } from "../clips/thumbnails.ts";
import { readClip, type TimeRange } from "../media/recordings/clip-file.ts";
import { invalidInput } from "../service-error.ts";
import type { ClipRow } from "../store/clips.ts";
import type { User } from "../user.ts";
import type { ApiCall } from "./context.ts";
import { type AnyEndpoint, defineEndpoints } from "./endpoint.ts";
import { orElsewhere, type RecordingDeps, TS_TYPE } from "./recordings.ts";
import { FILE_ANSWERS, hasMatch, sendFile } from "./send-file.ts";

const define = defineEndpoints("Sources");

const TYPE = "video/mp4";
/** Of uploaded videos, by the extension of their files. */
const FILE_TYPES = { mp4: TYPE, mov: "video/quicktime", avi: "video/x-msvideo", ts: TS_TYPE } as const;
const JPEG = "image/jpeg";
const DEFAULT_WIDTH = 320;

const TIME_ERRORS = [
  ...(["source_not_found", "recording_not_found", "recording_unavailable", "source_file_missing"] as const),
  ...(["video_invalid", "storage_unavailable"] as const),
];

export const RENDER_ERRORS = [
  ...(["process_not_found", "clips_limit_reached", "clip_not_ready", "clip_failed", "clip_not_found"] as const),
  "disk_full" as const,
];
/** For a clip that is rendered while the client waits. */
const RENDER_MS = 25_000;

interface ClipDeps extends Pick<RecordingDeps, "stallMs" | "forwarder"> {
  readonly video: SourceVideo;
  readonly thumbnails: Pick<Thumbnails, "take">;
  readonly clips: ClipJobs;
}

export function clipEndpoints({ video, thumbnails, clips, stallMs, forwarder }: ClipDeps): readonly AnyEndpoint[] {
  return [
    define("GET", "/source/{source_uuid}/clip", "downloadClip", {
      summary: "Download a clip of a recorded stream or of a file: MP4",
      description:
        "Cut out of the recordings of a media-server source, or out of an uploaded video, without encoding again. The first frame is the one on display at `from`, the last one the last before `to`. Of a recording, one second of the clip is one second of real time: where it has a gap, the last frame before it stays. `Windhover-Clip` is the time range of the frames, `Windhover-Gaps` lists the parts of the requested range without video, both as `from/to`. The clip has the codec of the video. With `boxes=true`, and of a video that is not H.264 or H.265 in MP4 or QuickTime, the clip is rendered, up to 10 seconds of it, and kept as one of `GET /clips`; the same request sends it again. `POST /clips` renders longer ones.",
      access: "url-key",
      query: ClipQuery,
      answers: FILE_ANSWERS(TYPE),
      errors: [...TIME_ERRORS, ...RENDER_ERRORS, "clip_needs_encoding", "range_not_satisfiable"],
      handle: (call) =>
        orElsewhere(call, forwarder, async () => {
          const range = readRange(call.query.from, call.query.to);
          const isPartial = call.hop !== null;
          if (call.query.boxes === true) return sendRendered(call, range, { clips, stallMs });
          const isShort = range.toMs - range.fromMs <= MAX_AWAITED_SECONDS * 1000;
          const cut = isShort ? video.find : video.cut;
          const found = await cut.call(video, call.user, call.params.source_uuid, range, isPartial);
          if (found === null) return sendRendered(call, range, { clips, stallMs });
          const { clip, alias } = found;
          const etag = `"${createHash("sha256").update(clip.head).digest("base64url")}"`;
          const file = { path: "", type: TYPE, bytes: clip.bytes, etag, name: nameClip(alias, range, clip.fromMs) };
          const response = await sendFile({ ...file, read: async (part) => readClip(clip, part) }, call, stallMs);
          response.headers.set("Windhover-Clip", toText(clip, range));
          if (clip.gaps.length > 0) {
            const gaps = clip.gaps.slice(0, 100).map((gap) => toText(gap, range));
            response.headers.set("Windhover-Gaps", gaps.join(", "));
          }
          return response;
        }),
    }),
    define("GET", "/source/{source_uuid}/file", "downloadVideo", {
      summary: "Download an uploaded video",
      description:
        "The file as it was uploaded, also an MPEG-TS with its KLV metadata. The whole file, or the part selected by `Range`.",
      access: "url-key",
      answers: FILE_ANSWERS(TYPE, FILE_TYPES.mov, FILE_TYPES.avi, FILE_TYPES.ts),
      errors: [
        ...(["source_not_found", "source_file_missing", "range_not_satisfiable"] as const),
        ...(["storage_unavailable", "invalid_input"] as const),
      ],
      handle: (call) =>
        orElsewhere(call, forwarder, async () => {
          const uuid = call.params.source_uuid;
          const { path, read, sizeBytes, alias, name } = await video.findFile(call.user, uuid);
          const extension = extname(name).slice(1).toLowerCase();
          const type = FILE_TYPES[extension as keyof typeof FILE_TYPES] ?? TYPE;
          const file = { path, type, bytes: sizeBytes, etag: `"${uuid}"`, name: `${alias}.${extension}` };
          return sendFile({ ...file, ...(read && { read }) }, call, stallMs);
        }),
    }),
    define("GET", "/source/{source_uuid}/thumbnail", "downloadThumbnail", {
      summary: "Get the picture of a source at a time: JPEG",
      description:
        "The frame on display at that time, from the recordings of a media-server source or from the video of a file, for time lines and lists. Ask for one that is not needed any longer by closing the request.",
      access: "url-key",
      query: ThumbnailQuery,
      answers: {
        200: { description: "The picture.", mediaType: JPEG },
        304: { description: "Not modified (`If-None-Match`)." },
      },
      errors: [...TIME_ERRORS, "clip_failed"],
      handle: (call) =>
        orElsewhere(call, forwarder, async () => {
          const { user, query, signal, raw, hop } = call;
          const uuid = call.params.source_uuid;
          const range = readMoment(query.at);
          // Always: it also finds out whether the user may see it.
          const found = await video.find(user, uuid, range, hop !== null);
          const picture = await thumbnails.take({
            ...{ userUuid: user.uuid, key: `${uuid}/${found?.clip.fromMs ?? range.fromMs}`, signal },
            width: query.width ?? DEFAULT_WIDTH,
            prepare: async (folder) => ({
              path: await video.lend(user, uuid, found, folder),
              // Of a part of the video, where its first frame is; its time may be rounded.
              atNs: toNs(found === null ? range.fromMs : found.clip.fromMs - found.clip.zeroMs - ROUNDED_MS),
              isPart: found !== null,
            }),
          });
          const etag = `"${createHash("sha256").update(picture).digest("base64url")}"`;
          const headers = { ETag: etag, "Cache-Control": "private, max-age=600", "Content-Type": JPEG };
          if (hasMatch(raw.headers["if-none-match"], etag)) return new Response(null, { status: 304, headers });
          return new Response(Buffer.from(picture), {
            headers: { ...headers, "Content-Length": String(picture.length) },
          });
        }),
    }),
  ];
}

interface RenderedCall extends Pick<ApiCall, "raw" | "requestId" | "signal"> {
  readonly user: User;
  readonly params: { readonly source_uuid: string };
  readonly query: Static<typeof ClipQuery>;
}

/** With boxes, or of a video that cannot be cut: rendered once, and then one of the clips of the user. */
async function sendRendered(
  call: RenderedCall,
  range: SourceRange,
  { clips, stallMs }: Pick<ClipDeps, "clips" | "stallMs">,
): Promise<Response> {
  const { user, query, params, signal } = call;
  if (range.toMs - range.fromMs > MAX_AWAITED_SECONDS * 1000)
    throw invalidInput([
      {
        path: "to",
        message: `is more than ${MAX_AWAITED_SECONDS} seconds after \`from\`, the limit with \`boxes\`; POST /clips renders longer clips`,
      },
    ]);
  const boxes = query.boxes === true;
  const order = { sourceUuid: params.source_uuid, range, boxes, processUuid: query.process_uuid ?? null };
  const { uuid } = await clips.add(user, order, true);
  const row = await clips.awaitEnd(user, uuid, RENDER_MS, signal);
  const response = await sendClipFile(call, row, { clips, stallMs });
  response.headers.set("Windhover-Clip", toText(range, range));
  return response;
}

export async function sendClipFile(
  call: Pick<ApiCall, "raw" | "requestId">,
  row: ClipRow,
  { clips, stallMs }: Pick<ClipDeps, "clips" | "stallMs">,
): Promise<Response> {
  const { path, read, sizeBytes, alias } = await clips.find(row);
  const name = nameClip(alias, row, row.fromMs);
  const file = { path, type: TYPE, bytes: sizeBytes, etag: `"${row.uuid}-${row.fence}"`, name };
  return sendFile({ ...file, ...(read && { read }) }, call, stallMs);
}

/** `yard 2026-05-17T08-30-00.mp4`, `yard 12.5s.mp4`. */
function nameClip(alias: string, { isFile }: Pick<SourceRange, "isFile">, fromMs: number): string {
  const time = isFile ? `${seconds(fromMs)}s` : moment(fromMs).slice(0, 19).replaceAll(":", "-");
  return `${alias} ${time}.mp4`;
}

const ROUNDED_MS = 0.1;
const toNs = (ms: number): string => String(Math.max(0, Math.round(ms * 1e6)));
const seconds = (ms: number): string => String(Math.round(ms) / 1000);
const moment = (ms: number): string => new Date(Math.round(ms)).toISOString();
const toText = ({ fromMs, toMs }: TimeRange, { isFile }: SourceRange): string =>
  isFile ? `${seconds(fromMs)}/${seconds(toMs)}` : `${moment(fromMs)}/${moment(toMs)}`;
