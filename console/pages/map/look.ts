/** What of the world is shown, and how that changes when one moves, zooms or wants to see all. Pure. */
import { footprint, isPose, type Offset, type Spot, toOffset } from "./ground.ts";
import type { Scene } from "./scene.ts";

export interface Look {
  readonly origin: Spot;
  /** Metres east and north of the origin, in the middle of the map. */
  readonly centre: Offset;
  readonly metresPerPixel: number;
}

export interface Size {
  readonly width: number;
  readonly height: number;
}

/** From the upper left corner of the map. */
export type Pixel = readonly [x: number, y: number];

const NEAREST = 0.01;
const FURTHEST = 20_000;
const MARGIN = 1.3;
/** Of what is far ahead of a camera, so many of its heights above the ground are wanted on the map. */
const WANTED_HEIGHTS = 6;

const bound = (metresPerPixel: number): number => Math.min(FURTHEST, Math.max(NEAREST, metresPerPixel));

export const toPixel = ({ centre, metresPerPixel }: Look, { width, height }: Size, [east, north]: Offset): Pixel => [
  width / 2 + (east - centre[0]) / metresPerPixel,
  height / 2 - (north - centre[1]) / metresPerPixel,
];

const toPlace = ({ centre, metresPerPixel }: Look, { width, height }: Size, [x, y]: Pixel): Offset => [
  centre[0] + (x - width / 2) * metresPerPixel,
  centre[1] - (y - height / 2) * metresPerPixel,
];

/** What is below the pixel stays there. */
export function zoomAt(look: Look, size: Size, at: Pixel, factor: number): Look {
  const metresPerPixel = bound(look.metresPerPixel * factor);
  const [east, north] = toPlace(look, size, at);
  const [nextEast, nextNorth] = toPlace({ ...look, metresPerPixel }, size, at);
  return {
    ...look,
    metresPerPixel,
    centre: [look.centre[0] + east - nextEast, look.centre[1] + north - nextNorth],
  };
}

/** The world goes along with the hand. */
export const move = (look: Look, [right, down]: Pixel): Look => ({
  ...look,
  centre: [look.centre[0] - right * look.metresPerPixel, look.centre[1] + down * look.metresPerPixel],
});

/** All of it, with some room around. Null where nothing has a place. */
export function fit({ cameras, tracks }: Pick<Scene, "cameras" | "tracks">, { width, height }: Size): Look | null {
  const spots = [...cameras.values(), ...[...tracks.values()].flatMap(({ trail }) => trail)];
  const [origin] = spots;
  if (origin === undefined) return null;
  const offsets = spots.map((spot) => toOffset(origin, spot));
  for (const camera of cameras.values()) {
    if (!isPose(camera)) continue;
    const [east, north] = toOffset(origin, camera);
    for (const [e, n] of footprint(camera, camera.rel_altitude * WANTED_HEIGHTS)) offsets.push([east + e, north + n]);
  }
  let [west, east, south, north] = [Infinity, -Infinity, Infinity, -Infinity];
  for (const [e, n] of offsets) {
    [west, east] = [Math.min(west, e), Math.max(east, e)];
    [south, north] = [Math.min(south, n), Math.max(north, n)];
  }
  const across = Math.max((east - west) / Math.max(1, width), (north - south) / Math.max(1, height));
  return {
    origin: { latitude: origin.latitude, longitude: origin.longitude },
    centre: [(west + east) / 2, (south + north) / 2],
    metresPerPixel: bound(Math.max(across * MARGIN, 0.05)),
  };
}
