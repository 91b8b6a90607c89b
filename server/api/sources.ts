/** Video files and streams. */
import { Deleted, PageQuery } from "../../schemas/api/records.ts";
import {
  NewStream,
  NewVideo,
  RecordingListing,
  SourceChange,
  SourceListing,
  SourceRecord,
} from "../../schemas/api/sources.ts";
import { describeSource } from "../sources/describe-source.ts";
import type { Sources } from "../sources/sources.ts";
import type { Registered } from "../store/sources.ts";
import { type AnyEndpoint, defineEndpoint, type JsonAnswer } from "./endpoint.ts";

type SourceNeeds = Pick<Sources, "upload" | "register" | "list" | "find" | "change" | "remove">;

const tag = "Sources";
const access = "key";

const REGISTERED = {
  200: { description: "There is an identical one: this.", schema: SourceRecord },
  201: { description: "Registered.", schema: SourceRecord },
};

const answerRegistered = ({ source, isNew }: Registered): JsonAnswer => ({
  status: isNew ? 201 : 200,
  body: describeSource(source),
});

export function sourceEndpoints(sources: SourceNeeds): readonly AnyEndpoint[] {
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
      handle: async (call) => answerRegistered(await sources.upload(call)),
    }),
    defineEndpoint({
      method: "POST",
      path: "/stream",
      tag,
      id: "registerStream",
      summary: "Registers a live stream",
      description: "One with the same address and telemetry as a source of yours is not registered again.",
      access,
      body: NewStream,
      answers: REGISTERED,
      errors: ["sources_limit_reached", "address_refused"],
      handle: async ({ user, body }) => answerRegistered(await sources.register(user, body)),
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
      async handle({ user, query }) {
        const { rows, nextCursor } = await sources.list(user, query);
        const next = nextCursor === null ? {} : { next_cursor: nextCursor };
        return { status: 200, body: { sources: rows.map(describeSource), ...next } };
      },
    }),
    defineEndpoint({
      method: "GET",
      path: "/sources/recordings",
      tag,
      id: "listRecordings",
      summary: "Lists the recordings of your media-server sources",
      access,
      query: PageQuery,
      answers: { 200: { description: "Newest first.", schema: RecordingListing } },
      errors: [],
      handle: () => ({ status: 200, body: { recordings: [] } }),
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
      async handle({ user, params }) {
        return { status: 200, body: describeSource(await sources.find(user, params.source_id ?? "")) };
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
      async handle({ user, params, body }) {
        return { status: 200, body: describeSource(await sources.change(user, params.source_id ?? "", body)) };
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
