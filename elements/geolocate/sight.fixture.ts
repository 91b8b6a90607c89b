/** Cameras for tests: metadata as written by `telemetry`, and the position that `geolocate` computes for a point. */
import type { Box } from "../../schemas/detections.ts";
import type { FrameTelemetry } from "../../schemas/telemetry.ts";
import type { Terrain } from "./ground.ts";
import type { GeolocateProperties } from "./locate.ts";
import { type Located, locate, openSight, type Sight } from "./locate.ts";

export const PROPERTIES: GeolocateProperties = {
  maxDistanceM: 20_000,
  geoidSeparationM: 0,
  attitudeErrorDeg: 0.5,
  headingErrorDeg: 1,
  lensError: 0.01,
  positionErrorM: 1.5,
  heightErrorM: 2,
  terrainErrorM: 3,
  footError: 0.02,
};

export interface Flown {
  readonly latitude?: number;
  readonly longitude?: number;
  readonly altitude?: number;
  readonly relAltitude?: number;
  readonly yaw?: number;
  readonly pitch?: number;
  readonly roll?: number;
  readonly hfov?: number;
  readonly vfov?: number;
}

/** 100 m above the ground at latitude 0, longitude 0, level, looking north; 60 by 40 degrees. */
export const telemetryOf = (flown: Flown): FrameTelemetry => ({
  method: "between",
  ageMs: 20,
  offsetMs: 0,
  hfov: flown.hfov ?? 60,
  vfov: flown.vfov ?? 40,
  position: {
    latitude: flown.latitude ?? 0,
    longitude: flown.longitude ?? 0,
    altitude: flown.altitude ?? 100,
    relAltitude: flown.relAltitude ?? 100,
  },
  attitude: { yaw: flown.yaw ?? 0, pitch: flown.pitch ?? 0, roll: flown.roll ?? 0 },
  doubt: { angle: 0, position: 0, height: 0 },
});

export function sightOf(
  flown: Flown,
  properties: Partial<GeolocateProperties> = {},
  terrain: Terrain | null = null,
): Sight {
  const sight = openSight(telemetryOf(flown), { ...PROPERTIES, ...properties }, terrain);
  if (sight === null) throw new Error("the test has fields of view that no camera has");
  return sight;
}

/** Locates a box whose foot is at this point of the image. */
export const boxOn = (x: number, y: number, width = 0.02, height = 0.02): Box => [
  x - width / 2,
  y - height,
  width,
  height,
];

export const locateFoot = (sight: Sight, x: number, y: number): Located =>
  locate(sight, boxOn(x, y), { isAirborne: false, size: null }, PROPERTIES.footError);
