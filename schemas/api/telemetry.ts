/**
 * Position and attitude of a camera: the messages that clients send to the telemetry socket and read from `drone_data`.
 * Field names are those of the API.
 */
import { type Static, Type } from "typebox";
import { Problem } from "./problem.ts";

const angle = (description: string) => Type.Number({ minimum: -360, maximum: 360, description });
/** For a rectilinear lens, whose field of view is below 180 degrees. */
const fieldOfView = (description: string) =>
  Type.Number({ exclusiveMinimum: 0, exclusiveMaximum: 180, description: `Degrees, ${description} field of view.` });
const height = (description: string) => Type.Number({ minimum: -12_000, maximum: 100_000, description });

/** All fields have limits: JSON allows 1e999. */
const fields = {
  timestamp: Type.Number({
    minimum: 0,
    maximum: 1e14,
    description: "Unix time in seconds; a value above 1e11 is read as milliseconds.",
  }),
  latitude: Type.Optional(Type.Number({ minimum: -90, maximum: 90, description: "Degrees, WGS-84." })),
  longitude: Type.Optional(Type.Number({ minimum: -180, maximum: 180, description: "Degrees, WGS-84." })),
  speed: Type.Optional(Type.Number({ minimum: -10_000, maximum: 10_000, description: "Metres per second." })),
  sensor_hfov: fieldOfView("horizontal"),
  sensor_vfov: fieldOfView("vertical"),
  camera_pitch: Type.Optional(angle("Degrees from the horizon, negative is down.")),
  camera_yaw: Type.Optional(angle("Degrees from true north, clockwise.")),
  camera_roll: Type.Optional(angle("Degrees, clockwise along the viewing direction.")),
  altitude: Type.Optional(height("Metres above mean sea level.")),
  rel_altitude: Type.Optional(height("Metres above the ground.")),
  drone_pitch: Type.Optional(angle("Degrees.")),
  drone_yaw: Type.Optional(angle("Degrees.")),
  drone_roll: Type.Optional(angle("Degrees.")),
};

/** Unknown fields are ignored: clients send them. */
export const TelemetryMessage = Type.Object(fields, {
  additionalProperties: true,
  title: "TelemetryMessage",
  description:
    "With the fields of view alone, detections get angles and a distance; with all fields except drone_* and speed, also coordinates.",
});
export type TelemetryMessage = Static<typeof TelemetryMessage>;

/** Other formats than the native one may lack the fields of view. */
export const DroneDataMessage = Type.Object(
  {
    ...fields,
    sensor_hfov: Type.Optional(fields.sensor_hfov),
    sensor_vfov: Type.Optional(fields.sensor_vfov),
    dropped: Type.Optional(
      Type.Integer({
        minimum: 1,
        description: "Number of messages lost before this one because the client reads too slowly.",
      }),
    ),
  },
  { title: "DroneDataMessage" },
);
export type DroneDataMessage = Static<typeof DroneDataMessage>;

/** Sent by the telemetry socket for an invalid message. A valid message has no response. */
export const TelemetryRefusal = Type.Object(
  {
    error: Type.Object({
      code: Problem.properties.code,
      title: Problem.properties.title,
      detail: Problem.properties.detail,
      errors: Problem.properties.errors,
    }),
    dropped: Type.Optional(
      Type.Integer({
        minimum: 1,
        description: "Number of responses lost before this one because the client reads too slowly.",
      }),
    ),
  },
  { title: "TelemetryRefusal" },
);
export type TelemetryRefusal = Static<typeof TelemetryRefusal>;
