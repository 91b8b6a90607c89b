/** Stores telemetry samples by kind of value, and defines how each kind changes between samples. */
import type { CameraPosition, TelemetrySample } from "../../schemas/telemetry.ts";
import { findTurn, measure, type Quaternion, toQuaternion, toUp, turnBy, type Vector } from "./geometry.ts";
import { type Motion, Series } from "./series.ts";

/** Limit per kind of value. Received samples are kept for a while, those of a file for the whole flight. */
export const MAX_SAMPLES = 200_000;
const KEPT_MS = 60_000;
/** A clock that advances by more than this, while less time has passed, was set. */
const JUMP_MS = 180_000;
/** Samples older than the newest by more than this are ignored. */
const LATEST_MS = 30_000;
/** A clock counts as set after it has run from the new time for at least this. */
const PROOF_MS = 1000;

interface Arrival {
  readonly timeMs: number;
  readonly receivedMs: number;
}

/** Positions, attitudes and fields of view of the camera, each in its own series: a message may contain only some. */
export class Samples {
  readonly spots = new Series<Spot>(MAX_SAMPLES);
  readonly attitudes = new Series<Quaternion>(MAX_SAMPLES);
  readonly views = new Series<View>(MAX_SAMPLES);
  /** A sample without a time, valid always. */
  fixed: TelemetrySample | null = null;
  #newest: Arrival | null = null;
  #suspect: Arrival | null = null;
  /** Time of the first sample read from a file. */
  fileStartMs: number | null = null;

  get isEmpty(): boolean {
    return this.views.size === 0 && this.attitudes.size === 0 && this.spots.size === 0;
  }

  /** `restarted`: the sender's clock was set, and earlier samples were dropped. */
  take(sample: TelemetrySample): "taken" | "ignored" | "restarted" {
    const { timeMs, receivedMs } = sample;
    if (timeMs === null) {
      this.fixed = sample;
      return "taken";
    }
    if (receivedMs === null) {
      if (sample.videoErrorMs === undefined) this.fileStartMs = Math.min(timeMs, this.fileStartMs ?? timeMs);
      this.#put(timeMs, sample);
      return "taken";
    }
    const outcome = this.#classify({ timeMs, receivedMs });
    if (outcome === "ignored") return outcome;
    if (outcome === "restarted") for (const series of [this.spots, this.attitudes, this.views]) series.clear();
    if (outcome === "restarted" || timeMs >= (this.#newest?.timeMs ?? timeMs)) this.#newest = { timeMs, receivedMs };
    this.#put(timeMs, sample);
    for (const series of [this.spots, this.attitudes, this.views]) series.cut(this.#newestMs - KEPT_MS);
    return outcome;
  }

  get #newestMs(): number {
    return this.#newest?.timeMs ?? Number.NEGATIVE_INFINITY;
  }

  #put(timeMs: number, { hfov, vfov, position, attitude }: TelemetrySample): void {
    if (hfov !== null && vfov !== null) this.views.put(timeMs, { hfov, vfov });
    if (position !== null) this.spots.put(timeMs, toSpot(position));
    if (attitude !== null) this.attitudes.put(timeMs, toQuaternion(attitude));
  }

  #classify(arrival: Arrival): "taken" | "ignored" | "restarted" {
    if (this.#newest === null || this.#follows(this.#newest, arrival)) {
      this.#suspect = null;
      return "taken";
    }
    const suspect = this.#suspect;
    const passedMs = suspect === null ? 0 : arrival.receivedMs - suspect.receivedMs;
    const isSteady =
      suspect !== null && Math.abs(arrival.timeMs - suspect.timeMs - passedMs) <= Math.max(0, passedMs / 2);
    if (!isSteady) this.#suspect = arrival;
    if (!isSteady || passedMs < PROOF_MS) return "ignored";
    this.#suspect = null;
    return "restarted";
  }

  #follows(newest: Arrival, { timeMs, receivedMs }: Arrival): boolean {
    const aheadMs = timeMs - newest.timeMs;
    if (aheadMs < -LATEST_MS) return false;
    // A long pause of the sender is not a jump of its clock.
    return aheadMs <= JUMP_MS || Math.abs(aheadMs - (receivedMs - newest.receivedMs)) < JUMP_MS;
  }
}

/** How places, attitudes and fields of view move between samples. */
export interface Spot {
  readonly up: Vector;
  readonly altitude: number;
  readonly relAltitude: number;
}

export interface View {
  readonly hfov: number;
  readonly vfov: number;
}

export const toSpot = ({ latitude, longitude, altitude, relAltitude }: CameraPosition): Spot => ({
  up: toUp(latitude, longitude),
  altitude,
  relAltitude,
});

const blend = (from: number, to: number, share: number): number => from + (to - from) * share;

/** Metres per second: faster than any drone, slower than a jump of a position fix. */
const FASTEST_FLIGHT = 150;

export const FLIGHT: Motion<Spot> = {
  move: (from, to, share) => ({
    up: [blend(from.up[0], to.up[0], share), blend(from.up[1], to.up[1], share), blend(from.up[2], to.up[2], share)],
    altitude: blend(from.altitude, to.altitude, share),
    relAltitude: blend(from.relAltitude, to.relAltitude, share),
  }),
  measure: (from, to) => Math.hypot(...measure(from.up, to.up), to.altitude - from.altitude),
  fastest: FASTEST_FLIGHT,
};

/**
 * Interpolates by one rotation about one axis, not by single angles: equal if only yaw or pitch changes, always the short
 * way, and correct when the camera looks straight down, where different yaw and roll may be the same view.
 */
export const TURNING: Motion<Quaternion> = {
  move(from, to, share) {
    const [x, y, z] = findTurn(from, to);
    return turnBy(from, [x * share, y * share, z * share]);
  },
  measure: (from, to) => Math.hypot(...findTurn(from, to)),
  fastest: 200,
};

/** Zooming is not extrapolated. */
export const ZOOMING: Motion<View> = {
  move: (from, to, share) => {
    const within = Math.min(share, 1);
    return { hfov: blend(from.hfov, to.hfov, within), vfov: blend(from.vfov, to.vfov, within) };
  },
  measure: (from, to) => Math.abs(to.hfov - from.hfov),
  fastest: 1000,
};
