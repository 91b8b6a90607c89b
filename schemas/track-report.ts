/**
 * Messages of the element `report` on the channel `track_report`. The service stores them in its database; the command line
 * keeps them in memory until it writes its file. Except for the points, a message is cumulative, so that the last message
 * of a track is complete; a lost message loses its points, and `pointsBefore` shows that.
 */
import { type Static, Type } from "typebox";
import { Box, Track } from "./detections.ts";
import { Place } from "./places.ts";

export const TRACK_REPORT_CHANNEL = "track_report";

/** Limit per track: the element thins the points more and more, and then stops. */
export const MOST_POINTS = 100_000;
/** Longer side of an object's JPEG. Plates must stay legible. */
export const MOST_PATCH_PIXELS = 640;
export const MOST_PATCH_BYTES = 96 * 1024;
/** Limits per message. */
export const MOST_REPORTED_TRACKS = 100;
export const MOST_REPORTED_POINTS = 500;

const unixMs = Type.Integer({ minimum: 0, maximum: 8_640_000_000_000_000 });

/** Same as `spot` of `places`. */
export const TrackSpot = Type.Required(Type.Object({ ...Place.properties.spot.anyOf[0].properties }));
export type TrackSpot = Static<typeof TrackSpot>;

/** A stored sighting. */
export const TrackPoint = Type.Object({
  timeMs: unixMs,
  /** From 0 to 1. */
  confidence: Track.properties.confidence,
  /** In pixels of the input. */
  box: Box,
  /** Null: its position is unknown. */
  spot: Type.Union([TrackSpot, Type.Null()]),
});
export type TrackPoint = Static<typeof TrackPoint>;

/**
 * The best image of the object. It is sent with the track's data, unlike the frames of the feed: a few per second with a
 * bounded size do not overload the channel, and their order is guaranteed.
 */
export const TrackPatch = Type.Object({
  timeMs: unixMs,
  confidence: Track.properties.confidence,
  /** In base64. */
  jpeg: Type.String({ pattern: "^[A-Za-z0-9+/]+={0,2}$", maxLength: Math.ceil(MOST_PATCH_BYTES / 3) * 4 }),
});
export type TrackPatch = Static<typeof TrackPatch>;

/** A track without its points. Times are capture times of frames; predictions do not count as sightings. */
export const TrackSummary = Type.Object({
  id: Type.Integer({ minimum: 1, maximum: Number.MAX_SAFE_INTEGER }),
  /** The last class from `track`, which considers all sightings. */
  classId: Type.Integer({ minimum: 0, maximum: 2_147_483_647 }),
  className: Type.String({ maxLength: 1000 }),
  firstSeenMs: unixMs,
  lastSeenMs: unixMs,
  /** Frames in which it was detected. */
  sightings: Type.Integer({ minimum: 1, maximum: 2_147_483_647 }),
  /** Over all sightings, from 0 to 1. */
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
  /** Number of points in earlier messages: the index of the first entry of `points`. */
  pointsBefore: Type.Integer({ minimum: 0, maximum: MOST_POINTS }),
  /** The new points. */
  points: Type.Array(TrackPoint, { maxItems: MOST_REPORTED_POINTS }),
  /** An image that is better than all before. */
  patch: Type.Optional(TrackPatch),
});
export type ReportedTrack = Static<typeof ReportedTrack>;

export const TrackReport = Type.Object({
  /** The tracks with new data. */
  tracks: Type.Array(ReportedTrack, { maxItems: MOST_REPORTED_TRACKS }),
});
export type TrackReport = Static<typeof TrackReport>;
