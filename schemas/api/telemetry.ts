/**
 * Where a camera is and how it looks: what a client sends to the telemetry socket and reads from `drone_data`. Field names
 * are the interface's.
 */
import { type Static, Type } from "typebox";
import { Problem } from "./problem.ts";

const angle = (description: string) => Type.Number({ minimum: -360, maximum: 360, description });
/** Of a camera that draws straight lines straight: 180 degrees would be a picture without an edge. */
const fieldOfView = (description: string) =>
  Type.Number({ exclusiveMinimum: 0, exclusiveMaximum: 180, description: `Degrees, ${description} field of view.` });
/** From below the deepest sea to beyond what flies. */
const height = (description: string) => Type.Number({ minimum: -12_000, maximum: 100_000, description });

/** All have a lowest and a highest value: JSON can say 1e999, and nobody can reckon with it. */
const fields = {
  timestamp: Type.Number({
    minimum: 0,
    maximum: 1e14,
    description: "Unix time in seconds; a value above 1e11 is read as milliseconds.",
  }),
  latitude: Type.Optional(Type.Number({ minimum: -90, maximum: 90, description: "Degrees, WGS-84." })),
  longitude: Type.Optional(Type.Number({ minimum: -180, maximum: 180, description: "Degrees, WGS-84." })),
  speed: Type.Optional(Type.Number({ minimum: -10_000, maximum: 10_000, description: "Metres a second." })),
  sensor_hfov: fieldOfView("horizontal"),
  sensor_vfov: fieldOfView("vertical"),
  camera_pitch: Type.Optional(angle("Degrees against the horizon, negative is downward.")),
  camera_yaw: Type.Optional(angle("Degrees from true north, clockwise.")),
  camera_roll: Type.Optional(angle("Degrees, clockwise as seen along the view.")),
  altitude: Type.Optional(height("Metres above mean sea level.")),
  rel_altitude: Type.Optional(height("Metres above the ground.")),
  drone_pitch: Type.Optional(angle("Degrees.")),
  drone_yaw: Type.Optional(angle("Degrees.")),
  drone_roll: Type.Optional(angle("Degrees.")),
};

/** Fields that we do not know are ignored: clients send them. */
export const TelemetryMessage = Type.Object(fields, {
  title: "TelemetryMessage",
  description:
    "With the fields of view alone, detections get angles and a distance; with all that is not drone_* or speed, places too.",
});
export type TelemetryMessage = Static<typeof TelemetryMessage>;

/** Formats other than the native one need not tell how wide the camera looks. */
export const DroneDataMessage = Type.Object(
  {
    ...fields,
    sensor_hfov: Type.Optional(fields.sensor_hfov),
    sensor_vfov: Type.Optional(fields.sensor_vfov),
    dropped: Type.Optional(
      Type.Integer({ minimum: 1, description: "So many messages before this one were lost: the client is too slow." }),
    ),
  },
  { title: "DroneDataMessage" },
);
export type DroneDataMessage = Static<typeof DroneDataMessage>;

/** What the telemetry socket answers to a frame that is no valid message. Nothing is answered to a valid one. */
export const TelemetryRefusal = Type.Object(
  {
    error: Type.Object({
      code: Problem.properties.code,
      title: Problem.properties.title,
      detail: Problem.properties.detail,
      errors: Problem.properties.errors,
    }),
    dropped: Type.Optional(
      Type.Integer({ minimum: 1, description: "So many answers before this one were lost: the client is too slow." }),
    ),
  },
  { title: "TelemetryRefusal" },
);
export type TelemetryRefusal = Static<typeof TelemetryRefusal>;
