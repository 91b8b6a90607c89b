import type { CameraPosition, TelemetrySample } from "../../schemas/telemetry.ts";
import { findTurn, measure, type Quaternion, toQuaternion, toUp, turnBy, type Vector } from "./geometry.ts";
import { type Motion, Series } from "./series.ts";

/** Of each kind. What is received stays for a while, and what is read from a file is as long as the flight. */
export const MAX_SAMPLES = 200_000;
const KEPT_MS = 60_000;
/** A clock that goes on by more than this at once, while no such time has passed, has been set. */
const JUMP_MS = 180_000;
/** What is later than the newest by more than this is of no use any more. */
const LATEST_MS = 30_000;
/** A clock that has been set shows itself by going on from there, for at least this. */
const PROOF_MS = 1000;

interface Arrival {
  readonly timeMs: number;
  readonly receivedMs: number;
}

/** Where the camera was, how it looked and how much it saw, each by its own samples: a message may tell a part. */
export class Samples {
  readonly spots = new Series<Spot>(MAX_SAMPLES);
  readonly attitudes = new Series<Quaternion>(MAX_SAMPLES);
  readonly views = new Series<View>(MAX_SAMPLES);
  /** What always holds. */
  fixed: TelemetrySample | null = null;
  #newest: Arrival | null = null;
  #suspect: Arrival | null = null;
  #fileStartMs: number | null = null;

  /** Time of the first sample that was read from a file, and not received. */
  get fileStartMs(): number | null {
    return this.#fileStartMs;
  }

  get isEmpty(): boolean {
    return this.views.size === 0 && this.attitudes.size === 0 && this.spots.size === 0;
  }

  /** `restarted`: the sender's clock has been set, and all before is forgotten. */
  take(sample: TelemetrySample): "taken" | "ignored" | "restarted" {
    const { timeMs, receivedMs } = sample;
    if (timeMs === null) {
      this.fixed = sample;
      return "taken";
    }
    if (receivedMs === null) {
      this.#fileStartMs = Math.min(timeMs, this.#fileStartMs ?? timeMs);
      this.#put(timeMs, sample);
      return "taken";
    }
    const verdict = this.#judge({ timeMs, receivedMs });
    if (verdict === "ignored") return verdict;
    if (verdict === "restarted") for (const series of [this.spots, this.attitudes, this.views]) series.clear();
    if (verdict === "restarted" || timeMs >= (this.#newest?.timeMs ?? timeMs)) this.#newest = { timeMs, receivedMs };
    this.#put(timeMs, sample);
    for (const series of [this.spots, this.attitudes, this.views]) series.cut(this.#newestMs - KEPT_MS);
    return verdict;
  }

  get #newestMs(): number {
    return this.#newest?.timeMs ?? Number.NEGATIVE_INFINITY;
  }

  #put(timeMs: number, { hfov, vfov, position, attitude }: TelemetrySample): void {
    if (hfov !== null && vfov !== null) this.views.put(timeMs, { hfov, vfov });
    if (position !== null) this.spots.put(timeMs, toSpot(position));
    if (attitude !== null) this.attitudes.put(timeMs, toQuaternion(attitude));
  }

  #judge(arrival: Arrival): "taken" | "ignored" | "restarted" {
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
    // A long pause of the sender is no jump of its clock.
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

/** Metres a second: faster than any drone, and not as fast as a fix that jumps. */
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
 * By one turn about one axis, and not angle by angle: that is the same where only yaw or only pitch changes, goes the short
 * way by itself, and holds when the camera looks straight down, where a yaw of 0 and one of 180 with half a roll between
 * them may be the same view.
 */
export const TURNING: Motion<Quaternion> = {
  move(from, to, share) {
    const [x, y, z] = findTurn(from, to);
    return turnBy(from, [x * share, y * share, z * share]);
  },
  measure: (from, to) => Math.hypot(...findTurn(from, to)),
  fastest: 200,
};

/** Nobody goes on zooming because they did so a moment ago. */
export const ZOOMING: Motion<View> = {
  move: (from, to, share) => {
    const within = Math.min(share, 1);
    return { hfov: blend(from.hfov, to.hfov, within), vfov: blend(from.vfov, to.vfov, within) };
  },
  measure: (from, to) => Math.abs(to.hfov - from.hfov),
  fastest: 1000,
};
