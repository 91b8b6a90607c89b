/** Which sightings of a track are worth keeping. Pure. */
import type { TrackPoint, TrackSpot } from "../../schemas/track-report.ts";

export interface Thinning {
  /** A sighting is kept when this much time has passed since the last one that was … */
  readonly pointSeconds: number;
  /** … and sooner when the object has moved further than this, and than the error of its place. */
  readonly pointMetres: number;
}

/** However fast it moves, or its place jitters. */
const SOONEST_MS = 200;
/** Of an object that stays for hours fewer are kept, so that its path stays short: a day costs some thousand points. */
const RESTING_SHARE = 1 / 600;
const MOVING_SHARE = 1 / 3000;

/** @param ageMs of the track when it was last seen */
export function isWorthKeeping(last: TrackPoint | null, next: TrackPoint, ageMs: number, thinning: Thinning): boolean {
  if (last === null) return true;
  const passedMs = next.timeMs - last.timeMs;
  // A clock that was set back: what comes is the new truth.
  if (passedMs < 0) return true;
  if (passedMs >= Math.max(thinning.pointSeconds * 1000, ageMs * RESTING_SHARE)) return true;
  if (passedMs < Math.max(SOONEST_MS, ageMs * MOVING_SHARE)) return false;
  // The first place of an object that had none, or its last.
  if (last.spot === null || next.spot === null) return last.spot !== next.spot;
  return measureM(last.spot, next.spot) > Math.max(thinning.pointMetres, next.spot.errorM);
}

const RADIUS_M = 6_371_000;
const radians = (degrees: number): number => (degrees * Math.PI) / 180;

/** On a globe: for telling two metres from one, not for maps. */
export function measureM(from: Pick<TrackSpot, "latitude" | "longitude">, to: typeof from): number {
  const north = radians(to.latitude - from.latitude);
  const east = radians(to.longitude - from.longitude);
  const across = Math.cos(radians(from.latitude)) * Math.cos(radians(to.latitude));
  const half = Math.sin(north / 2) ** 2 + across * Math.sin(east / 2) ** 2;
  return 2 * RADIUS_M * Math.asin(Math.min(1, Math.sqrt(half)));
}
