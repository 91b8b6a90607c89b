import { type Static, Type } from "typebox";
import { orNull } from "./api/records.ts";

/** The position of an object, as far as it is known. */
export const Place = Type.Object({
  /** Degrees from the line of sight, positive to the right. */
  azimuth: Type.Number(),
  /** Degrees, positive above the line of sight. */
  elevation: Type.Number(),
  /** Metres from the camera; null if neither the ground nor the object's size determines it. */
  distance: orNull(Type.Number({ minimum: 0 })),
  /** Estimated from the typical size of the object's class. */
  isDistanceEstimated: Type.Boolean(),
  /** Position on the ground; null without a full camera position, and at or above the horizon. */
  spot: orNull(
    Type.Object({
      latitude: Type.Number(),
      longitude: Type.Number(),
      /** Metres above mean sea level. */
      altitude: Type.Number(),
      /** One standard deviation on the ground, in metres. */
      errorM: Type.Number({ minimum: 0 }),
      /** For tracks, smoothed, once known: metres per second, and degrees clockwise from true north (null while it stands). */
      speedMps: orNull(Type.Number({ minimum: 0 })),
      heading: orNull(Type.Number({ minimum: 0, exclusiveMaximum: 360 })),
    }),
  ),
});
export type Place = Static<typeof Place>;

/** Metadata key `places`: the result of `geolocate`. */
export const Places = Type.Object({
  /** `none`: no telemetry. */
  mode: Type.Enum(["full", "reduced", "none"]),
  /** One per entry of `objects` in `tracks`, or in `detections` without tracking, in their order. */
  objects: Type.Array(orNull(Place)),
  /** `FrameTelemetry.ageMs` of the frame; null with mode `none`. */
  ageMs: orNull(Type.Number({ minimum: 0 })),
});
export type Places = Static<typeof Places>;
