/** Flat geometry around one place: exact enough for what one camera sees. Pure. */

export interface Spot {
  readonly latitude: number;
  readonly longitude: number;
}

/** Metres east and north of a place. */
export type Offset = readonly [east: number, north: number];

const RADIANS = Math.PI / 180;
/** A ray that meets the ground further away, or not at all, ends here. */
export const FARTHEST_M = 3_000;

/** Metres of a degree of the WGS-84 ellipsoid, as series in the latitude: to a centimetre. */
const northPerDegree = (latitude: number): number =>
  111_132.954 - 559.822 * Math.cos(2 * latitude * RADIANS) + 1.175 * Math.cos(4 * latitude * RADIANS);
const eastPerDegree = (latitude: number): number =>
  111_412.84 * Math.cos(latitude * RADIANS) -
  93.5 * Math.cos(3 * latitude * RADIANS) +
  0.118 * Math.cos(5 * latitude * RADIANS);

export const toOffset = (origin: Spot, { latitude, longitude }: Spot): Offset => {
  // The short way round, also over the date line.
  const degrees = ((((longitude - origin.longitude + 180) % 360) + 360) % 360) - 180;
  return [degrees * eastPerDegree(origin.latitude), (latitude - origin.latitude) * northPerDegree(origin.latitude)];
};

export interface Pose extends Spot {
  /** Clockwise from north, and up from the horizon. */
  readonly camera_yaw: number;
  readonly camera_pitch: number;
  readonly camera_roll: number;
  readonly sensor_hfov: number;
  readonly sensor_vfov: number;
  /** Metres above the ground. */
  readonly rel_altitude: number;
}

const POSE_FIELDS = [
  ...(["camera_yaw", "camera_pitch", "camera_roll", "sensor_hfov", "sensor_vfov"] as const),
  "rel_altitude",
] as const;

export const isPose = (camera: Partial<Pose> & Spot): camera is Pose =>
  POSE_FIELDS.every((field) => Number.isFinite(camera[field]));

/**
 * The part of the ground that is in the picture, from the camera: its four corners, clockwise from the top left of the
 * picture. None goes further than `farthestM`.
 */
export function footprint(pose: Pose, farthestM = FARTHEST_M): readonly Offset[] {
  const right = Math.tan((pose.sensor_hfov / 2) * RADIANS);
  const up = Math.tan((pose.sensor_vfov / 2) * RADIANS);
  const corners: readonly Offset[] = [
    [-right, up],
    [right, up],
    [right, -up],
    [-right, -up],
  ];
  return corners.map((corner) => meetGround(pose, corner, farthestM));
}

function meetGround(pose: Pose, [x, y]: Offset, farthestM: number): Offset {
  const [yaw, pitch, roll] = [pose.camera_yaw * RADIANS, pose.camera_pitch * RADIANS, pose.camera_roll * RADIANS];
  // Rolled clockwise as seen along the view: what is right in the picture is lower in the world.
  const side = x * Math.cos(roll) + y * Math.sin(roll);
  const rise = y * Math.cos(roll) - x * Math.sin(roll);
  const ahead = Math.cos(pitch) - rise * Math.sin(pitch);
  const above = Math.sin(pitch) + rise * Math.cos(pitch);
  const east = ahead * Math.sin(yaw) + side * Math.cos(yaw);
  const north = ahead * Math.cos(yaw) - side * Math.sin(yaw);
  const flat = Math.hypot(east, north);
  const distance = above < 0 ? Math.min((pose.rel_altitude / -above) * flat, farthestM) : farthestM;
  return flat === 0 ? [0, 0] : [(east / flat) * distance, (north / flat) * distance];
}

/** A round number of metres that is at most so long: for the scale. */
export function roundLength(most: number): number {
  const power = 10 ** Math.floor(Math.log10(most));
  return [5, 2, 1].map((digit) => digit * power).find((length) => length <= most) ?? power;
}
