/** The path of a track over the ground. */
import type { TrackPoint, TrackSpot } from "../schemas/track-report.ts";

export interface PathPoint extends TrackSpot {
  readonly timeMs: number;
}

/** What is known of its motion at the end. */
export interface Motion {
  readonly speedMps: number | null;
  readonly heading: number | null;
  readonly errorM: number | null;
}

export const findPath = (points: readonly TrackPoint[]): readonly PathPoint[] =>
  points.flatMap(({ timeMs, spot }) => (spot === null ? [] : [{ timeMs, ...spot }]));

/** The last that was known. */
export function findMotion(path: readonly PathPoint[]): Motion {
  const moving = path.findLast(({ speedMps }) => speedMps !== null);
  return {
    speedMps: moving?.speedMps ?? null,
    heading: moving?.heading ?? null,
    errorM: path.at(-1)?.errorM ?? null,
  };
}

/**
 * In parts that do not cross the 180th meridian (RFC 7946, 3.1.9): a path that does would be drawn around the globe. Both
 * parts go up to it.
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

/** Where the short way between them crosses the line: once on either side of it. */
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

/** A point that lies on the line itself is there already. A line still has two. */
const dropRepeats = (part: readonly PathPoint[]): readonly PathPoint[] =>
  part.length <= 2 ? part : part.filter((point, i) => i === 0 || !isSamePlace(point, part[i - 1]));

const isSamePlace = (one: PathPoint, other: PathPoint | undefined): boolean =>
  one.latitude === other?.latitude && one.longitude === other.longitude && Math.abs(one.longitude) === 180;
