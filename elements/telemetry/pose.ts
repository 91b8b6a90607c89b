/** Joins the samples to a camera pose at one time, with its errors. */
import type { FrameTelemetry } from "../../schemas/telemetry.ts";
import { type Quaternion, toAttitude, toPlace, toQuaternion } from "./geometry.ts";
import { FLIGHT, type Samples, type Spot, TURNING, toSpot, type View, ZOOMING } from "./samples.ts";
import { type Joined, join, takeLatest } from "./series.ts";

/** Position, attitude and field of view of the camera at one time, as far as known. */
export interface Pose {
  readonly view: Joined<View>;
  readonly attitude: Joined<Quaternion> | null;
  readonly spot: Joined<Spot> | null;
  readonly isFixed: boolean;
  /** A null attitude or position has samples, but all are too far away in time. */
  readonly isLate: boolean;
}

export interface JoinSettings {
  readonly join: "interpolate" | "latest";
  readonly extrapolateMs: number;
}

/** The field of view changes less often than the position. */
const VIEW_REACH_MS = 10_000;

const hold = <T>(value: T): Joined<T> => ({ value, method: "between", ageMs: 0, gapMs: null, rate: 0 });

/** Null if the field of view is unknown. `timeMs` is in the clock of the samples. */
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

/** Standard deviation of unpredicted acceleration: degrees/s² (plus the rotation per second), m/s². */
const TURN = 3;
const DRIFT = 2;
const CLIMB = 1;
/** Per second, if the rate is unknown. */
const UNKNOWN_TURN = 10;
const UNKNOWN_DRIFT = 8;
const UNKNOWN_CLIMB = 2;

/** `offsetErrorMs`: one standard deviation of the clock offset. */
export function describePose(pose: Pose, offsetMs: number, offsetErrorMs: number): FrameTelemetry {
  const { view, attitude, spot, isFixed, isLate } = pose;
  const known = [attitude, spot].filter((part) => part !== null);
  const parts = known.length === 0 ? [view] : known;
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

/** Error of a constant rate if the rate changes by `unforeseen`, between two values or after them. */
function spread({ method, ageMs, gapMs, rate }: Joined<unknown>, unforeseen: number, unknown: number): number {
  const age = ageMs / 1000;
  if (gapMs === null) return age * Math.max(rate, unknown);
  const gap = gapMs / 1000;
  return method === "between" ? (unforeseen * age * (gap - age)) / 2 : (unforeseen * age * (gap + age)) / 2;
}
