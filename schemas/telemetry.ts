/**
 * Position and attitude of the camera for a frame. Telemetry in any format is converted to samples of the native fields
 * (telemetry/), the server sends them to the runner on the channel `telemetry`, and the element `telemetry` joins them to
 * frames by time.
 */
import { type Static, Type } from "typebox";
import { orNull } from "./api/records.ts";

const degrees = Type.Number();
const metres = Type.Number();

export const CameraPosition = Type.Object({
  latitude: degrees,
  longitude: degrees,
  /** Above mean sea level. */
  altitude: metres,
  /** Above the ground below it: the ground is at `altitude - relAltitude`. */
  relAltitude: metres,
});
export type CameraPosition = Static<typeof CameraPosition>;

/** Attitude of the camera in the world: yaw clockwise from true north; pitch from the horizon, negative is down; roll clockwise along the viewing direction. */
export const CameraAttitude = Type.Object({ yaw: degrees, pitch: degrees, roll: degrees });
export type CameraAttitude = Static<typeof CameraAttitude>;

/** One telemetry message of any format: degrees, metres, metres per second. Null: not reported. */
export const TelemetrySample = Type.Object({
  /** Unix time by the sender's clock; null for values that always apply (`static`). */
  timeMs: orNull(Type.Number()),
  /** Unix time of arrival by the server's clock; null for messages from a file. */
  receivedMs: orNull(Type.Number()),
  hfov: orNull(Type.Number()),
  vfov: orNull(Type.Number()),
  position: orNull(CameraPosition),
  attitude: orNull(CameraAttitude),
});
export type TelemetrySample = Static<typeof TelemetrySample>;

/** The channel of `Services.listen` for samples. */
export const TELEMETRY_CHANNEL = "telemetry";

/** Metadata key `telemetry`: the values at the capture time of the frame. Absent if they are unknown. */
export const FrameTelemetry = Type.Object({
  /** `fixed`: values always apply; `between`: interpolated from samples before and after; `beyond`: extrapolated from one side. */
  method: Type.Enum(["fixed", "between", "beyond"]),
  /** Time between the frame and the nearest sample, by the clock of the video; 0 for `fixed`. */
  ageMs: Type.Number({ minimum: 0 }),
  /** Added to the times of samples to get video time; for a file, after its first sample was aligned to the first frame. */
  offsetMs: Type.Number(),
  hfov: Type.Number({ exclusiveMinimum: 0, exclusiveMaximum: 180 }),
  vfov: Type.Number({ exclusiveMinimum: 0, exclusiveMaximum: 180 }),
  position: orNull(CameraPosition),
  attitude: orNull(CameraAttitude),
  /** Position or attitude is null because its last report is too old, not because it is never reported. */
  isLate: Type.Optional(Type.Literal(true)),
  /** Error from joining by time, one standard deviation: angles in degrees, horizontal position and height in metres. */
  doubt: Type.Object({ angle: Type.Number(), position: Type.Number(), height: Type.Number() }),
  /** The part of it caused by clock differences: a bias that is constant from frame to frame. */
  lasting: Type.Optional(Type.Object({ angle: Type.Number(), position: Type.Number() })),
});
export type FrameTelemetry = Static<typeof FrameTelemetry>;
