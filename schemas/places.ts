import { type Static, Type } from "typebox";

const orNull = <T extends Parameters<typeof Type.Union>[0][number]>(type: T) => Type.Union([type, Type.Null()]);

/** Where an object is, as far as that is known. */
export const Place = Type.Object({
  /** Degrees from the line of sight: positive to the right of it. */
  azimuth: Type.Number(),
  /** Positive above it. */
  elevation: Type.Number(),
  /** Metres from the camera; null where neither the ground nor the size of the object tells. */
  distance: orNull(Type.Number({ minimum: 0 })),
  /** From the usual size of such an object: an estimate. */
  isDistanceEstimated: Type.Boolean(),
  /** On the ground; null without a full position, and at or above the horizon. */
  spot: orNull(
    Type.Object({
      latitude: Type.Number(),
      longitude: Type.Number(),
      /** Metres above mean sea level. */
      altitude: Type.Number(),
      /** One standard deviation, metres across the ground. */
      errorM: Type.Number({ minimum: 0 }),
      /** Of tracks, smoothed, once it is known: metres a second, and degrees from true north, clockwise (null while it stands). */
      speedMps: orNull(Type.Number({ minimum: 0 })),
      heading: orNull(Type.Number({ minimum: 0, exclusiveMaximum: 360 })),
    }),
  ),
});
export type Place = Static<typeof Place>;

/** Metadata key `places`: what `geolocate` says of a frame. */
export const Places = Type.Object({
  /** `none`: nothing is known of the camera. */
  mode: Type.Union([Type.Literal("full"), Type.Literal("reduced"), Type.Literal("none")]),
  /** One for each of `objects` of `tracks`, or of `detections` where there are no tracks, in their order. */
  objects: Type.Array(orNull(Place)),
  /** `FrameTelemetry.ageMs` of the frame; null with mode `none`. */
  ageMs: orNull(Type.Number({ minimum: 0 })),
});
export type Places = Static<typeof Places>;
