/**
 * A pinhole camera over flat ground. Independent of elements/geolocate, so that each implementation can reveal mistakes
 * of the other. Metres east, north and up; degrees as in telemetry.
 */
export type Enu = readonly [east: number, north: number, up: number];

export interface Pose {
  readonly at: Enu;
  /** From true north, clockwise. */
  readonly yaw: number;
  /** From the horizon; negative is down. */
  readonly pitch: number;
  /** Clockwise as seen along the view. */
  readonly roll: number;
}

export interface Lens {
  readonly width: number;
  readonly height: number;
  /** Degrees. */
  readonly hfov: number;
}

export interface Pixel {
  readonly x: number;
  readonly y: number;
  /** Metres along the line of sight. */
  readonly depth: number;
}

const RADIANS = Math.PI / 180;

/** Vertical field of view, with square pixels. */
export const vfovOf = ({ width, height, hfov }: Lens): number =>
  (2 * Math.atan((Math.tan((hfov / 2) * RADIANS) * height) / width)) / RADIANS;

/** Focal length in pixels. */
export const focalOf = ({ width, hfov }: Lens): number => width / 2 / Math.tan((hfov / 2) * RADIANS);

export interface Axes {
  readonly right: Enu;
  readonly up: Enu;
  readonly forward: Enu;
}

export function axesOf({ yaw, pitch, roll }: Pose): Axes {
  const [sy, cy] = [Math.sin(yaw * RADIANS), Math.cos(yaw * RADIANS)];
  const [sp, cp] = [Math.sin(pitch * RADIANS), Math.cos(pitch * RADIANS)];
  const [sr, cr] = [Math.sin(roll * RADIANS), Math.cos(roll * RADIANS)];
  const level: Enu = [cy, -sy, 0];
  const upright: Enu = [-sy * sp, -cy * sp, cp];
  // A clockwise roll lowers the right side of the camera.
  return {
    right: combine(level, cr, upright, -sr),
    up: combine(upright, cr, level, sr),
    forward: [sy * cp, cy * cp, sp],
  };
}

const combine = (a: Enu, wa: number, b: Enu, wb: number): Enu => [
  a[0] * wa + b[0] * wb,
  a[1] * wa + b[1] * wb,
  a[2] * wa + b[2] * wb,
];

const dot = (a: Enu, b: Enu): number => a[0] * b[0] + a[1] * b[1] + a[2] * b[2];

/** Projects a point to pixels from the upper left corner; null behind the camera. */
export function project(point: Enu, pose: Pose, lens: Lens): Pixel | null {
  const { right, up, forward } = axesOf(pose);
  const offset: Enu = [point[0] - pose.at[0], point[1] - pose.at[1], point[2] - pose.at[2]];
  const depth = dot(offset, forward);
  if (depth <= 0) return null;
  const focal = focalOf(lens);
  return {
    x: lens.width / 2 + (focal * dot(offset, right)) / depth,
    y: lens.height / 2 - (focal * dot(offset, up)) / depth,
    depth,
  };
}
