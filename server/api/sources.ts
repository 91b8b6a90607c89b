/** Video files and streams. */
import { Deleted } from "../../schemas/api/records.ts";
import {
  NewStream,
  NewTelemetryFile,
  NewVideo,
  SourceChange,
  SourceDetails,
  SourceListing,
  SourceQuery,
  SourceRecord,
  SourceTelemetry,
} from "../../schemas/api/sources.ts";
import type { Sources } from "../sources/sources.ts";
import type { Sql } from "../store/client.ts";
import { findSource, listSources, type Registered, type SourceRow } from "../store/sources.ts";
import { type AnyEndpoint, defineEndpoints, deleted, type JsonAnswer, listing, ok } from "./endpoint.ts";

const define = defineEndpoints("Sources");

const REGISTERED = {
  200: { description: "The identical source that you already have.", schema: SourceRecord },
  201: { description: "Registered.", schema: SourceRecord },
};

export function sourceEndpoints(sql: Sql, sources: Sources): readonly AnyEndpoint[] {
  const describe = async (source: SourceRow, publicUrl: string): Promise<SourceRecord> => {
    await sources.refresh();
    return sources.describe(source, publicUrl);
  };
  const answerRegistered = async ({ source, isNew }: Registered, publicUrl: string): Promise<JsonAnswer> => ({
    status: isNew ? 201 : 200,
    body: await describe(source, publicUrl),
  });
  return [
    define("POST", "/video", "uploadVideo", {
      summary: "Upload a video file",
      description:
        "A form with the file (mp4, mov, avi, ts, mkv or webm) in the part `file`, an optional `alias` (default: the file name) and an optional `loop`. A part with another name is accepted if it contains the only file. A part `telemetry` may contain the telemetry of the flight; `telemetry_format`, `telemetry_offset_seconds` and `telemetry_parameters` are the fields of `POST /source/{source_id}/telemetry`. KLV metadata (MISB ST 0601) of a ts file is found in it. With `loop=true`, a process plays the file as a live source: it never finishes by itself, and after a restart it begins at the start of the file. If you already have a source with the same bytes and the same `loop`, that source is returned and nothing is stored.",
      rawBody: { mediaType: "multipart/form-data", schema: NewVideo },
      answers: REGISTERED,
      errors: [
        ...(["invalid_input", "video_invalid", "media_type_unsupported", "sources_limit_reached"] as const),
        ...([
          "video_too_large",
          "storage_limit_reached",
          "body_too_large",
          "disk_full",
          "storage_unavailable",
        ] as const),
        ...(["request_timeout", "rate_limited"] as const),
      ],
      handle: async (call) => answerRegistered(await sources.upload(call), call.publicUrl),
    }),
    define("POST", "/stream", "registerStream", {
      summary: "Register a live stream",
      description:
        "If you already have a source with the same URL and telemetry, that source is returned. A URL of this service's media server (`publish_urls` of `GET /user_info`, with a path behind it: `rtmp://{host}:1935/<username>/<path>`, `rtsp://{host}:8554/<username>/<path>` or `srt://{host}:8890/<username>/<path>`) makes it a media-server source: publish your stream to that URL, with your API key as the password or as `?api_key=`; by SRT with the stream id `#!::r=<username>/<path>,u=<key>,m=publish`. The event `stream-began` says when it can be played, `stream-rejected` why not.",
      body: NewStream,
      answers: REGISTERED,
      errors: ["sources_limit_reached", "address_refused", "path_in_use"],
      handle: async ({ user, body, publicUrl }) =>
        answerRegistered(await sources.register(user, body, publicUrl), publicUrl),
    }),
    define("GET", "/sources", "listSources", {
      summary: "List your sources",
      sources: "listed",
      query: SourceQuery,
      answers: { 200: { description: "Newest first.", schema: SourceListing } },
      version: ({ user }) => sources.version(user),
      async handle({ user, query, publicUrl }) {
        await sources.refresh();
        const { stream_type: streamType, ...rest } = query;
        const page = await listSources(sql, user.uuid, { ...rest, streamType, livePaths: sources.livePaths(user) });
        return listing("sources", page, (row) => sources.describe(row, publicUrl));
      },
    }),
    define("GET", "/source/{source_id}", "readSource", {
      summary: "Get a source",
      answers: { 200: { description: "The source, with what is in it.", schema: SourceDetails } },
      errors: ["source_not_found"],
      async handle({ user, params, publicUrl }) {
        const source = await findSource(sql, user.uuid, params.source_id);
        await sources.refresh();
        return ok(await sources.describeFully(source, publicUrl));
      },
    }),
    define("PATCH", "/source/{source_id}", "changeSource", {
      summary: "Change the alias or the telemetry of a source",
      body: SourceChange,
      answers: { 200: { description: "The changed source.", schema: SourceRecord } },
      errors: ["source_not_found", "source_exists", "address_refused"],
      handle: async ({ user, params, body, publicUrl }) =>
        ok(await describe(await sources.change(user, params.source_id, body), publicUrl)),
    }),
    define("POST", "/source/{source_id}/telemetry", "uploadTelemetry", {
      summary: "Upload the telemetry of a video",
      description:
        "A form with a telemetry file in the part `file`: subtitles of a DJI drone (`dji_srt`), a flight log as CSV (`flight_csv`), a MAVLink `.tlog` (`mavlink`), or one message per line (`native`, `vendor_a`). It replaces what the source had, and is used by processes that start afterwards, unless the source has a `telemetry_cfg`. Its times are aligned to the video as `offset_method` of the answer says.",
      rawBody: { mediaType: "multipart/form-data", schema: NewTelemetryFile },
      answers: { 200: { description: "Stored.", schema: SourceTelemetry } },
      errors: [
        ...(["source_not_found", "invalid_input", "media_type_unsupported"] as const),
        ...(["body_too_large", "request_timeout", "rate_limited"] as const),
      ],
      handle: async (call) => ok(await sources.uploadTelemetry(call, call.params.source_id)),
    }),
    define("GET", "/source/{source_id}/telemetry", "readTelemetry", {
      summary: "Get the recorded telemetry of a video",
      answers: { 200: { description: "What was found in the file, and how it was aligned.", schema: SourceTelemetry } },
      errors: ["source_not_found", "telemetry_not_found"],
      handle: async ({ user, params }) => ok(await sources.readTelemetry(user, params.source_id)),
    }),
    define("DELETE", "/source/{source_id}/telemetry", "deleteTelemetry", {
      summary: "Delete the recorded telemetry of a video",
      answers: { 200: { description: "Deleted.", schema: Deleted } },
      errors: ["source_not_found", "telemetry_not_found"],
      async handle({ user, params: { source_id: uuid } }) {
        await sources.removeTelemetry(user, uuid);
        return deleted(uuid);
      },
    }),
    define("DELETE", "/source/{source_id}", "deleteSource", {
      summary: "Delete a source that no process uses, and its file",
      answers: { 200: { description: "Deleted.", schema: Deleted } },
      errors: ["source_not_found", "source_in_use"],
      async handle({ user, params: { source_id: uuid } }) {
        await sources.remove(user, uuid);
        return deleted(uuid);
      },
    }),
  ];
}
