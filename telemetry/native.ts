/** Our own message: one JSON object with the fields of schemas/api/telemetry.ts. */
import { TelemetryMessage } from "../schemas/api/telemetry.ts";
import type { CameraAttitude, CameraPosition, TelemetrySample } from "../schemas/telemetry.ts";
import { normaliseDegrees } from "./degrees.ts";
import type { Reading, TelemetryFormat } from "./format.ts";
import { expectBy, readJson } from "./read-json.ts";

/** Of a message, without its time: what `static` has for parameters. */
export type NativeFields = Partial<Omit<TelemetryMessage, "timestamp">>;

const FIELDS = new Set(Object.keys(TelemetryMessage.properties));
const POSITION = ["latitude", "longitude", "altitude", "rel_altitude"] as const;
const ATTITUDE = ["camera_yaw", "camera_pitch", "camera_roll"] as const;
/** A time above this is in milliseconds: in seconds it would be in the year 5138. */
const MOST_SECONDS = 1e11;

const expectMessage = expectBy(
  TelemetryMessage,
  "Expected a telemetry message: a JSON object with numbers for timestamp, sensor_hfov and sensor_vfov.",
);

export const createNative = (): TelemetryFormat => ({ read: readNative });

/** Throws `TelemetryFault`. What we do not know is left out. */
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

/** `timeMs` null: it always holds. A position or an attitude of which a part is missing is none. */
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

/** What keeps detections from getting places; null when nothing does. */
export function describeLack(fields: NativeFields): string | null {
  const missing = [...POSITION, ...ATTITUDE].filter((name) => fields[name] === undefined);
  if (missing.length === 0) return null;
  return `The messages have no ${missing.join(", ")}: without ${missing.length === 1 ? "it" : "them"} there are no places, only angles and estimated distances.`;
}
