import { type Static, Type } from "typebox";
import { orNull } from "./api/records.ts";

/** One standard deviation on the ground: the semi-axes of an ellipse in metres, and the direction of the longer one. */
export const ErrorEllipse = Type.Object({
  majorM: Type.Number({ minimum: 0 }),
  minorM: Type.Number({ minimum: 0 }),
  /** Degrees clockwise from true north, below 180. */
  direction: Type.Number({ minimum: 0, maximum: 180 }),
});
export type ErrorEllipse = Static<typeof ErrorEllipse>;

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
  /** The error of `spot`, by direction. */
  ellipse: Type.Optional(ErrorEllipse),
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

/** Where the middle of the picture is on the ground. */
const PictureCentre = Type.Object({
  latitude: Type.Number(),
  longitude: Type.Number(),
  /** Metres above mean sea level. */
  altitude: Type.Number(),
  errorM: Type.Number({ minimum: 0 }),
  /** Metres from the camera. */
  distance: Type.Number({ minimum: 0 }),
});
export type PictureCentre = Static<typeof PictureCentre>;

/** Metadata key `places`: the result of `geolocate`. */
export const Places = Type.Object({
  /** `none`: no telemetry. */
  mode: Type.Enum(["full", "reduced", "none"]),
  /** One per entry of `objects` in `tracks`, or in `detections` without tracking, in their order. */
  objects: Type.Array(orNull(Place)),
  /** With mode `full`; absent at or above the horizon. */
  centre: Type.Optional(PictureCentre),
  /** `FrameTelemetry.ageMs` of the frame; null with mode `none`. */
  ageMs: orNull(Type.Number({ minimum: 0 })),
});
export type Places = Static<typeof Places>;
