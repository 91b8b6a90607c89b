/** Clips and pictures of sources by time. */
import { type Static, Type } from "typebox";
import { listing, listQuery, MOMENT, orNull, Timestamp, timeRange, Uuid } from "./records.ts";

const SECONDS = "^\\d{1,7}(\\.\\d{1,9})?$";
const HOW = "ISO 8601 for a stream (`2026-05-17T08:30:00Z`), seconds from the start of the video for a file (`12.5`).";

/** Of a query, where everything is text. */
export const sourceTime = (description: string) =>
  Type.String({ pattern: `${MOMENT}|${SECONDS}`, description: `${description} ${HOW}` });

export const MAX_CLIP_SECONDS = 3600;
/** Clips up to this long are rendered while the client waits. */
export const MAX_AWAITED_SECONDS = 10;

const FROM = "Start of the clip.";
const TO = `End of the clip, at most ${MAX_CLIP_SECONDS} seconds after its start.`;
const PROCESS =
  "The process whose detections are drawn, if several analysed the source. Default: the newest that covers the start of the range.";

export const ClipQuery = Type.Object({
  from: sourceTime(FROM),
  to: sourceTime(TO),
  boxes: Type.Optional(
    Type.Boolean({
      description: `Render boxes, labels and trails of the stored detections. Up to ${MAX_AWAITED_SECONDS} seconds; longer clips are jobs (\`POST /clips\`).`,
    }),
  ),
  process_uuid: Type.Optional(Type.String({ ...Uuid, description: PROCESS })),
});

export const ThumbnailQuery = Type.Object({
  at: sourceTime("The frame on display at this time."),
  width: Type.Optional(Type.Integer({ minimum: 16, maximum: 1280, description: "In pixels; default 320." })),
});

const bodyTime = (description: string) =>
  Type.Union([Type.Number({ minimum: 0, maximum: 1e7 }), Type.String({ pattern: MOMENT })], {
    description: `${description} ${HOW}`,
  });

export const NewClip = Type.Object(
  {
    source_uuid: Uuid,
    from: bodyTime(FROM),
    to: bodyTime(TO),
    boxes: Type.Optional(
      Type.Boolean({ description: "Render boxes, labels and trails of the stored detections; default false." }),
    ),
    process_uuid: Type.Optional(orNull(Uuid, { description: PROCESS })),
  },
  { title: "NewClip", additionalProperties: false },
);
export type NewClip = Static<typeof NewClip>;

export const CLIP_STATES = ["queued", "rendering", "ready", "failed"] as const;
export type ClipState = (typeof CLIP_STATES)[number];

const time = Type.Union([Type.Number(), Timestamp], { description: "As in the request: seconds, or a time." });

export const ClipRecord = Type.Object(
  {
    uuid: Uuid,
    source_uuid: Uuid,
    process_uuid: orNull(Uuid, { description: "The process whose detections are drawn; null without boxes." }),
    from: time,
    to: time,
    boxes: Type.Boolean(),
    state: Type.Enum([...CLIP_STATES]),
    progress: Type.Number({ minimum: 0, maximum: 1 }),
    error: orNull(Type.String(), { description: "Why it failed." }),
    size_bytes: orNull(Type.Integer({ minimum: 0 })),
    created_at: Timestamp,
    download_url: orNull(Type.String(), { description: "Of a clip that is ready: signed, valid for a limited time." }),
  },
  { title: "Clip" },
);
export type ClipRecord = Static<typeof ClipRecord>;

export const ClipsQuery = listQuery(["created_at"], {
  source_uuid: Type.Optional(Uuid),
  state: Type.Optional(Type.Enum([...CLIP_STATES])),
  ...timeRange("Clips that were requested"),
});
export const ClipListing = listing({ clips: Type.Array(ClipRecord) });
