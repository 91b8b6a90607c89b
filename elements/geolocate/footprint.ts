/** The ground that a frame shows, as points around it. Pure. */
import { direct, offsetDown, offsetRight } from "./camera.ts";
import { meetGround } from "./ground.ts";
import { findDistance, type Sight, type World } from "./locate.ts";
import { dot, normalise, step, toGeodetic, type Vector } from "./wgs84.ts";

/** Of each side of the frame: terrain and the horizon bend its edges. */
const SIDE_POINTS = 4;
/** Rays are followed to the horizon at least to this distance, and to this multiple of the camera's height above the ground. */
const LEAST_RANGE_M = 3_000;
const RANGE_HEIGHTS = 8;

export type Footprint = readonly (readonly [latitude: number, longitude: number])[];

/**
 * Clockwise from the upper left corner of the frame. A ray that meets no ground within the range ends there. Null: the pose
 * is not known, or no ray meets the ground.
 */
export function findFootprint({ lens, world }: Sight, aboveM: number): Footprint | null {
  if (world === null) return null;
  const rangeM = Math.min(world.limitM, Math.max(LEAST_RANGE_M, aboveM * RANGE_HEIGHTS));
  let isMet = false;
  const points = EDGE.map(([x, y]): Footprint[number] | null => {
    const ray = { from: world.from, along: direct(world.axes, offsetRight(lens, x), offsetDown(lens, y)) };
    // At the edge of the terrain data a ray may meet neither the terrain nor the level ground behind it.
    const distanceM = findDistance(world, ray)?.distanceM ?? meetGround(world.level, ray, rangeM);
    if (typeof distanceM === "number" && distanceM <= rangeM) {
      isMet = true;
      return placeOf(step(ray.from, ray.along, distanceM));
    }
    return findFarPoint(world, ray.along, rangeM);
  });
  return isMet ? points.filter((point) => point !== null) : null;
}

/** Fractions of the frame. */
const EDGE = Array.from({ length: 4 * SIDE_POINTS }, (_, i): readonly [x: number, y: number] => {
  const [side, along] = [Math.floor(i / SIDE_POINTS), (i % SIDE_POINTS) / SIDE_POINTS];
  return (
    (
      [
        [along, 0],
        [1, along],
        [1 - along, 1],
        [0, 1 - along],
      ] as const
    )[side] ?? [0, 0]
  );
});

/** In the direction of the ray over the ground. Null: it goes straight up or down. */
function findFarPoint({ from, local: { up } }: World, along: Vector, rangeM: number): Footprint[number] | null {
  const level = step(along, up, -dot(along, up));
  if (Math.hypot(level.x, level.y, level.z) < 1e-6) return null;
  return placeOf(step(from, normalise(level), rangeM));
}

function placeOf(point: Vector): Footprint[number] {
  const { latitude, longitude } = toGeodetic(point);
  return [latitude, longitude];
}
