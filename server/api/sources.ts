/** Video files and streams. */
import { Deleted, PageQuery } from "../../schemas/api/records.ts";
import { NewStream, NewVideo, SourceChange, SourceListing, SourceRecord } from "../../schemas/api/sources.ts";
import type { Sources } from "../sources/sources.ts";
import type { Registered } from "../store/sources.ts";
import { type AnyEndpoint, defineEndpoint, type JsonAnswer } from "./endpoint.ts";

type SourceNeeds = Pick<Sources, "upload" | "register" | "describe" | "list" | "find" | "change" | "remove">;

const tag = "Sources";
const access = "key";

const REGISTERED = {
  200: { description: "There is an identical one: this.", schema: SourceRecord },
  201: { description: "Registered.", schema: SourceRecord },
};

export function sourceEndpoints(sources: SourceNeeds): readonly AnyEndpoint[] {
  const answerRegistered = ({ source, isNew }: Registered, publicUrl: string): JsonAnswer => ({
    status: isNew ? 201 : 200,
    body: sources.describe(source, publicUrl),
  });
  return [
    defineEndpoint({
      method: "POST",
      path: "/video",
      tag,
      id: "uploadVideo",
      summary: "Uploads a video file",
      description:
        "A form with the file (mp4, mov or avi) as `file`, and optionally an `alias`: else the file's name is the alias. A file in a part of another name is taken too, as long as it is the only one. A file with the same bytes as one of yours is not stored again.",
      access,
      rawBody: { mediaType: "multipart/form-data", schema: NewVideo },
      answers: REGISTERED,
      errors: [
        ...(["invalid_input", "video_invalid", "media_type_unsupported", "sources_limit_reached"] as const),
        ...(["video_too_large", "storage_limit_reached", "body_too_large", "disk_full"] as const),
        ...(["request_timeout", "rate_limited"] as const),
      ],
      handle: async (call) => answerRegistered(await sources.upload(call), call.publicUrl),
    }),
    defineEndpoint({
      method: "POST",
      path: "/stream",
      tag,
      id: "registerStream",
      summary: "Registers a live stream",
      description:
        "One with the same address and telemetry as a source of yours is not registered again. An address of this service's own media server (`rtmp://{host}:1935/<username>/<path>` or `rtsp://{host}:8554/<username>/<path>`) makes it a media-server source: publish your stream to that address, with your key as the password or as `?api_key=`.",
      access,
      body: NewStream,
      answers: REGISTERED,
      errors: ["sources_limit_reached", "address_refused", "path_in_use"],
      handle: async ({ user, body, publicUrl }) =>
        answerRegistered(await sources.register(user, body, publicUrl), publicUrl),
    }),
    defineEndpoint({
      method: "GET",
      path: "/sources",
      tag,
      id: "listSources",
      summary: "Lists your sources",
      access,
      query: PageQuery,
      answers: { 200: { description: "Newest first.", schema: SourceListing } },
      errors: [],
      async handle({ user, query, publicUrl }) {
        const { rows, nextCursor } = await sources.list(user, query);
        const next = nextCursor === null ? {} : { next_cursor: nextCursor };
        return { status: 200, body: { sources: rows.map((row) => sources.describe(row, publicUrl)), ...next } };
      },
    }),
    defineEndpoint({
      method: "GET",
      path: "/source/{source_id}",
      tag,
      id: "readSource",
      summary: "Shows a source",
      access,
      answers: { 200: { description: "The source.", schema: SourceRecord } },
      errors: ["source_not_found"],
      async handle({ user, params, publicUrl }) {
        return { status: 200, body: sources.describe(await sources.find(user, params.source_id ?? ""), publicUrl) };
      },
    }),
    defineEndpoint({
      method: "PATCH",
      path: "/source/{source_id}",
      tag,
      id: "changeSource",
      summary: "Changes the alias or the telemetry of a source",
      access,
      body: SourceChange,
      answers: { 200: { description: "The source as it is now.", schema: SourceRecord } },
      errors: ["source_not_found", "source_exists", "address_refused"],
      async handle({ user, params, body, publicUrl }) {
        const changed = await sources.change(user, params.source_id ?? "", body);
        return { status: 200, body: sources.describe(changed, publicUrl) };
      },
    }),
    defineEndpoint({
      method: "DELETE",
      path: "/source/{source_id}",
      tag,
      id: "deleteSource",
      summary: "Removes a source that no process runs on, and its file",
      access,
      answers: { 200: { description: "It is gone.", schema: Deleted } },
      errors: ["source_not_found", "source_in_use"],
      async handle({ user, params }) {
        const uuid = params.source_id ?? "";
        await sources.remove(user, uuid);
        return { status: 200, body: { deleted: true, uuid } };
      },
    }),
  ];
}
