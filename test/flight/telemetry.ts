/** Simulated telemetry of a flight: native messages with realistic errors. */
import type { TelemetryMessage } from "../../schemas/api/telemetry.ts";
import { type Lens, vfovOf } from "./camera.ts";
import { type Flight, ORIGIN, poseAt, Random, toPlace } from "./world.ts";

export interface TelemetryFaults {
  readonly hz: number;
  /** Offset of the drone's clock against the camera's clock. */
  readonly clockAheadMs: number;
  /** Factor of the usual noise; 0 for none. */
  readonly noise: number;
  /** Degrees by which the compass is off. Default 0. */
  readonly headingBias?: number;
}

export const USUAL: TelemetryFaults = { hz: 2, clockAheadMs: 50, noise: 1 };

/** Standard deviations: GNSS, which drifts slowly, barometer and gimbal. */
const WANDER_M = 0.3;
const WANDER_SECONDS = 120;
const HEIGHT_M = 0.2;
const JITTER_M = 0.08;
const ANGLE_DEG = 0.08;
/** Mounting error of the gimbal, constant for the whole flight. */
const MOUNTING_DEG = 0.1;

export interface Sample {
  /** Time of the sample since the start of the flight. */
  readonly seconds: number;
  readonly message: TelemetryMessage;
}

/** `epochMs`: Unix time of the first frame and the first message, by the camera's clock. */
export function simulateTelemetry(
  flight: Flight,
  lens: Lens,
  faults: TelemetryFaults,
  epochMs: number,
): readonly Sample[] {
  const { hz, clockAheadMs, noise, headingBias = 0 } = faults;
  const random = new Random(11);
  // Constant errors are exactly one standard deviation.
  const wander = [1, -1, 1];
  const mounting = [MOUNTING_DEG, -MOUNTING_DEG, MOUNTING_DEG];
  const keep = Math.exp(-1 / (hz * WANDER_SECONDS));
  const vfov = vfovOf(lens);
  return Array.from({ length: Math.floor(flight.seconds * hz) + 2 }, (_, index) => {
    const seconds = index / hz;
    const pose = poseAt(flight, seconds);
    for (const [axis, before] of wander.entries())
      wander[axis] = before * keep + random.normal() * Math.sqrt(1 - keep * keep);
    const off = (axis: number, size: number): number =>
      noise * ((wander[axis] ?? 0) * size + random.normal() * JITTER_M);
    const turned = (axis: number, value: number): number =>
      roundTo(value + noise * ((mounting[axis] ?? 0) + random.normal() * ANGLE_DEG), noise > 0 ? 0.1 : 1e-9);
    const at = toPlace([pose.at[0] + off(0, WANDER_M), pose.at[1] + off(1, WANDER_M), 0]);
    const above = roundTo(pose.at[2] + off(2, HEIGHT_M), noise > 0 ? 0.1 : 1e-9);
    return {
      seconds,
      message: {
        timestamp: (epochMs + clockAheadMs + seconds * 1000) / 1000,
        latitude: roundTo(at.latitude, 1e-8),
        longitude: roundTo(at.longitude, 1e-8),
        altitude: ORIGIN.altitude + above,
        rel_altitude: above,
        camera_yaw: (turned(0, pose.yaw + headingBias) + 360) % 360,
        camera_pitch: turned(1, pose.pitch),
        camera_roll: turned(2, pose.roll),
        sensor_hfov: lens.hfov,
        sensor_vfov: vfov,
        drone_yaw: 90,
        speed: flight.speed,
      },
    };
  });
}

const roundTo = (value: number, step: number): number => Math.round(value / step) * step;
