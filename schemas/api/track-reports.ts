/** Track reports: what was seen by a process, for how long and how surely. */
import { Type } from "typebox";
import { EnhancedData } from "../enhancement.ts";
import { ENHANCEMENT_STATUSES } from "./enhancement.ts";
import { listing, PageQuery, Timestamp, Uuid } from "./records.ts";
import { ABOUT_EXPORTS, EXPORT_FORMATS } from "./tracks.ts";

const orNull = <T extends Parameters<typeof Type.Union>[0][number]>(type: T) => Type.Union([type, Type.Null()]);
const Percent = Type.Number({ minimum: 0, maximum: 100 });
const Posix = Type.Number({ description: "POSIX time: seconds, to a millisecond." });

export const TracksQuery = Type.Object({
  format: Type.Enum(["json", ...EXPORT_FORMATS], {
    default: "json",
    description: `\`json\`: the track report. ${ABOUT_EXPORTS}`,
  }),
  window_minutes: Type.Optional(
    Type.Integer({
      minimum: 1,
      maximum: 5_256_000,
      description:
        "Of `json`: narrows the window to the last so many minutes before now, or before the end of a process that has ended. More than the window has changes nothing.",
    }),
  ),
  limit: Type.Optional(
    Type.Integer({ minimum: 1, maximum: 1000, description: "Of `json`: so many tracks at most, by their ids." }),
  ),
  cursor: Type.Optional(Type.String({ maxLength: 200, description: "Of `json`: `next_cursor` of the page before." })),
  patches: Type.Boolean({
    default: true,
    description: "Of `json`: `false` leaves the pictures out, which make up nearly all of a long report.",
  }),
});

const Location = orNull(
  Type.Object(
    { latitude: Type.Number(), longitude: Type.Number(), altitude: Type.Number(), timestamp: Posix },
    { description: "WGS-84, metres above mean sea level. Null: nobody knows where it was." },
  ),
);

const ReportTrack = Type.Object(
  {
    track_id: Type.Integer({ minimum: 1 }),
    class_id: Type.Integer({ minimum: 0 }),
    category_name: Type.String(),
    bbox: Type.Array(Type.Number(), {
      minItems: 4,
      maxItems: 4,
      description: "The last one: [x, y, width, height] in the original resolution.",
    }),
    list_confidences: Type.Array(Percent, {
      description:
        "At `timestamps`: of those sightings in the window that were kept. That is one every second, and sooner while it moves; of a track that is seen for longer than ten minutes one every 600th of its age.",
    }),
    max_confidence: Type.Number({ ...Percent, description: "Of all sightings, as are the next two." }),
    min_confidence: Percent,
    mean_confidence: Percent,
    image_patches: Type.Array(
      Type.Object({
        image: Type.String({ description: "A JPEG in base64." }),
        confidence: Percent,
        timestamp: Posix,
      }),
      { description: "The best picture of it. Empty while there is none, or where none was asked for." },
    ),
    timestamps: Type.Array(Posix),
    is_live: Type.Boolean({ description: "It was on the picture when this was asked for." }),
    first_seen: Posix,
    last_seen: Posix,
    first_location: Location,
    last_location: Location,
    enhanced_data: Type.Optional(EnhancedData),
  },
  { title: "ReportTrack" },
);

export const TrackReportRecord = Type.Object(
  {
    process_uuid: Uuid,
    report_time: Posix,
    time_window_minutes: Type.Integer({
      minimum: 1,
      description:
        "The window covered. Of a process that has ended: how long it ran, rounded up, unless it was narrowed.",
    }),
    tracks: Type.Array(ReportTrack, { description: "Those seen in the window, by their ids." }),
    next_cursor: Type.Optional(Type.String({ description: "There is more: ask again with this `cursor`." })),
  },
  { title: "TrackReport" },
);

export const DeletedReport = Type.Object(
  { process_uuid: Uuid, deleted: Type.Literal(true) },
  { title: "DeletedReport" },
);

export const TrackedQuery = PageQuery;

export const TrackedProcess = Type.Object(
  {
    uuid: Uuid,
    process_uuid: Uuid,
    source_uuid: Uuid,
    alias: orNull(Type.String({ description: "Of its source. Null: the source is gone." })),
    started_at: orNull(Timestamp),
    finished_at: orNull(Timestamp),
    track_count: Type.Integer({ minimum: 0 }),
    enhancement: orNull(Type.Enum([...ENHANCEMENT_STATUSES])),
    video_url: orNull(
      Type.String({
        description:
          "Where the processed video can be downloaded for a while: its first file; the record of the process lists all. Null without process recording, and where nothing was recorded.",
      }),
    ),
  },
  { title: "TrackedProcess" },
);

export const TrackedListing = listing({ tracked_processes: Type.Array(TrackedProcess) });
