/** Track reports: the objects that a process detected, as JSON or as files for maps and tables, and their enhancement. */
import { Type } from "typebox";
import { EnhancedData } from "../enhancement.ts";
import { listing, listQuery, orNull, Timestamp, timeRange, Uuid } from "./records.ts";

const EXPORT_FORMATS = ["geojson", "kml", "csv"] as const;
const ABOUT_EXPORTS =
  "`geojson` (RFC 7946): one feature per track, with its path as a LineString or a Point, split where it crosses the 180th meridian; the geometry is null if the position is unknown. `kml` (2.2): one placemark per geolocated track. `csv` (RFC 4180, with a header): one line per point, with empty coordinates if they are unknown; text that a spreadsheet would interpret as a formula gets a leading apostrophe.";

const Percent = Type.Number({ minimum: 0, maximum: 100 });
const Posix = Type.Number({ description: "POSIX time in seconds, with milliseconds." });
const IsLive = Type.Boolean({ description: "It was visible at the time of the request." });
const LastBox = Type.Array(Type.Number(), {
  minItems: 4,
  maxItems: 4,
  description: "The last one: [x, y, width, height] in the original resolution.",
});

/** Linear: numbers of limited length, with commas between them. */
const polygon = (description: string) =>
  Type.String({
    pattern: "^-?\\d{1,7}(\\.\\d{1,9})?(,-?\\d{1,7}(\\.\\d{1,9})?){5,199}$",
    description: `${description} From 3 to 100 points.`,
  });

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
        "For `json`: narrows the window to this number of minutes before now, or before the end of an ended process. It cannot extend the window.",
    }),
  ),
  limit: Type.Optional(
    Type.Integer({ minimum: 1, maximum: 1000, description: "For `json`: maximum number of tracks, by id." }),
  ),
  cursor: Type.Optional(
    Type.String({ maxLength: 200, description: "For `json`: `next_cursor` of the previous page." }),
  ),
  sort: Type.Optional(
    Type.Enum(["track_id", "-track_id"], {
      default: "track_id",
      description: "For `json`: ids grow with time, so that `-track_id` begins with the newest track.",
    }),
  ),
  class: Type.Optional(Type.String({ maxLength: 1000, description: "Tracks of this class: `person`." })),
  ...timeRange("Tracks that were visible"),
  zone: Type.Optional(
    polygon(
      "Tracks that were in this polygon of the image: `x,y,x,y,…` in pixels of the original resolution. A track counts where the middle of the lower edge of its box was.",
    ),
  ),
  geo_zone: Type.Optional(
    polygon("Tracks that were in this polygon on the ground: `longitude,latitude,…` in degrees (WGS-84)."),
  ),
  patches: Type.Boolean({
    default: true,
    description: "For `json`: `false` omits the images, which make up most of a long report.",
  }),
});

const Location = orNull(
  Type.Object(
    { latitude: Type.Number(), longitude: Type.Number(), altitude: Type.Number(), timestamp: Posix },
    { description: "WGS-84, metres above mean sea level. Null: the position is unknown." },
  ),
);

const ReportTrack = Type.Object(
  {
    track_id: Type.Integer({ minimum: 1 }),
    class_id: Type.Integer({ minimum: 0 }),
    category_name: Type.String(),
    bbox: LastBox,
    list_confidences: Type.Array(Percent, {
      description:
        "Confidences at `timestamps`: the stored sightings in the window. One is stored every second, and more often while the object moves; after ten minutes, one per 600th of the track's age.",
    }),
    max_confidence: Type.Number({ ...Percent, description: "Over all sightings, like the next two." }),
    min_confidence: Percent,
    mean_confidence: Percent,
    image_patches: Type.Array(
      Type.Object({
        image: Type.String({ description: "JPEG in base64." }),
        confidence: Percent,
        timestamp: Posix,
      }),
      { description: "The best image of the object. Empty if there is none yet, or with `patches=false`." },
    ),
    timestamps: Type.Array(Posix),
    is_live: IsLive,
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
        "The window covered. For an ended process: how long it ran, rounded up, unless the request narrowed it.",
    }),
    tracks: Type.Array(ReportTrack, { description: "The tracks in the window, by id." }),
    next_cursor: Type.Optional(
      Type.String({ description: "There are more tracks: send this as `cursor` to get the next page." }),
    ),
  },
  { title: "TrackReport" },
);

export const DeletedReport = Type.Object(
  { process_uuid: Uuid, deleted: Type.Literal(true) },
  { title: "DeletedReport" },
);

const Position = Type.Array(Type.Number(), {
  minItems: 3,
  maxItems: 3,
  description: "Longitude and latitude in degrees (WGS-84), and altitude in metres above mean sea level.",
});
const Line = Type.Array(Position, { minItems: 2 });

const Geometry = Type.Union([
  Type.Object({ type: Type.Literal("Point"), coordinates: Position }),
  Type.Object({ type: Type.Literal("LineString"), coordinates: Line }),
  Type.Object({ type: Type.Literal("MultiLineString"), coordinates: Type.Array(Line) }),
]);

const TrackFeature = Type.Object({
  type: Type.Literal("Feature"),
  id: Type.Integer({ minimum: 1 }),
  geometry: orNull(Geometry),
  properties: Type.Object({
    track_id: Type.Integer({ minimum: 1 }),
    class_id: Type.Integer({ minimum: 0 }),
    class_name: Type.String(),
    first_seen: Timestamp,
    last_seen: Timestamp,
    is_live: IsLive,
    sightings: Type.Integer({ minimum: 1, description: "Frames in which it was detected." }),
    max_confidence: Percent,
    mean_confidence: Percent,
    min_confidence: Percent,
    bbox_pixels: LastBox,
    speed_mps: orNull(Type.Number({ minimum: 0, description: "Last known speed in metres per second." })),
    heading: orNull(Type.Number({ minimum: 0, maximum: 360, description: "Degrees from true north, clockwise." })),
    position_error_m: orNull(
      Type.Number({ minimum: 0, description: "One standard deviation of the last position on the ground." }),
    ),
    times: Type.Unknown({ description: "One time per position, in arrays with the structure of `coordinates`." }),
  }),
});

export const TrackCollection = Type.Object(
  {
    type: Type.Literal("FeatureCollection"),
    name: Type.String({ description: "Name of the process's source." }),
    process_uuid: Type.String(),
    features: Type.Array(TrackFeature),
  },
  { title: "TrackCollection" },
);

const ENHANCEMENT_STATUSES = ["RUNNING", "FINISHED", "FAILED"] as const;
export type EnhancementStatus = (typeof ENHANCEMENT_STATUSES)[number];

export const EnhancementStarted = Type.Object({ process_uuid: Uuid }, { title: "EnhancementStarted" });

export const EnhancementState = Type.Object(
  {
    status: Type.Enum([...ENHANCEMENT_STATUSES]),
    progress: Type.Number({ minimum: 0, maximum: 1, description: "Share of the tracks that are done." }),
    detail: Type.String({ description: "`120 of 400 tracks`; for FAILED, the reason." }),
  },
  { title: "EnhancementState" },
);

export const TrackedProcess = Type.Object(
  {
    uuid: Uuid,
    process_uuid: Uuid,
    source_uuid: Uuid,
    alias: orNull(Type.String({ description: "Alias of its source. Null: the source was deleted." })),
    started_at: orNull(Timestamp),
    finished_at: orNull(Timestamp),
    track_count: Type.Integer({ minimum: 0 }),
    enhancement: orNull(Type.Enum([...ENHANCEMENT_STATUSES])),
    video_url: orNull(
      Type.String({
        description:
          "Temporary URL of the processed video: its first file; the record of the process lists all. Null without process recording, and if nothing was recorded.",
      }),
    ),
  },
  { title: "TrackedProcess" },
);

export const TrackedQuery = listQuery(["created_at", "finished_at"], {
  source_uuid: Type.Optional(Uuid),
  ...timeRange("Processes that were started"),
});

export const TrackedListing = listing({ tracked_processes: Type.Array(TrackedProcess) });
