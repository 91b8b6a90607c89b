/** Course and speed of the camera over the ground, from its last positions. */
import type { CameraPosition } from "../../schemas/telemetry.ts";

interface Fix {
  readonly timeMs: number;
  readonly latitude: number;
  readonly longitude: number;
}

/** Positions over at least and at most this time. */
const LEAST_MS = 1_000;
const MOST_MS = 3_000;
/** Slower is standing: positions jitter. */
const STANDING_MPS = 0.5;
const METRES_PER_DEGREE = 111_195;

export class CameraCourse {
  readonly #fixes: Fix[] = [];
  #course = 0;

  /** Null while it is unknown. While it stands, the course is the last one. */
  add(timeMs: number, { latitude, longitude }: CameraPosition): { course: number; speedMps: number } | null {
    const last = this.#fixes.at(-1);
    if (last !== undefined && (timeMs < last.timeMs || timeMs - last.timeMs > MOST_MS)) this.#fixes.length = 0;
    this.#fixes.push({ timeMs, latitude, longitude });
    while (timeMs - (this.#fixes[1]?.timeMs ?? timeMs) >= LEAST_MS) this.#fixes.shift();
    const first = this.#fixes[0];
    if (first === undefined || timeMs - first.timeMs < LEAST_MS) return null;
    const north = (latitude - first.latitude) * METRES_PER_DEGREE;
    const degrees = ((((longitude - first.longitude + 180) % 360) + 360) % 360) - 180;
    const east = degrees * METRES_PER_DEGREE * Math.cos((latitude * Math.PI) / 180);
    const speedMps = (Math.hypot(north, east) * 1000) / (timeMs - first.timeMs);
    if (speedMps >= STANDING_MPS) this.#course = ((Math.atan2(east, north) * 180) / Math.PI + 360) % 360;
    return { course: this.#course, speedMps: speedMps >= STANDING_MPS ? speedMps : 0 };
  }
}
