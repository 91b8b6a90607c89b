import type { FrameTelemetry } from "../../schemas/telemetry.ts";
import { type Quaternion, toAttitude, toPlace, toQuaternion } from "./geometry.ts";
import { FLIGHT, type Samples, type Spot, TURNING, toSpot, type View, ZOOMING } from "./samples.ts";
import { type Joined, join, takeLatest } from "./series.ts";

/** Where the camera was and how it looked at one time, as far as it is known. */
export interface Pose {
  readonly view: Joined<View>;
  readonly attitude: Joined<Quaternion> | null;
  readonly spot: Joined<Spot> | null;
  readonly isFixed: boolean;
  /** There are samples of an attitude or spot that is null, and all are too far away in time. */
  readonly isLate: boolean;
}

export interface JoinSettings {
  readonly join: "interpolate" | "latest";
  readonly extrapolateMs: number;
}

/** A lens stays as it is for longer than a drone stays where it is. */
const VIEW_REACH_MS = 10_000;

const hold = <T>(value: T): Joined<T> => ({ value, method: "between", ageMs: 0, gapMs: null, rate: 0 });

/** Null where nothing is known. `timeMs` is by the clock of the samples. */
export function findPose(samples: Samples, timeMs: number, { join: how, extrapolateMs }: JoinSettings): Pose | null {
  const find = how === "latest" ? takeLatest : join;
  const { fixed } = samples;
  const view =
    find(samples.views, timeMs, Math.max(extrapolateMs, VIEW_REACH_MS), ZOOMING) ??
    (fixed === null || fixed.hfov === null || fixed.vfov === null
      ? null
      : hold({ hfov: fixed.hfov, vfov: fixed.vfov }));
  if (view === null) return null;
  const attitude = find(samples.attitudes, timeMs, extrapolateMs, TURNING);
  const spot = find(samples.spots, timeMs, extrapolateMs, FLIGHT);
  const known = {
    attitude: attitude ?? (fixed?.attitude ? hold(toQuaternion(fixed.attitude)) : null),
    spot: spot ?? (fixed?.position ? hold(toSpot(fixed.position)) : null),
  };
  const isLate =
    (known.attitude === null && samples.attitudes.size > 0) || (known.spot === null && samples.spots.size > 0);
  return { view, ...known, isFixed: samples.isEmpty, isLate };
}

/** One standard deviation of what nobody foresees, a second squared: degrees (and as many more as it turns a second), metres. */
const TURN = 3;
const DRIFT = 2;
const CLIMB = 1;
/** A second, where it is not known how fast it moves. */
const UNKNOWN_TURN = 10;
const UNKNOWN_DRIFT = 8;
const UNKNOWN_CLIMB = 2;

/** `offsetErrorMs`: one standard deviation of how well the clocks are known to agree. */
export function describePose(pose: Pose, offsetMs: number, offsetErrorMs: number): FrameTelemetry {
  const { view, attitude, spot, isFixed, isLate } = pose;
  const told = [attitude, spot].filter((part) => part !== null);
  const parts = told.length === 0 ? [view] : told;
  const isBeyond = parts.some(({ method }) => method === "beyond");
  const lasting = (part: Joined<unknown> | null): number =>
    part === null || isFixed ? 0 : (part.rate * offsetErrorMs) / 1000;
  const doubt = (part: Joined<unknown> | null, unforeseen: number, unknown: number): number =>
    part === null || isFixed ? 0 : Math.hypot(spread(part, unforeseen, unknown), lasting(part));
  return {
    method: isFixed ? "fixed" : isBeyond ? "beyond" : "between",
    ageMs: Math.max(...parts.map(({ ageMs }) => ageMs)),
    offsetMs,
    ...view.value,
    position: spot === null ? null : describeSpot(spot.value),
    attitude: attitude === null ? null : toAttitude(attitude.value),
    ...(isLate && { isLate }),
    doubt: {
      angle: doubt(attitude, TURN + (attitude?.rate ?? 0), UNKNOWN_TURN),
      position: doubt(spot, DRIFT, UNKNOWN_DRIFT),
      height: doubt(spot, CLIMB, UNKNOWN_CLIMB),
    },
    ...(!isFixed && { lasting: { angle: lasting(attitude), position: lasting(spot) } }),
  };
}

const describeSpot = ({ up, altitude, relAltitude }: Spot) => ({ ...toPlace(up), altitude, relAltitude });

/** By how much a constant rate is off from one that changes by `unforeseen`, in the middle between two values or after them. */
function spread({ method, ageMs, gapMs, rate }: Joined<unknown>, unforeseen: number, unknown: number): number {
  const age = ageMs / 1000;
  if (gapMs === null) return age * Math.max(rate, unknown);
  const gap = gapMs / 1000;
  return method === "between" ? (unforeseen * age * (gap - age)) / 2 : (unforeseen * age * (gap + age)) / 2;
}
