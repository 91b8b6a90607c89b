/** Flat geometry around one position: accurate enough for the range of one camera. Pure. */

export interface Position {
  readonly latitude: number;
  readonly longitude: number;
}

/** Metres. */
export type Offset = readonly [east: number, north: number];

const RADIANS = Math.PI / 180;
/** Rays that reach the ground further away, or not at all, end here. */
export const MAX_RANGE_M = 3_000;

/** Metres per degree on the WGS-84 ellipsoid, as series in the latitude: accurate to a centimetre. */
const northPerDegree = (latitude: number): number =>
  111_132.954 - 559.822 * Math.cos(2 * latitude * RADIANS) + 1.175 * Math.cos(4 * latitude * RADIANS);
const eastPerDegree = (latitude: number): number =>
  111_412.84 * Math.cos(latitude * RADIANS) -
  93.5 * Math.cos(3 * latitude * RADIANS) +
  0.118 * Math.cos(5 * latitude * RADIANS);

export const toOffset = (origin: Position, { latitude, longitude }: Position): Offset => {
  // The shorter way round, also across the date line.
  const degrees = ((((longitude - origin.longitude + 180) % 360) + 360) % 360) - 180;
  return [degrees * eastPerDegree(origin.latitude), (latitude - origin.latitude) * northPerDegree(origin.latitude)];
};

export interface Pose extends Position {
  /** Degrees, clockwise from north. */
  readonly camera_yaw: number;
  /** Degrees, up from the horizon. */
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

export const isPose = (camera: Partial<Pose> & Position): camera is Pose =>
  POSE_FIELDS.every((field) => Number.isFinite(camera[field]));

/** The corners of the visible ground relative to the camera, clockwise from the top left of the frame. */
export function footprint(pose: Pose, maxRangeM = MAX_RANGE_M): readonly Offset[] {
  const right = Math.tan((pose.sensor_hfov / 2) * RADIANS);
  const up = Math.tan((pose.sensor_vfov / 2) * RADIANS);
  const corners: readonly Offset[] = [
    [-right, up],
    [right, up],
    [right, -up],
    [-right, -up],
  ];
  return corners.map((corner) => intersectGround(pose, corner, maxRangeM));
}

function intersectGround(pose: Pose, [x, y]: Offset, maxRangeM: number): Offset {
  const [yaw, pitch, roll] = [pose.camera_yaw * RADIANS, pose.camera_pitch * RADIANS, pose.camera_roll * RADIANS];
  // Roll is clockwise along the view: the right of the frame is lower in the world.
  const side = x * Math.cos(roll) + y * Math.sin(roll);
  const rise = y * Math.cos(roll) - x * Math.sin(roll);
  const ahead = Math.cos(pitch) - rise * Math.sin(pitch);
  const above = Math.sin(pitch) + rise * Math.cos(pitch);
  const east = ahead * Math.sin(yaw) + side * Math.cos(yaw);
  const north = ahead * Math.cos(yaw) - side * Math.sin(yaw);
  const flat = Math.hypot(east, north);
  const distance = above < 0 ? Math.min((pose.rel_altitude / -above) * flat, maxRangeM) : maxRangeM;
  return flat === 0 ? [0, 0] : [(east / flat) * distance, (north / flat) * distance];
}

/** The largest of 1, 2, 5, 10, 20 … that is not above `max`: for the scale and the grid. */
export function roundLength(max: number): number {
  const power = 10 ** Math.floor(Math.log10(max));
  return [5, 2, 1].map((digit) => digit * power).find((length) => length <= max) ?? power;
}
