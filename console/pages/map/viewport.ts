/** The visible part of the map: panning, zooming, and fitting everything. Pure. */
import { footprint, isPose, type Offset, type Position, toOffset } from "./ground.ts";
import type { Scene } from "./scene.ts";

export interface Viewport {
  readonly origin: Position;
  /** Of the map, from the origin. */
  readonly centre: Offset;
  readonly metresPerPixel: number;
}

export interface Size {
  readonly width: number;
  readonly height: number;
}

/** From the upper left corner of the map. */
export type Pixel = readonly [x: number, y: number];

const MIN_METRES_PER_PIXEL = 0.01;
const MAX_METRES_PER_PIXEL = 20_000;
const MARGIN = 1.3;
/** Of a footprint, this many altitudes of the camera ahead are fitted. */
const FITTED_ALTITUDES = 6;

const clamp = (metresPerPixel: number): number =>
  Math.min(MAX_METRES_PER_PIXEL, Math.max(MIN_METRES_PER_PIXEL, metresPerPixel));

export const toPixel = (
  { centre, metresPerPixel }: Viewport,
  { width, height }: Size,
  [east, north]: Offset,
): Pixel => [width / 2 + (east - centre[0]) / metresPerPixel, height / 2 - (north - centre[1]) / metresPerPixel];

/** The position below the pixel stays there. */
export function zoomAt(viewport: Viewport, { width, height }: Size, [x, y]: Pixel, factor: number): Viewport {
  const metresPerPixel = clamp(viewport.metresPerPixel * factor);
  const change = viewport.metresPerPixel - metresPerPixel;
  const [east, north] = viewport.centre;
  return { ...viewport, metresPerPixel, centre: [east + (x - width / 2) * change, north - (y - height / 2) * change] };
}

/** The map moves along with the pointer. */
export const pan = (viewport: Viewport, [right, down]: Pixel): Viewport => ({
  ...viewport,
  centre: [viewport.centre[0] - right * viewport.metresPerPixel, viewport.centre[1] + down * viewport.metresPerPixel],
});

/** All cameras, footprints and trails. Null if there are none. */
export function fit({ cameras, tracks }: Pick<Scene, "cameras" | "tracks">, { width, height }: Size): Viewport | null {
  const positions = [...cameras.values(), ...[...tracks.values()].flatMap(({ trail }) => trail)];
  const [origin] = positions;
  if (origin === undefined) return null;
  const offsets = positions.map((position) => toOffset(origin, position));
  for (const camera of cameras.values()) {
    if (!isPose(camera)) continue;
    const [east, north] = toOffset(origin, camera);
    for (const [e, n] of footprint(camera, camera.rel_altitude * FITTED_ALTITUDES)) offsets.push([east + e, north + n]);
  }
  let [west, east, south, north] = [Infinity, -Infinity, Infinity, -Infinity];
  for (const [e, n] of offsets) {
    [west, east] = [Math.min(west, e), Math.max(east, e)];
    [south, north] = [Math.min(south, n), Math.max(north, n)];
  }
  const needed = Math.max((east - west) / Math.max(1, width), (north - south) / Math.max(1, height));
  return {
    origin: { latitude: origin.latitude, longitude: origin.longitude },
    centre: [(west + east) / 2, (south + north) / 2],
    metresPerPixel: clamp(Math.max(needed * MARGIN, 0.05)),
  };
}
