/** Positions on the map: across the date line, what a scene covers, and lines of latitude and longitude. Pure. */
import type { Camera, Position, Scene } from "./scene.ts";

export interface Bounds {
  readonly south: number;
  readonly west: number;
  readonly north: number;
  readonly east: number;
}

/** The longitude plus or minus 360, on the side of the date line where the reference is: maps have the world several times. */
export const nearLongitude = (longitude: number, reference: number): number =>
  longitude + 360 * Math.round((reference - longitude) / 360);

/** Of a footprint that reaches to the horizon, points so many times farther from the camera than the nearest are not fitted. */
const FITTED_TIMES = 8;
const FITTED_LEAST_M = 50;
const METRES_PER_DEGREE = 111_195;

/** All cameras, footprints and trails. Null if there are none. */
export function boundsOf({ cameras, tracks }: Pick<Scene, "cameras" | "tracks">): Bounds | null {
  const positions = [
    ...[...cameras.values()].flatMap((camera) => [camera, ...nearFootprint(camera)]),
    ...[...tracks.values()].flatMap(({ trail }) => trail),
  ];
  const [first] = positions;
  if (first === undefined) return null;
  let [south, west, north, east] = [90, Infinity, -90, -Infinity];
  for (const { latitude, longitude } of positions) {
    const near = nearLongitude(longitude, first.longitude);
    [south, north] = [Math.min(south, latitude), Math.max(north, latitude)];
    [west, east] = [Math.min(west, near), Math.max(east, near)];
  }
  return { south, west, north, east };
}

function nearFootprint(camera: Camera): readonly Position[] {
  const points = (camera.footprint ?? []).map(([latitude, longitude]) => ({ latitude, longitude }));
  const distances = points.map((point) => distanceM(camera, point));
  const limitM = Math.max(FITTED_LEAST_M, Math.min(...distances) * FITTED_TIMES);
  return points.filter((_, i) => (distances[i] ?? 0) <= limitM);
}

/** For short distances. */
const distanceM = (a: Position, b: Position): number =>
  METRES_PER_DEGREE *
  Math.hypot(
    b.latitude - a.latitude,
    (nearLongitude(b.longitude, a.longitude) - a.longitude) * Math.cos((a.latitude * Math.PI) / 180),
  );

/** Whether the view should follow: something is outside of it, or everything is small in it. */
export function needsFit(bounds: Bounds, view: Bounds): boolean {
  const { south, north } = bounds;
  const shift = nearLongitude(bounds.west, (view.west + view.east) / 2) - bounds.west;
  const [west, east] = [bounds.west + shift, bounds.east + shift];
  if (south < view.south || north > view.north || west < view.west || east > view.east) return true;
  const share = Math.max((north - south) / (view.north - view.south), (east - west) / (view.east - view.west));
  return share < SMALL;
}

const SMALL = 0.2;

/** The largest of 1, 2, 5, 10, 20 … that is not above `max`. */
export function roundLength(max: number): number {
  const power = 10 ** Math.floor(Math.log10(max));
  return [5, 2, 1].map((digit) => digit * power).find((length) => length <= max) ?? power;
}

/** Multiples of a round step from `first` to `last`, about `count` of them. */
export function gridLines(first: number, last: number, count: number): readonly number[] {
  const step = roundLength((last - first) / count);
  const from = Math.ceil(first / step);
  const length = Math.min(MAX_LINES, Math.floor(last / step) - from + 1);
  return Array.from({ length: Math.max(0, length) }, (_, i) => (from + i) * step);
}

const MAX_LINES = 100;
