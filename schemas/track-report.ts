/**
 * What the element `report` tells of tracks, on the channel `track_report`: whoever hears it keeps it (the service in its
 * database, the command line in memory until its file is written). All but the points is the whole so far, so that the
 * last message about a track says everything; a message that is lost costs the points in it, and `pointsBefore` shows it.
 */
import { type Static, Type } from "typebox";
import { Box, Track } from "./detections.ts";
import { Place } from "./places.ts";

export const TRACK_REPORT_CHANNEL = "track_report";

/** Of one track, however long it lives: the element thins more and more, and then stops. */
export const MOST_POINTS = 100_000;
/** A JPEG of one object, its longer side no longer than this. Plates must stay readable in it. */
export const MOST_PATCH_PIXELS = 640;
export const MOST_PATCH_BYTES = 96 * 1024;
/** In one message. */
export const MOST_REPORTED_TRACKS = 100;
export const MOST_REPORTED_POINTS = 500;

const unixMs = Type.Integer({ minimum: 0, maximum: 8_640_000_000_000_000 });

/** Where the object was. The same as `spot` of `places`. */
export const TrackSpot = Type.Required(Type.Object({ ...Place.properties.spot.anyOf[0].properties }));
export type TrackSpot = Static<typeof TrackSpot>;

/** One sighting of those that were kept. */
export const TrackPoint = Type.Object({
  timeMs: unixMs,
  /** From 0 to 1. */
  confidence: Track.properties.confidence,
  /** In pixels of the input. */
  box: Box,
  /** Null: it was seen, and nobody knows where. */
  spot: Type.Union([TrackSpot, Type.Null()]),
});
export type TrackPoint = Static<typeof TrackPoint>;

/**
 * A picture of the object, the best there is. It travels with what is said of the track, unlike the pictures of the feed:
 * a few a second, each bounded, so that neither the channel nor the order of the two is in doubt.
 */
export const TrackPatch = Type.Object({
  timeMs: unixMs,
  confidence: Track.properties.confidence,
  /** In base64. */
  jpeg: Type.String({ pattern: "^[A-Za-z0-9+/]+={0,2}$", maxLength: Math.ceil(MOST_PATCH_BYTES / 3) * 4 }),
});
export type TrackPatch = Static<typeof TrackPatch>;

/** Everything about a track but its points. Times are those of the pictures; predictions do not count as sightings. */
export const TrackSummary = Type.Object({
  id: Type.Integer({ minimum: 1, maximum: Number.MAX_SAFE_INTEGER }),
  /** As `track` said last: it has weighed all sightings. */
  classId: Type.Integer({ minimum: 0, maximum: 2_147_483_647 }),
  className: Type.String({ maxLength: 1000 }),
  firstSeenMs: unixMs,
  lastSeenMs: unixMs,
  /** Frames in which it was detected. */
  sightings: Type.Integer({ minimum: 1, maximum: 2_147_483_647 }),
  /** Of all sightings, from 0 to 1. */
  confidence: Type.Object({
    best: Track.properties.confidence,
    mean: Track.properties.confidence,
    least: Track.properties.confidence,
  }),
  /** The last one, in pixels of the input. */
  box: Box,
  isLive: Type.Boolean(),
});
export type TrackSummary = Static<typeof TrackSummary>;

export const ReportedTrack = Type.Object({
  ...TrackSummary.properties,
  /** Points of this track that earlier messages had: the number of the first one of `points`. */
  pointsBefore: Type.Integer({ minimum: 0, maximum: MOST_POINTS }),
  /** Those that are new. */
  points: Type.Array(TrackPoint, { maxItems: MOST_REPORTED_POINTS }),
  /** A better one than all before. */
  patch: Type.Optional(TrackPatch),
});
export type ReportedTrack = Static<typeof ReportedTrack>;

export const TrackReport = Type.Object({
  /** Those of which something is new. */
  tracks: Type.Array(ReportedTrack, { maxItems: MOST_REPORTED_TRACKS }),
});
export type TrackReport = Static<typeof TrackReport>;
