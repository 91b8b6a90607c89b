/**
 * The state machine of a live source: when to connect, when the connection is lost, how long to wait, when to give up.
 * Pure: time, observations and randomness are passed in; orders are returned.
 */
export interface ReconnectLimits {
  /** Time limit for data after each attempt. */
  readonly connectMs: number;
  /** A connection that has been live is lost after this time without data. */
  readonly stallMs: number;
  /** A longer outage fails the graph. */
  readonly giveUpMs: number;
  /** The stream starts again at its end: a looped file. */
  readonly loops?: boolean;
}

/** Why an attempt ended at the end of its stream. */
export const END_OF_STREAM = "the stream ended";
/** A stream that is over sooner is not looped at once, but retried after a delay. */
const SHORTEST_LOOP_MS = 1000;

export const FIRST_DELAY_MS = 500;
export const LONGEST_DELAY_MS = 5000;
/** A connection that was live for this time resets the delay. */
export const SETTLED_MS = 10_000;
/** Additional time for the first keyframe: cameras often send one every ten seconds. */
export const KEYFRAME_MS = 15_000;
/** Delays vary by this fraction, so that the cameras of one site do not reconnect in step. */
export const JITTER = 0.2;

export type ReconnectState =
  | { readonly phase: "connecting"; readonly sinceMs: number; readonly attempt: number; readonly outage: Outage | null }
  | { readonly phase: "live"; readonly sinceMs: number; readonly attempt: number; readonly outage: Outage | null }
  | { readonly phase: "waiting"; readonly untilMs: number; readonly attempt: number; readonly outage: Outage }
  | { readonly phase: "failed" };

interface Outage {
  /** Time of the last data. */
  readonly sinceMs: number;
  /** The last delay, before jitter. */
  readonly delayMs: number;
  readonly reason: string;
}

/** State of the current attempt. */
export interface Observation {
  readonly nowMs: number;
  readonly flowing: boolean;
  readonly idleMs: number;
  /** Why the attempt ended on its own, or null. */
  readonly ended: string | null;
}

export type Order =
  | { readonly do: "connect" }
  | { readonly do: "disconnect" }
  | { readonly do: "fail"; readonly reason: string }
  | {
      readonly do: "announce";
      readonly state: "connecting" | "live" | "lost" | "waiting";
      readonly reason: string | null;
      readonly attempt: number;
      readonly retryInMs: number | null;
    };

export interface Advance {
  readonly state: ReconnectState;
  readonly orders: readonly Order[];
}

/** Returns numbers from 0 to 1. */
export type Random = () => number;

export const begin = (nowMs: number): Advance => connect(nowMs, 1, null);

/** After a pause: like after a loss, since it has been live before. */
export function beginAgain(nowMs: number, { giveUpMs }: ReconnectLimits): Advance {
  return connect(nowMs, 1, giveUpMs === 0 ? null : { sinceMs: nowMs, delayMs: 0, reason: "paused" });
}

export function advance(state: ReconnectState, seen: Observation, limits: ReconnectLimits, random: Random): Advance {
  switch (state.phase) {
    case "failed":
      return { state, orders: [] };
    case "waiting":
      if (seen.nowMs < state.untilMs) return { state, orders: [] };
      return outlasts(state.outage, seen.nowMs, limits)
        ? giveUp(state.outage, seen.nowMs, [])
        : connect(seen.nowMs, state.attempt + 1, state.outage);
    case "live": {
      const reason = seen.ended ?? findStall(seen, limits);
      if (reason === null) return { state, orders: [] };
      if (limits.loops === true && reason === END_OF_STREAM && seen.nowMs - state.sinceMs >= SHORTEST_LOOP_MS)
        return {
          state: { phase: "connecting", sinceMs: seen.nowMs, attempt: 1, outage: null },
          orders: [{ do: "disconnect" }, { do: "connect" }],
        };
      const settled = seen.nowMs - state.sinceMs >= SETTLED_MS;
      const sinceMs = seen.nowMs - seen.idleMs;
      const outage = { sinceMs, reason, delayMs: settled ? 0 : (state.outage?.delayMs ?? 0) };
      const lost = [{ do: "disconnect" }, announce("lost", state.attempt, reason)] as const;
      // Attempts are counted per outage; the lost connection was the first.
      return retry(outage, 1, lost, seen, limits, random);
    }
    case "connecting": {
      if (seen.flowing && seen.ended === null) return goLive(state, seen);
      const reason = seen.ended ?? findSilence(state.sinceMs, seen, limits);
      if (state.outage === null) return reason === null ? { state, orders: [] } : fail(reason, [{ do: "disconnect" }]);
      if (reason !== null)
        return retry({ ...state.outage, reason }, state.attempt, [{ do: "disconnect" }], seen, limits, random);
      return outlasts(state.outage, seen.nowMs, limits)
        ? giveUp(state.outage, seen.nowMs, [{ do: "disconnect" }])
        : { state, orders: [] };
    }
  }
}

function connect(nowMs: number, attempt: number, outage: Outage | null): Advance {
  return {
    state: { phase: "connecting", sinceMs: nowMs, attempt, outage },
    orders: [announce("connecting", attempt, outage?.reason ?? null), { do: "connect" }],
  };
}

function goLive({ attempt, outage }: ReconnectState & { phase: "connecting" }, { nowMs }: Observation): Advance {
  return {
    state: { phase: "live", sinceMs: nowMs, attempt, outage },
    orders: [announce("live", attempt, null)],
  };
}

function retry(
  before: Outage,
  attempt: number,
  orders: readonly Order[],
  { nowMs }: Observation,
  limits: ReconnectLimits,
  random: Random,
): Advance {
  if (outlasts(before, nowMs, limits)) return giveUp(before, nowMs, orders);
  const delayMs = Math.min(Math.max(before.delayMs * 2, FIRST_DELAY_MS), LONGEST_DELAY_MS);
  const jitteredMs = Math.round(delayMs * (1 - JITTER + 2 * JITTER * random()));
  const untilMs = Math.min(nowMs + jitteredMs, before.sinceMs + limits.giveUpMs);
  return {
    state: { phase: "waiting", untilMs, attempt, outage: { ...before, delayMs } },
    orders: [...orders, announce("waiting", attempt, before.reason, Math.round(untilMs - nowMs))],
  };
}

const outlasts = (outage: Outage, nowMs: number, limits: ReconnectLimits): boolean =>
  nowMs - outage.sinceMs >= limits.giveUpMs;

const giveUp = (outage: Outage, nowMs: number, orders: readonly Order[]): Advance =>
  fail(`no video for ${inSeconds(nowMs - outage.sinceMs)}, giving up; last: ${outage.reason}`, orders);

const fail = (reason: string, orders: readonly Order[]): Advance => ({
  state: { phase: "failed" },
  orders: [...orders, { do: "fail", reason }],
});

const findStall = ({ idleMs }: Observation, { stallMs }: ReconnectLimits): string | null =>
  idleMs >= stallMs ? `no data for ${inSeconds(idleMs)}` : null;

function findSilence(sinceMs: number, { nowMs, idleMs }: Observation, { connectMs }: ReconnectLimits): string | null {
  if (idleMs >= connectMs) return `no data within ${inSeconds(connectMs)}`;
  if (nowMs - sinceMs < connectMs + KEYFRAME_MS) return null;
  return `no keyframe within ${inSeconds(connectMs + KEYFRAME_MS)}: reduce the keyframe interval of the camera`;
}

const inSeconds = (ms: number): string => `${Math.round(ms / 100) / 10} s`;

const announce = (
  state: "connecting" | "live" | "lost" | "waiting",
  attempt: number,
  reason: string | null,
  retryInMs: number | null = null,
): Order => ({ do: "announce", state, reason, attempt, retryInMs });
