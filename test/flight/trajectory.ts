/** How the camera flies and pans. */
import type { Pose } from "./camera.ts";

export interface Flight {
  readonly seconds: number;
  /** Above the ground, metres. */
  readonly height: number;
  /** Metres a second to the east. */
  readonly speed: number;
  /** The pan goes so far to both sides of north, degrees, there and back in so many seconds. */
  readonly panDeg: number;
  readonly panSeconds: number;
}

/** Pans at 9 degrees a second, over north and back: yaw jumps from 360 to 0. */
export const FLIGHT: Flight = { seconds: 30, height: 100, speed: 6, panDeg: 14, panSeconds: 7 };

/** Below 1: how much a turn of the pan is rounded. */
const EVENNESS = 0.95;
const TURN = 2 * Math.PI;

/** At an even pace but for the turns: what a hand on a stick does, and a gimbal after it. */
function panAt({ panDeg, panSeconds }: Flight, seconds: number): number {
  return (panDeg * Math.asin(EVENNESS * Math.sin((TURN * seconds) / panSeconds))) / Math.asin(EVENNESS);
}

export function poseAt(flight: Flight, seconds: number): Pose {
  return {
    at: [
      flight.speed * seconds,
      1.5 * Math.sin((TURN * seconds) / 9),
      flight.height + 0.6 * Math.sin((TURN * seconds) / 6),
    ],
    yaw: (panAt(flight, seconds) + 360) % 360,
    pitch: -45 + 1.5 * Math.sin((TURN * seconds) / 5),
    roll: 1.2 * Math.sin((TURN * seconds) / 4),
  };
}
