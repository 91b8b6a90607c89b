/**
 * The error of the camera's heading, from landmarks whose position is known: the difference between the bearing of the
 * landmark and that of the ray through its picture. Pure.
 */
import type { FrameTelemetry, LandmarkAnswer, LandmarkQuestion } from "../../schemas/telemetry.ts";
import { direct, offsetDown, offsetRight } from "./camera.ts";
import type { Terrain } from "./ground.ts";
import { type GeolocateProperties, openSight, type Sight, separationM, type World } from "./locate.ts";
import { dot, normalise, RADIANS, subtract, toEcef, type Vector } from "./wgs84.ts";

export interface Sighting {
  /** The camera of the frame. */
  readonly telemetry: FrameTelemetry;
  readonly landmark: Omit<LandmarkQuestion["landmarks"][number], "timeMs">;
}

/** Errors of a landmark, one standard deviation: of the click, as a fraction of the frame, and of coordinates from a map. */
const CLICK = 0.003;
const MAP_M = 1.5;
/** A landmark with a larger error does not determine the heading. */
const MOST_ERROR_DEG = 10;
/** The pixel and the landmark are this far apart up or down: one of them is not what was meant. */
const MOST_ELEVATION_DEG = 10;
/** Two landmarks contradict each other if they differ by more standard deviations than this. */
const MOST_DEVIATIONS = 4;

interface Bearing {
  /** Degrees to add to the reported heading. */
  readonly offset: number;
  /** Radians: errors of this landmark alone, and errors that all have in common. */
  readonly own: number;
  readonly common: number;
}

/** `offset` is that of the reported heading, whatever calibration the telemetry contains. */
export function calibrate(
  sightings: readonly Sighting[],
  properties: GeolocateProperties,
  terrain: Terrain | null,
): LandmarkAnswer {
  const bearings: Bearing[] = [];
  for (const [at, sighting] of sightings.entries()) {
    const bearing = measure(sighting, properties, terrain);
    if (typeof bearing === "string") return { fault: `landmark ${at + 1}${bearing}` };
    bearings.push(bearing);
  }
  return average(bearings);
}

/** Or what is wrong with it. */
function measure(
  { telemetry, landmark }: Sighting,
  properties: GeolocateProperties,
  terrain: Terrain | null,
): Bearing | string {
  const sight = openSight(telemetry, properties, terrain);
  if (sight?.world == null) return `: ${sight?.reason ?? "the telemetry has invalid fields of view"}`;
  const { lens, world } = sight;
  const [right, down] = [offsetRight(lens, landmark.x), offsetDown(lens, landmark.y)];
  const seen = direct(world.axes, right, down);
  const offset = subtract(toEcef(placeOf(landmark, world, properties)), world.from);
  const real = normalise(offset);
  const { east, north, up } = world.local;
  const acrossM = Math.hypot(dot(offset, east), dot(offset, north));
  const apartDeg = elevationOf(real, up) - elevationOf(seen, up);
  if (Math.abs(apartDeg) > MOST_ELEVATION_DEG)
    return ` is ${Math.abs(apartDeg).toFixed(0)} degrees ${apartDeg > 0 ? "above" : "below"} the chosen point of the picture: check its coordinates, its altitude and the telemetry`;
  const bearing = { offset: wrap(bearingOf(real, world) - bearingOf(seen, world) + (telemetry.heading?.offset ?? 0)) };
  const errors = { ...bearing, ...spread(sight, world, telemetry, properties, { right, seen, acrossM }) };
  const errorDeg = Math.hypot(errors.own, errors.common) / RADIANS;
  if (errorDeg > MOST_ERROR_DEG)
    return ` is too near to the camera, or below it: its direction gives the heading to ${errorDeg.toFixed(0)} degrees only. Choose one farther away`;
  return errors;
}

function placeOf(
  { latitude, longitude, altitude }: Sighting["landmark"],
  { terrain, level }: World,
  properties: GeolocateProperties,
) {
  if (altitude !== null)
    return { latitude, longitude, heightM: altitude + separationM(properties, latitude, longitude) };
  const heightM = terrain.heightAt(latitude, longitude);
  return { latitude, longitude, heightM: Number.isNaN(heightM) ? level.heightAt(latitude, longitude) : heightM };
}

const elevationOf = (along: Vector, up: Vector): number => Math.asin(dot(along, up)) / RADIANS;

const bearingOf = (along: Vector, { local: { east, north } }: World): number =>
  Math.atan2(dot(along, east), dot(along, north)) / RADIANS;

/** A sideways turn of the ray changes its bearing more, the steeper it is. */
function spread(
  { lens }: Sight,
  { doubts, local }: World,
  { doubt }: FrameTelemetry,
  { attitudeErrorDeg, positionErrorM }: GeolocateProperties,
  { right, seen, acrossM }: { readonly right: number; readonly seen: Vector; readonly acrossM: number },
): Pick<Bearing, "own" | "common"> {
  const level = Math.max(Math.sqrt(1 - dot(seen, local.up) ** 2), 1e-6);
  const awayM = Math.max(acrossM, 1e-3);
  const click = 2 * lens.halfWidth * CLICK;
  return {
    own: Math.hypot(Math.hypot(click, doubt.angle * RADIANS) / level, MAP_M / awayM, doubt.position / awayM),
    common: Math.hypot(
      Math.hypot(attitudeErrorDeg * RADIANS, doubts.lens * right) / level,
      (positionErrorM * Math.SQRT1_2) / awayM,
    ),
  };
}

/** The same angle from -180 to below 180. */
const wrap = (angle: number): number => ((((angle + 180) % 360) + 360) % 360) - 180;

/** Weighted by their errors. Common errors do not become smaller with the number of landmarks. */
function average(bearings: readonly Bearing[]): LandmarkAnswer {
  const [first] = bearings;
  if (first === undefined) return { fault: "there are no landmarks" };
  const weights = bearings.map(({ own, common }) => 1 / (own * own + common * common));
  const total = weights.reduce((sum, weight) => sum + weight, 0);
  const mean = (partOf: (bearing: Bearing) => number): number =>
    bearings.reduce((sum, bearing, at) => sum + partOf(bearing) * (weights[at] ?? 0), 0) / total;
  const offset = first.offset + mean((bearing) => wrap(bearing.offset - first.offset));
  const deviations = bearings.map(
    (bearing) => (wrap(bearing.offset - offset) * RADIANS) / Math.hypot(bearing.own, bearing.common),
  );
  const odd = deviations.findIndex((deviation) => Math.abs(deviation) > MOST_DEVIATIONS);
  if (odd >= 0) {
    const apart = Math.abs(wrap((bearings[odd]?.offset ?? 0) - offset)).toFixed(1);
    return {
      fault: `landmark ${odd + 1} contradicts the others: it is ${apart} degrees off their heading; check its coordinates`,
    };
  }
  const own = 1 / Math.sqrt(bearings.reduce((sum, bearing) => sum + 1 / bearing.own ** 2, 0));
  return {
    offset: wrap(offset),
    error:
      Math.hypot(
        own,
        mean(({ common }) => common),
      ) / RADIANS,
  };
}
