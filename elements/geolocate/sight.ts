/** What the telemetry of a frame allows to say of the objects in it. */
import type { CameraAttitude, CameraPosition, FrameTelemetry } from "../../schemas/telemetry.ts";
import { type Lens, makeLens, turnCamera } from "./camera.ts";
import type { DoubtedCamera } from "./error.ts";
import { levelTerrain, type Terrain } from "./ground.ts";
import type { GeolocateProperties } from "./properties.ts";
import type { Vector } from "./vector.ts";
import { localFrame, RADIANS, toEcef } from "./wgs84.ts";

export interface Sight {
  readonly lens: Lens;
  /** Null: angles and estimated distances only. */
  readonly world: World | null;
  /** Why that is so. */
  readonly reason: string | null;
}

export interface World extends DoubtedCamera {
  /** Where the camera is: ECEF. */
  readonly from: Vector;
  readonly terrain: Terrain;
  readonly limitM: number;
  /** Of the doubts, what is the same from frame to frame. Radians and metres. */
  readonly lasting: { readonly angle: number; readonly positionM: number };
}

const LATE =
  "the last position or attitude of the camera was told too long ago for this picture: telemetry must come more often than `extrapolate-ms` of the element `telemetry`";

/** Null where not even the fields of view are of use. Without a terrain the ground is as low everywhere as below the camera. */
export function openSight(
  telemetry: FrameTelemetry,
  properties: GeolocateProperties,
  terrain: Terrain | null,
): Sight | null {
  const { hfov, vfov, position, attitude, isLate } = telemetry;
  if (!isFieldOfView(hfov) || !isFieldOfView(vfov)) return null;
  const lens = makeLens(hfov, vfov);
  const reason = isLate ? LATE : findLack(position, attitude, terrain);
  if (reason !== null || position === null || attitude === null) return { lens, world: null, reason };
  return { lens, world: openWorld(position, attitude, terrain, telemetry, properties), reason: null };
}

const isFieldOfView = (degrees: number): boolean => degrees > 0 && degrees < 180;

function findLack(
  position: CameraPosition | null,
  attitude: CameraAttitude | null,
  terrain: Terrain | null,
): string | null {
  if (position === null && attitude === null) return "the telemetry has neither the camera's position nor its attitude";
  if (position === null) return "the telemetry does not have the camera's position";
  if (attitude === null) return "the telemetry does not have the camera's attitude";
  if (![...Object.values(position), ...Object.values(attitude)].every(Number.isFinite))
    return "the telemetry has a position or an attitude that is no number";
  if (terrain === null && position.relAltitude <= 0)
    return "the camera is not above the ground: rel_altitude is 0 or less";
  return null;
}

function openWorld(
  { latitude, longitude, altitude, relAltitude }: CameraPosition,
  attitude: CameraAttitude,
  terrain: Terrain | null,
  { doubt, lasting }: FrameTelemetry,
  properties: GeolocateProperties,
): World {
  // Altitudes are above mean sea level. It counts as the ellipsoid unless told otherwise: only the height above the ground
  // matters for where a ray meets it, and that is the same above either.
  const heightM = altitude + properties.geoidSeparationM;
  const local = localFrame(latitude, longitude);
  return {
    from: toEcef({ latitude, longitude, heightM }),
    local,
    axes: turnCamera(attitude, local),
    terrain: terrain ?? levelTerrain(heightM - relAltitude),
    limitM: properties.maxDistanceM,
    lasting: { angle: (lasting?.angle ?? 0) * RADIANS, positionM: lasting?.position ?? 0 },
    doubts: {
      attitude: Math.hypot(properties.attitudeErrorDeg, doubt.angle) * RADIANS,
      heading: properties.headingErrorDeg * RADIANS,
      lens: properties.lensError,
      positionM: Math.hypot(properties.positionErrorM, doubt.position),
      heightM: Math.hypot(properties.heightErrorM, doubt.height),
    },
  };
}
