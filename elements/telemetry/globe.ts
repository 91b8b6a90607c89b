/**
 * Places as the direction that is up there, which knows neither a date line nor poles. Over the few metres between two
 * samples a straight line between directions is the line over the ground, to less than a hair.
 */
import type { Vector } from "./rotation.ts";

const RADIANS = Math.PI / 180;
/** Metres: half the axes of WGS-84, and the square of its eccentricity. */
const EQUATOR = 6_378_137;
const SQUARE = 6.694_379_990_14e-3;

export function toUp(latitude: number, longitude: number): Vector {
  const across = Math.cos(latitude * RADIANS);
  return [across * Math.cos(longitude * RADIANS), across * Math.sin(longitude * RADIANS), Math.sin(latitude * RADIANS)];
}

/** Of any length. */
export const toPlace = ([x, y, z]: Vector): { latitude: number; longitude: number } => ({
  latitude: Math.atan2(z, Math.hypot(x, y)) / RADIANS,
  longitude: Math.atan2(y, x) / RADIANS,
});

/** Metres north and east from one place to another one nearby. */
export function measure(from: Vector, to: Vector): readonly [northM: number, eastM: number] {
  const across = Math.hypot(from[0], from[1]);
  // At a pole itself, north is along the longitude 0 that `toPlace` calls it.
  const [cosine, sine] = across < 1e-12 ? [1, 0] : [from[0] / across, from[1] / across];
  const [x, y, z] = [to[0] - from[0], to[1] - from[1], to[2] - from[2]];
  const east = -sine * x + cosine * y;
  const north = -from[2] * (cosine * x + sine * y) + across * z;
  const flat = 1 - SQUARE * from[2] * from[2];
  const eastRadius = EQUATOR / Math.sqrt(flat);
  return [(north * eastRadius * (1 - SQUARE)) / flat, east * eastRadius];
}
