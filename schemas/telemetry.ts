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
  /** `timeMs` is the capture time of the video, with this standard deviation: its clock is not estimated. */
  videoErrorMs: Type.Optional(Type.Number({ minimum: 0 })),
  hfov: orNull(Type.Number()),
  vfov: orNull(Type.Number()),
  position: orNull(CameraPosition),
  attitude: orNull(CameraAttitude),
});
export type TelemetrySample = Static<typeof TelemetrySample>;

/** Many samples at once, of a file. */
export const TelemetryBatch = Type.Object({ samples: Type.Array(TelemetrySample) });
export type TelemetryBatch = Static<typeof TelemetryBatch>;

/** The channel of `Services.listen` for samples and batches. */
export const TELEMETRY_CHANNEL = "telemetry";

/** The channel of `Services.listen` for the metadata of a live source as it was received: `KlvMessage`. */
export const KLV_CHANNEL = "klv";

export interface KlvMessage {
  /** Of the frame that it belongs to, Unix time. */
  readonly captureMs: number;
  /** It was sent in cells with the PTS of its frame. */
  readonly isSynchronous: boolean;
  /** One unit, in base64. */
  readonly data: string;
}

/** The channel of `Services.listen` for the calibration of the heading: `HeadingCalibration`. */
export const CALIBRATION_CHANNEL = "calibration";

/** Degrees, clockwise. The error is one standard deviation; null: the heading is not calibrated. */
export const HeadingCalibration = Type.Object({ offset: degrees, error: orNull(Type.Number({ minimum: 0 })) });
export type HeadingCalibration = Static<typeof HeadingCalibration>;

/** The channel of `Services.answer` by which landmarks are compared with the picture. */
export const LANDMARK_CHANNEL = "landmarks";

/** Landmarks in frames of the last minute. */
export const LandmarkQuestion = Type.Object({
  landmarks: Type.Array(
    Type.Object({
      /** Unix time of the frame; null: the last one. */
      timeMs: orNull(Type.Number()),
      /** Fractions of the frame from its upper left corner. */
      x: Type.Number(),
      y: Type.Number(),
      latitude: degrees,
      longitude: degrees,
      /** Above mean sea level; null: on the ground. */
      altitude: orNull(metres),
    }),
  ),
});
export type LandmarkQuestion = Static<typeof LandmarkQuestion>;

/** The heading that fits them, or why there is none. */
export const LandmarkAnswer = Type.Union([
  Type.Object({ offset: degrees, error: Type.Number({ minimum: 0 }) }),
  Type.Object({ fault: Type.String() }),
]);
export type LandmarkAnswer = Static<typeof LandmarkAnswer>;

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
  /** The calibration of the heading that `attitude` contains: degrees added to the reported yaw, and their error. */
  heading: Type.Optional(HeadingCalibration),
  /** Position or attitude is null because its last report is too old, not because it is never reported. */
  isLate: Type.Optional(Type.Literal(true)),
  /** Error from joining by time, one standard deviation: angles in degrees, horizontal position and height in metres. */
  doubt: Type.Object({ angle: Type.Number(), position: Type.Number(), height: Type.Number() }),
  /** The part of it caused by clock differences: a bias that is constant from frame to frame. */
  lasting: Type.Optional(Type.Object({ angle: Type.Number(), position: Type.Number() })),
});
export type FrameTelemetry = Static<typeof FrameTelemetry>;
