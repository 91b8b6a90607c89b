/** The path of a track over the ground, and the properties of a track in map formats. */
import type { TrackPoint, TrackSpot } from "../schemas/track-report.ts";
import { roundAngle, roundMetres, toPercent, toTime, type WholeTrack } from "./format.ts";

export interface PathPoint extends TrackSpot {
  readonly timeMs: number;
}

export const findPath = (points: readonly TrackPoint[]): readonly PathPoint[] =>
  points.flatMap(({ timeMs, spot }) => (spot === null ? [] : [{ timeMs, ...spot }]));

/** Speed and heading are the last known ones. */
export function describeTrack(track: WholeTrack, path: readonly PathPoint[]) {
  const moving = path.findLast(({ speedMps }) => speedMps !== null);
  const errorM = path.at(-1)?.errorM ?? null;
  return {
    track_id: track.id,
    class_id: track.classId,
    class_name: track.className,
    first_seen: toTime(track.firstSeenMs),
    last_seen: toTime(track.lastSeenMs),
    is_live: track.isLive,
    sightings: track.sightings,
    max_confidence: toPercent(track.confidence.best),
    mean_confidence: toPercent(track.confidence.mean),
    min_confidence: toPercent(track.confidence.least),
    bbox_pixels: track.box,
    speed_mps: moving?.speedMps == null ? null : roundMetres(moving.speedMps),
    heading: moving?.heading == null ? null : roundAngle(moving.heading),
    position_error_m: errorM === null ? null : roundMetres(errorM),
  };
}

/**
 * Splits a path where it crosses the 180th meridian (RFC 7946, 3.1.9): maps would draw it around the globe. Both parts
 * extend to the meridian.
 */
export function cutAtDateLine(path: readonly PathPoint[]): readonly (readonly PathPoint[])[] {
  const parts: PathPoint[][] = [];
  for (const [index, point] of path.entries()) {
    const before = path[index - 1];
    if (before === undefined) parts.push([point]);
    else if (Math.abs(point.longitude - before.longitude) <= 180) parts.at(-1)?.push(point);
    else {
      const [end, begin] = crossing(before, point);
      parts.at(-1)?.push(end);
      parts.push([begin, point]);
    }
  }
  return parts.map(dropRepeats);
}

/** The point where the shorter way crosses the meridian, once for either side. */
function crossing(from: PathPoint, to: PathPoint): readonly [PathPoint, PathPoint] {
  const side = from.longitude > 0 ? 180 : -180;
  const whole = 360 - Math.abs(to.longitude - from.longitude);
  const share = whole === 0 ? 0 : (180 - Math.abs(from.longitude)) / whole;
  const between = (a: number, b: number): number => a + (b - a) * share;
  const point = {
    ...to,
    timeMs: Math.round(between(from.timeMs, to.timeMs)),
    latitude: between(from.latitude, to.latitude),
    altitude: between(from.altitude, to.altitude),
  };
  return [
    { ...point, longitude: side },
    { ...point, longitude: -side },
  ];
}

/** Removes the crossing point where the path has a point on the meridian itself. A line keeps at least two points. */
const dropRepeats = (part: readonly PathPoint[]): readonly PathPoint[] =>
  part.length <= 2 ? part : part.filter((point, i) => i === 0 || !isSamePlace(point, part[i - 1]));

const isSamePlace = (one: PathPoint, other: PathPoint | undefined): boolean =>
  one.latitude === other?.latitude && one.longitude === other.longitude && Math.abs(one.longitude) === 180;
