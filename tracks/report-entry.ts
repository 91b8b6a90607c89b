/**
 * A track as the track report of the interface has it, in JSON. In two parts, as what is said of a track that has ended
 * never changes, while its picture and what was found out about it later are kept elsewhere. Pure.
 */
import type { TrackPoint, TrackSpot, TrackSummary } from "../schemas/track-report.ts";
import { roundDegrees, roundMetres, toPercent } from "./rounding.ts";

export interface KnownSpot extends Pick<TrackSpot, "latitude" | "longitude" | "altitude"> {
  readonly timeMs: number;
}

export interface EntryTrack extends TrackSummary {
  /** Those of the window, by time. */
  readonly points: readonly Pick<TrackPoint, "timeMs" | "confidence">[];
  readonly firstSpot: KnownSpot | null;
  readonly lastSpot: KnownSpot | null;
}

export interface EntryPatch {
  readonly timeMs: number;
  readonly confidence: number;
  /** In base64. */
  readonly jpeg: string;
}

/** All but the pictures and what comes behind them; `endEntry` closes it. */
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

/** @param enhanced JSON of what was found out about it; null: nobody has looked */
export function endEntry(patch: EntryPatch | null, enhanced: string | null): string {
  const patches = patch === null ? "" : showPatch(patch);
  return `,"image_patches":[${patches}]${enhanced === null ? "" : `,"enhanced_data":${enhanced}`}}`;
}

/** By hand: base64 needs no escapes, and there may be a gigabyte of it. */
const showPatch = ({ jpeg, confidence, timeMs }: EntryPatch): string =>
  `{"image":"${jpeg}","confidence":${toPercent(confidence)},"timestamp":${toPosix(timeMs)}}`;

const showSpot = (spot: KnownSpot | null) =>
  spot && {
    latitude: roundDegrees(spot.latitude),
    longitude: roundDegrees(spot.longitude),
    altitude: roundMetres(spot.altitude),
    timestamp: toPosix(spot.timeMs),
  };

/** Seconds, to a millisecond. */
export const toPosix = (ms: number): number => ms / 1000;
