/**
 * Writes the JSON of a track in the track report. In two parts: the first never changes for a track that has ended; its
 * image and the results of enhancement are stored elsewhere. Pure.
 */
import type { TrackPoint, TrackSpot, TrackSummary } from "../schemas/track-report.ts";
import { roundDegrees, roundMetres, toPercent } from "./format.ts";

export interface KnownSpot extends Pick<TrackSpot, "latitude" | "longitude" | "altitude"> {
  readonly timeMs: number;
}

export interface EntryTrack extends TrackSummary {
  /** The points in the window, by time. */
  readonly points: readonly Pick<TrackPoint, "timeMs" | "confidence">[];
  readonly firstSpot: KnownSpot | null;
  readonly lastSpot: KnownSpot | null;
}

export interface EntryPatch {
  readonly timeMs: number;
  readonly confidence: number;
  /** Base64. */
  readonly jpeg: string;
}

/** Everything before the images; `endEntry` completes it. */
export function beginEntry({ points, firstSpot, lastSpot, ...track }: EntryTrack): string {
  const entry = {
    track_id: track.id,
    class_id: track.classId,
    category_name: track.className,
    bbox: track.box,
    list_confidences: points.map(({ confidence }) => toPercent(confidence)),
    max_confidence: toPercent(track.confidence.best),
    min_confidence: toPercent(track.confidence.least),
    mean_confidence: toPercent(track.confidence.mean),
    timestamps: points.map(({ timeMs }) => toPosix(timeMs)),
    is_live: track.isLive,
    first_seen: toPosix(track.firstSeenMs),
    last_seen: toPosix(track.lastSeenMs),
    first_location: showSpot(firstSpot),
    last_location: showSpot(lastSpot),
  };
  return JSON.stringify(entry).slice(0, -1);
}

/** @param enhanced JSON of the enhancement's result; null if there is none */
export function endEntry(patch: EntryPatch | null, enhanced: string | null): string {
  const patches = patch === null ? "" : showPatch(patch);
  return `,"image_patches":[${patches}]${enhanced === null ? "" : `,"enhanced_data":${enhanced}`}}`;
}

/** Without JSON.stringify: base64 needs no escaping, and there may be a gigabyte of it. */
const showPatch = ({ jpeg, confidence, timeMs }: EntryPatch): string =>
  `{"image":"${jpeg}","confidence":${toPercent(confidence)},"timestamp":${toPosix(timeMs)}}`;

const showSpot = (spot: KnownSpot | null) =>
  spot && {
    latitude: roundDegrees(spot.latitude),
    longitude: roundDegrees(spot.longitude),
    altitude: roundMetres(spot.altitude),
    timestamp: toPosix(spot.timeMs),
  };

/** Seconds with milliseconds. */
export const toPosix = (ms: number): number => ms / 1000;
