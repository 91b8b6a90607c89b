/** What is known of one track while it lives: sums, and the points that nobody was told of yet. */
import type { Track } from "../../schemas/detections.ts";
import {
  MOST_POINTS,
  type ReportedTrack,
  type TrackPatch,
  type TrackPoint,
  type TrackSpot,
  type TrackSummary,
} from "../../schemas/track-report.ts";
import type { Sitter } from "./patches.ts";

export class LiveTrack implements Sitter {
  readonly id: number;
  #classId = 0;
  #className = "";
  #sightings = 0;
  #confidenceSum = 0;
  #best = 0;
  #least = 1;
  #firstSeenMs = 0;
  #last: TrackPoint | null = null;
  /** The last that was kept. */
  #kept: TrackPoint | null = null;
  #points: TrackPoint[] = [];
  #pointsTold = 0;
  #isLive = true;
  #isTold = false;
  #patchScore = 0;
  #patchTimeMs = 0;
  /** Nobody was told of it yet. */
  #patch: TrackPatch | null = null;

  constructor(id: number) {
    this.id = id;
  }

  get lastSeenMs(): number {
    return this.#last?.timeMs ?? 0;
  }

  get patchScore(): number {
    return this.#patchScore;
  }

  get patchTimeMs(): number {
    return this.#patchTimeMs;
  }

  /** Characters that telling of it takes for its picture. */
  get patchLength(): number {
    return this.#patch?.jpeg.length ?? 0;
  }

  /** Null: there was none to be had; one as good is not tried again. */
  keepPatch(patch: TrackPatch | null, score: number): void {
    this.#patchScore = score;
    this.#patchTimeMs = this.lastSeenMs;
    if (patch === null) return;
    this.#patch = patch;
    this.#isTold = false;
  }

  /** Something is new since it was last told of. */
  get hasNews(): boolean {
    return !this.#isTold;
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
    this.#isTold = false;
    if (isWorthKeeping(this.#kept, point, point.timeMs - this.#firstSeenMs, thinning)) this.#keep(point);
  }

  /** Where it was seen last is always kept. */
  end(): void {
    if (this.#last !== null && this.#last !== this.#kept) this.#keep(this.#last);
    this.#isLive = false;
    this.#isTold = false;
  }

  /** At most so many points; what is left stays news. */
  tell(mostPoints: number): ReportedTrack {
    const points = this.#points.splice(0, mostPoints);
    const pointsBefore = this.#pointsTold;
    this.#pointsTold += points.length;
    this.#isTold = this.#points.length === 0;
    const patch = this.#patch;
    this.#patch = null;
    return { ...this.#sumUp(), pointsBefore, points, ...(patch !== null && { patch }) };
  }

  #keep(point: TrackPoint): void {
    if (this.#pointsTold + this.#points.length >= MOST_POINTS) return;
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

/** Which sightings of a track are worth keeping. Pure. */
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
