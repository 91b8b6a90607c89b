/**
 * Where the camera was and how it looked when a frame was taken. Telemetry in any format becomes samples of the native
 * fields (telemetry/), the server sends them to the runner on the channel `telemetry`, and the element `telemetry` joins
 * them to frames by time.
 */
import { type Static, Type } from "typebox";

const degrees = Type.Number();
const metres = Type.Number();

/** Where the camera is. */
export const CameraPosition = Type.Object({
  latitude: degrees,
  longitude: degrees,
  /** Above mean sea level. */
  altitude: metres,
  /** Above the ground below it: the ground lies at `altitude - relAltitude`. */
  relAltitude: metres,
});
export type CameraPosition = Static<typeof CameraPosition>;

/** The camera's own attitude in the world: yaw from true north, clockwise; pitch from the horizon, down is negative; roll clockwise as seen along the view. */
export const CameraAttitude = Type.Object({ yaw: degrees, pitch: degrees, roll: degrees });
export type CameraAttitude = Static<typeof CameraAttitude>;

/** One message of telemetry, whatever format it came in: degrees, metres, metres a second. Null: not told. */
export const TelemetrySample = Type.Object({
  /** Unix time by the clock of whoever sent it; null: it always holds (`static`). */
  timeMs: Type.Union([Type.Number(), Type.Null()]),
  /** Unix time by our clock at which it came in; null where it was not received but read from a file. */
  receivedMs: Type.Union([Type.Number(), Type.Null()]),
  hfov: Type.Union([Type.Number(), Type.Null()]),
  vfov: Type.Union([Type.Number(), Type.Null()]),
  position: Type.Union([CameraPosition, Type.Null()]),
  attitude: Type.Union([CameraAttitude, Type.Null()]),
});
export type TelemetrySample = Static<typeof TelemetrySample>;

/** The channel of `Services.listen` on which samples come. */
export const TELEMETRY_CHANNEL = "telemetry";

/** Metadata key `telemetry`: what held when the frame was taken. Not there where nothing is known. */
export const FrameTelemetry = Type.Object({
  /** `fixed`: it always holds; `between`: samples lie before and after the frame; `beyond`: only before it, or only after it. */
  method: Type.Union([Type.Literal("fixed"), Type.Literal("between"), Type.Literal("beyond")]),
  /** From the nearest sample to the frame, by the clock of the video; 0 for `fixed`. */
  ageMs: Type.Number({ minimum: 0 }),
  /** Added to the times of samples to get the time of the video; of a file's, after its first was put at the first frame. */
  offsetMs: Type.Number(),
  hfov: Type.Number({ exclusiveMinimum: 0, exclusiveMaximum: 180 }),
  vfov: Type.Number({ exclusiveMinimum: 0, exclusiveMaximum: 180 }),
  position: Type.Union([CameraPosition, Type.Null()]),
  attitude: Type.Union([CameraAttitude, Type.Null()]),
  /** One of the two is null because the last of it was told too long ago, not because it is never told. */
  isLate: Type.Optional(Type.Literal(true)),
  /** One standard deviation of what joining by time alone adds: angles in degrees, position across and height in metres. */
  doubt: Type.Object({ angle: Type.Number(), position: Type.Number(), height: Type.Number() }),
  /** The part of it that comes from clocks that may differ: it is the same from frame to frame, and no noise. */
  lasting: Type.Optional(Type.Object({ angle: Type.Number(), position: Type.Number() })),
});
export type FrameTelemetry = Static<typeof FrameTelemetry>;
