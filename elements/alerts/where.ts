/**
 * Where an object is, as rules see it: the middle of the lower edge of its box, which is where people and vehicles stand
 * on the ground. On the map the ray through that very point is what `geolocate` has placed.
 */
import type { Sighting } from "./alert-type.ts";

/** `image`: fractions of the frame, right and down. `geo`: degrees of longitude and latitude. */
export type Space = "image" | "geo";

/** NaN where it is not known. */
export function xOf({ track, place }: Sighting, space: Space): number {
  if (space === "image") return track.box[0] + track.box[2] / 2;
  return place?.spot?.longitude ?? Number.NaN;
}

export function yOf({ track, place }: Sighting, space: Space): number {
  // Left and width of a box that was cut off at the edge may add up to a hair more than all of it.
  if (space === "image") return Math.min(track.box[1] + track.box[3], 1);
  return place?.spot?.latitude ?? Number.NaN;
}

/** The same longitude as the nearest to another one: what is near each other on the globe is so in numbers too. */
export const unwrapDeg = (longitude: number, near: number): number =>
  longitude - 360 * Math.round((longitude - near) / 360);
