/** Emits where the camera is and what it sees: the event `camera`, once per second of video. */
import { CAMERA_CHANNEL, type CameraReport } from "../../schemas/camera-message.ts";
import type { FrameTelemetry } from "../../schemas/telemetry.ts";
import type { ElementEvent } from "../element.ts";
import { findFootprint } from "./footprint.ts";
import type { Sight } from "./locate.ts";

const INTERVAL_NS = 1_000_000_000n;
/** 0.1 m on the ground. */
const PARTS_OF_DEGREE = 1_000_000;
const PARTS = 10;

export class CameraReporter {
  readonly #emit: (event: ElementEvent) => void;
  #sentNs: bigint | null = null;

  constructor(emit: (event: ElementEvent) => void) {
    this.#emit = emit;
  }

  update(captureNs: bigint, telemetry: FrameTelemetry, sight: Sight | null): void {
    const { position, attitude, isLate } = telemetry;
    if (position === null || isLate === true || !Object.values(position).every(Number.isFinite)) return;
    const sinceNs = this.#sentNs === null ? INTERVAL_NS : captureNs - this.#sentNs;
    // An earlier time: the video restarted.
    if (sinceNs >= 0n && sinceNs < INTERVAL_NS) return;
    this.#sentNs = captureNs;
    const { latitude, longitude, altitude, relAltitude } = position;
    const footprint = sight === null ? null : findFootprint(sight, relAltitude);
    const yaw = attitude?.yaw ?? Number.NaN;
    const message: CameraReport = {
      timestamp: new Date(Number(captureNs / 1_000_000n)).toISOString(),
      latitude: round(latitude, PARTS_OF_DEGREE),
      longitude: round(longitude, PARTS_OF_DEGREE),
      altitude: round(altitude, PARTS),
      ...(Number.isFinite(yaw) && { heading: round(((yaw % 360) + 360) % 360, PARTS) % 360 }),
      ...(footprint !== null && {
        footprint: footprint.map(([north, east]): [number, number] => [
          round(north, PARTS_OF_DEGREE),
          round(east, PARTS_OF_DEGREE),
        ]),
      }),
    };
    this.#emit({ type: CAMERA_CHANNEL, message });
  }
}

/** Never negative zero. */
const round = (value: number, parts: number): number => Math.round(value * parts) / parts + 0;
