/** How places, attitudes and fields of view move between samples. */

import type { CameraPosition } from "../../schemas/telemetry.ts";
import { measure, toUp } from "./globe.ts";
import type { Motion } from "./join.ts";
import { findTurn, type Quaternion, turnBy, type Vector } from "./rotation.ts";

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
