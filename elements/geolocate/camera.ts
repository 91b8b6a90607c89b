/**
 * A pinhole camera. Its axes are right, down and along the view. A point of the image is given in fractions of the frame
 * from its upper left corner; a ray by its offsets right and down per unit along the view.
 */

import type { Box } from "../../schemas/detections.ts";
import type { CameraAttitude } from "../../schemas/telemetry.ts";
import type { Size } from "./sizes.ts";
import { combine, cross, type LocalFrame, normalise, RADIANS, type Vector } from "./wgs84.ts";

/** Half of the visible width and height at distance 1. Two numbers: pixels need not be square. */
export interface Lens {
  readonly halfWidth: number;
  readonly halfHeight: number;
}

/** The camera's axes as unit vectors, in the coordinates of the local frame. */
export interface CameraAxes {
  readonly right: Vector;
  readonly down: Vector;
  readonly ahead: Vector;
}

export const makeLens = (hfovDeg: number, vfovDeg: number): Lens => ({
  halfWidth: Math.tan((hfovDeg / 2) * RADIANS),
  halfHeight: Math.tan((vfovDeg / 2) * RADIANS),
});

/** Offset of a point of the image from the line of sight, right and down, at distance 1 along it. */
export const offsetRight = (lens: Lens, x: number): number => (2 * x - 1) * lens.halfWidth;
export const offsetDown = (lens: Lens, y: number): number => (2 * y - 1) * lens.halfHeight;

/**
 * The rotation that would centre the point: first by the azimuth about the camera's vertical, then up by the elevation.
 */
export const azimuthDeg = (right: number): number => Math.atan(right) / RADIANS;
export const elevationDeg = (right: number, down: number): number =>
  Math.atan2(0 - down, Math.sqrt(1 + right * right)) / RADIANS;

/**
 * Yaw clockwise from true north, then pitch up from the horizon, then roll clockwise as seen along the view: the right
 * edge of the camera goes down, upright objects lean to the left.
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

/** Unit direction of the ray with these offsets. */
export const direct = (axes: CameraAxes, right: number, down: number): Vector =>
  normalise(combine(axes.right, right, axes.down, down, axes.ahead, 1));

/** A box nearer than this to the edge of the frame counts as cut off: its real size is unknown. */
const EDGE = 0.002;

export const isCutBelow = ([, top, , height]: Box): boolean => top + height > 1 - EDGE;

export const isCutAside = ([left, , width]: Box): boolean => left < EDGE || left + width > 1 - EDGE;

const isCut = (box: Box): boolean => box[1] < EDGE || isCutAside(box) || isCutBelow(box);

/**
 * Distance to an object of this size that fills the box. Uses height and width if both are known: their product depends
 * less on the viewing direction than either. Null for a box that is cut off or empty.
 */
export function estimateDistanceM({ heightM, widthM }: Size, lens: Lens, box: Box): number | null {
  if (isCut(box)) return null;
  const [left, top, width, height] = box;
  const right = offsetRight(lens, left + width / 2);
  const down = offsetDown(lens, top + height / 2);
  const byHeight = fit(heightM, offsetDown(lens, top), offsetDown(lens, top + height), Math.sqrt(1 + right * right));
  const byWidth = fit(widthM, offsetRight(lens, left), offsetRight(lens, left + width), Math.sqrt(1 + down * down));
  const distanceM = byHeight === null || byWidth === null ? (byHeight ?? byWidth) : Math.sqrt(byHeight * byWidth);
  return distanceM !== null && Number.isFinite(distanceM) ? distanceM : null;
}

/** The distance at which `sizeM` fills the angle between two offsets from the line of sight. */
function fit(sizeM: number | null, low: number, high: number, away: number): number | null {
  if (sizeM === null) return null;
  const angle = Math.atan(high / away) - Math.atan(low / away);
  return angle > 0 ? sizeM / (2 * Math.tan(angle / 2)) : null;
}
