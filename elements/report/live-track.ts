/** The state of one live track: its summary, and the points not reported yet. */
import type { Track } from "../../schemas/detections.ts";
import {
  MOST_POINTS,
  type ReportedTrack,
  type TrackPatch,
  type TrackPoint,
  type TrackSpot,
  type TrackSummary,
} from "../../schemas/track-report.ts";
import type { PatchHolder } from "./patches.ts";

export class LiveTrack implements PatchHolder {
  readonly id: number;
  #classId = 0;
  #className = "";
  #sightings = 0;
  #confidenceSum = 0;
  #best = 0;
  #least = 1;
  #firstSeenMs = 0;
  #last: TrackPoint | null = null;
  /** The last point kept. */
  #kept: TrackPoint | null = null;
  #points: TrackPoint[] = [];
  #pointsReported = 0;
  #isLive = true;
  #isReported = false;
  patchScore = 0;
  patchTimeMs = 0;
  /** Not reported yet. */
  #patch: TrackPatch | null = null;

  constructor(id: number) {
    this.id = id;
  }

  get lastSeenMs(): number {
    return this.#last?.timeMs ?? 0;
  }

  /** Length of its unreported image in characters. */
  get patchLength(): number {
    return this.#patch?.jpeg.length ?? 0;
  }

  /** Null: encoding failed; an image of the same score is not tried again. */
  keepPatch(patch: TrackPatch | null, score: number): void {
    this.patchScore = score;
    this.patchTimeMs = this.lastSeenMs;
    if (patch === null) return;
    this.#patch = patch;
    this.#isReported = false;
  }

  /** Something changed since the last report. */
  get hasNews(): boolean {
    return !this.#isReported;
  }

  see({ classId, className, confidence }: Track, point: TrackPoint, thinning: Thinning): void {
    this.#classId = classId;
    this.#className = className;
    this.#firstSeenMs = this.#sightings === 0 ? point.timeMs : Math.min(this.#firstSeenMs, point.timeMs);
    this.#sightings += 1;
    this.#confidenceSum += confidence;
    this.#best = Math.max(this.#best, confidence);
    this.#least = Math.min(this.#least, confidence);
    this.#last = point;
    this.#isReported = false;
    if (isWorthKeeping(this.#kept, point, point.timeMs - this.#firstSeenMs, thinning)) this.#keep(point);
  }

  /** Always keeps the last point. */
  end(): void {
    if (this.#last !== null && this.#last !== this.#kept) this.#keep(this.#last);
    this.#isLive = false;
    this.#isReported = false;
  }

  /** With up to `maxPoints` points; the others stay unreported. */
  report(maxPoints: number): ReportedTrack {
    const points = this.#points.splice(0, maxPoints);
    const pointsBefore = this.#pointsReported;
    this.#pointsReported += points.length;
    this.#isReported = this.#points.length === 0;
    const patch = this.#patch;
    this.#patch = null;
    return { ...this.#sumUp(), pointsBefore, points, ...(patch !== null && { patch }) };
  }

  #keep(point: TrackPoint): void {
    if (this.#pointsReported + this.#points.length >= MOST_POINTS) return;
    this.#kept = point;
    this.#points.push(point);
  }

  #sumUp(): TrackSummary {
    const mean = Math.min(this.#best, Math.max(this.#least, this.#confidenceSum / this.#sightings));
    return {
      id: this.id,
      classId: this.#classId,
      className: this.#className,
      firstSeenMs: this.#firstSeenMs,
      lastSeenMs: this.lastSeenMs,
      sightings: this.#sightings,
      confidence: { best: this.#best, mean, least: this.#least },
      box: this.#last?.box ?? [0, 0, 0, 0],
      isLive: this.#isLive,
    };
  }
}

/** Which points of a path to keep. */
export interface Thinning {
  /** Maximum time between two points. */
  readonly pointSeconds: number;
  /** A point is kept earlier if the object moved further than this and than its position error. */
  readonly pointMetres: number;
}

/** Minimum time between two points. */
const SOONEST_MS = 200;
/** Fewer points of an object that stays for hours: a day costs a few thousand points. */
const RESTING_SHARE = 1 / 600;
const MOVING_SHARE = 1 / 3000;

/** Pure. `ageMs`: age of the track at `next`. */
export function isWorthKeeping(last: TrackPoint | null, next: TrackPoint, ageMs: number, thinning: Thinning): boolean {
  if (last === null) return true;
  const passedMs = next.timeMs - last.timeMs;
  // The clock was set back: continue with the new time.
  if (passedMs < 0) return true;
  if (passedMs >= Math.max(thinning.pointSeconds * 1000, ageMs * RESTING_SHARE)) return true;
  if (passedMs < Math.max(SOONEST_MS, ageMs * MOVING_SHARE)) return false;
  // Its position became known or unknown.
  if (last.spot === null || next.spot === null) return last.spot !== next.spot;
  return measureM(last.spot, next.spot) > Math.max(thinning.pointMetres, next.spot.errorM);
}

const RADIUS_M = 6_371_000;
const radians = (degrees: number): number => (degrees * Math.PI) / 180;

/** Great-circle distance on a sphere: precise enough for a few metres. */
export function measureM(from: Pick<TrackSpot, "latitude" | "longitude">, to: typeof from): number {
  const north = radians(to.latitude - from.latitude);
  const east = radians(to.longitude - from.longitude);
  const across = Math.cos(radians(from.latitude)) * Math.cos(radians(to.latitude));
  const half = Math.sin(north / 2) ** 2 + across * Math.sin(east / 2) ** 2;
  return 2 * RADIUS_M * Math.asin(Math.min(1, Math.sqrt(half)));
}
