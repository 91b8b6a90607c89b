/** Vehicles on the map that drive together: which of them are linked, and their order along the road. Pure. */

export interface Vehicle {
  readonly id: number;
  /** Degrees. */
  readonly longitude: number;
  readonly latitude: number;
  /** Null until it is known. */
  readonly speedMps: number | null;
  /** Degrees from true north; null while it stands or if unknown. */
  readonly headingDeg: number | null;
}

export interface LinkLimits {
  readonly max_gap_m: number;
  readonly max_speed_difference_mps: number;
  readonly max_heading_difference: number;
}

/** East and north. */
type Direction = readonly [x: number, y: number];

const DEGREE_M = 111_320;
const RADIANS = Math.PI / 180;

/** From one vehicle to another in metres. Level: accurate to a thousandth over the length of a convoy. */
function offsetM(from: Vehicle, to: Vehicle): Direction {
  const degrees = to.longitude - from.longitude;
  const east = (degrees - 360 * Math.round(degrees / 360)) * Math.cos(from.latitude * RADIANS);
  return [east * DEGREE_M, (to.latitude - from.latitude) * DEGREE_M];
}

export const distanceM = (a: Vehicle, b: Vehicle): number => Math.hypot(...offsetM(a, b));

/** From 0 to 180. */
const turnDeg = (a: number, b: number): number => Math.abs(((((a - b) % 360) + 540) % 360) - 180);

/** Near each other, with similar speed and heading. What is not known of one of them cannot part them. */
function areLinked(a: Vehicle, b: Vehicle, limits: LinkLimits): boolean {
  if (distanceM(a, b) > limits.max_gap_m) return false;
  if (a.speedMps !== null && b.speedMps !== null)
    if (Math.abs(a.speedMps - b.speedMps) > limits.max_speed_difference_mps) return false;
  if (a.headingDeg === null || b.headingDeg === null) return true;
  return turnDeg(a.headingDeg, b.headingDeg) <= limits.max_heading_difference;
}

/** Groups of vehicles that are linked, directly or by others between them. */
export function findGroups<V extends Vehicle>(vehicles: readonly V[], limits: LinkLimits): readonly (readonly V[])[] {
  const left = new Set(vehicles);
  const groups: V[][] = [];
  for (const first of left) {
    left.delete(first);
    const group = [first];
    // Grows while it is read.
    for (const member of group)
      for (const other of left)
        if (areLinked(member, other, limits)) {
          left.delete(other);
          group.push(other);
        }
    groups.push(group);
  }
  return groups;
}

/** The mean direction of those that move, as a unit vector; null if none does. */
export function findDirection(vehicles: readonly Vehicle[]): Direction | null {
  let [east, north] = [0, 0];
  for (const { headingDeg } of vehicles) {
    if (headingDeg === null) continue;
    east += Math.sin(headingDeg * RADIANS);
    north += Math.cos(headingDeg * RADIANS);
  }
  const length = Math.hypot(east, north);
  return length < 1e-6 ? null : [east / length, north / length];
}

/** From the first to the last, along the direction. */
export function order<V extends Vehicle>(vehicles: readonly V[], [east, north]: Direction): readonly V[] {
  const [origin] = vehicles;
  if (origin === undefined) return [];
  const ahead = (vehicle: Vehicle): number => {
    const [x, y] = offsetM(origin, vehicle);
    return x * east + y * north;
  };
  return [...vehicles].sort((a, b) => ahead(b) - ahead(a) || a.id - b.id);
}
