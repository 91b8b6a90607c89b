/**
 * A pinhole camera. Its own axes are right, down and along the view; a point of the picture is told in fractions of the
 * frame from its upper left corner, and a ray by how far right and down it goes while it goes 1 along the view.
 */
import type { CameraAttitude } from "../../schemas/telemetry.ts";
import { combine, cross, normalise, type Vector } from "./vector.ts";
import { type LocalFrame, RADIANS } from "./wgs84.ts";

/** Half of what is seen across and from top to bottom, at a distance of 1. Two numbers: pixels need not be square. */
export interface Lens {
  readonly halfWidth: number;
  readonly halfHeight: number;
}

/** The camera's axes, each of length 1, in the frame in which the local one is given. */
export interface CameraAxes {
  readonly right: Vector;
  readonly down: Vector;
  readonly ahead: Vector;
}

export const makeLens = (hfovDeg: number, vfovDeg: number): Lens => ({
  halfWidth: Math.tan((hfovDeg / 2) * RADIANS),
  halfHeight: Math.tan((vfovDeg / 2) * RADIANS),
});

/** How far right, and down, a point of the picture lies from the line of sight, at a distance of 1 along it. */
export const offsetRight = (lens: Lens, x: number): number => (2 * x - 1) * lens.halfWidth;
export const offsetDown = (lens: Lens, y: number): number => (2 * y - 1) * lens.halfHeight;

/**
 * As one would turn a camera that looks along the line of sight: first by the azimuth about its own vertical, then up by
 * the elevation.
 */
export const azimuthDeg = (right: number): number => Math.atan(right) / RADIANS;
export const elevationDeg = (right: number, down: number): number =>
  Math.atan2(0 - down, Math.sqrt(1 + right * right)) / RADIANS;

/**
 * Yaw clockwise from true north, then pitch up from the horizon, then roll clockwise as seen along the view: the picture's
 * right edge goes down, what stands upright leans to the left.
 */
export function turnCamera({ yaw, pitch, roll }: CameraAttitude, { east, north, up }: LocalFrame): CameraAxes {
  const [sinYaw, cosYaw] = [Math.sin(yaw * RADIANS), Math.cos(yaw * RADIANS)];
  const [sinPitch, cosPitch] = [Math.sin(pitch * RADIANS), Math.cos(pitch * RADIANS)];
  const [sinRoll, cosRoll] = [Math.sin(roll * RADIANS), Math.cos(roll * RADIANS)];
  const ahead = combine(east, sinYaw * cosPitch, north, cosYaw * cosPitch, up, sinPitch);
  const levelRight = combine(east, cosYaw, north, -sinYaw, up, 0);
  const levelDown = cross(ahead, levelRight);
  return {
    right: combine(levelRight, cosRoll, levelDown, sinRoll, ahead, 0),
    down: combine(levelRight, -sinRoll, levelDown, cosRoll, ahead, 0),
    ahead,
  };
}

/** The direction, of length 1, of the ray that goes so far right and down. */
export const direct = (axes: CameraAxes, right: number, down: number): Vector =>
  normalise(combine(axes.right, right, axes.down, down, axes.ahead, 1));
