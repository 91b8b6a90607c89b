/** Windhover's own message: one JSON object with the fields of schemas/api/telemetry.ts. */
import { TelemetryMessage } from "../schemas/api/telemetry.ts";
import type { CameraAttitude, CameraPosition, TelemetrySample } from "../schemas/telemetry.ts";
import { expectBy, type Reading, readJson, type WholeFormat } from "./format.ts";

/** The fields of a message without its time, as in the parameters of `static`. */
type NativeFields = Partial<Omit<TelemetryMessage, "timestamp">>;

const FIELDS = new Set(Object.keys(TelemetryMessage.properties));
const POSITION = ["latitude", "longitude", "altitude", "rel_altitude"] as const;
const ATTITUDE = ["camera_yaw", "camera_pitch", "camera_roll"] as const;
/** A larger timestamp is in milliseconds: in seconds it would be in the year 5138. */
const MOST_SECONDS = 1e11;

const expectMessage = expectBy(
  TelemetryMessage,
  "Expected a telemetry message: a JSON object with numbers for timestamp, sensor_hfov and sensor_vfov.",
);

export const createNative = (): WholeFormat => ({ read: readNative });

/** Throws `TelemetryFault`. Ignores unknown fields. */
export function readNative(payload: Uint8Array | string, receivedMs: number | null): Reading {
  const value = readJson(payload);
  expectMessage(value);
  const timeMs = toMilliseconds((value as TelemetryMessage).timestamp);
  const known = Object.entries(value as TelemetryMessage).filter(([name]) => FIELDS.has(name));
  const native = { ...(Object.fromEntries(known) as TelemetryMessage), timestamp: timeMs / 1000 };
  return { sample: toSample(native, timeMs, receivedMs), native, lack: describeLack(native) };
}

export const toMilliseconds = (timestamp: number): number =>
  timestamp > MOST_SECONDS ? timestamp : Math.round(timestamp * 1e6) / 1e3;

/** `timeMs` is null for values that always apply. An incomplete position or attitude becomes null. */
export function toSample(fields: NativeFields, timeMs: number | null, receivedMs: number | null): TelemetrySample {
  return {
    timeMs,
    receivedMs,
    hfov: fields.sensor_hfov ?? null,
    vfov: fields.sensor_vfov ?? null,
    position: readPosition(fields),
    attitude: readAttitude(fields),
  };
}

function readPosition({ latitude, longitude, altitude, rel_altitude }: NativeFields): CameraPosition | null {
  if (latitude === undefined || longitude === undefined || altitude === undefined || rel_altitude === undefined)
    return null;
  return { latitude, longitude, altitude, relAltitude: rel_altitude };
}

function readAttitude({ camera_yaw, camera_pitch, camera_roll }: NativeFields): CameraAttitude | null {
  if (camera_yaw === undefined || camera_pitch === undefined || camera_roll === undefined) return null;
  return {
    yaw: normaliseDegrees(camera_yaw),
    pitch: normaliseDegrees(camera_pitch),
    roll: normaliseDegrees(camera_roll),
  };
}

/** The fields missing for geolocation; null if none is missing. */
export function describeLack(fields: NativeFields): string | null {
  const missing = [...POSITION, ...ATTITUDE].filter((name) => fields[name] === undefined);
  if (missing.length === 0) return null;
  return `The messages have no ${missing.join(", ")}: without ${missing.length === 1 ? "it" : "them"} detections get angles and estimated distances, but no coordinates.`;
}

/** The same angle from -180 to below 180. */
export function normaliseDegrees(angle: number): number {
  const turned = (((angle + 180) % 360) + 360) % 360;
  return turned - 180;
}
