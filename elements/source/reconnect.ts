/**
 * When to connect to a live source, when to call it lost, how long to wait and when to give up. Pure: time, what is
 * seen of the connection and chance come in; orders go out.
 */
export interface ReconnectLimits {
  /** Data must come within this time of every attempt. */
  readonly connectMs: number;
  /** A connection that has been live is lost after this time without data. */
  readonly stallMs: number;
  /** An outage that lasts longer ends the graph. */
  readonly giveUpMs: number;
}

export const FIRST_DELAY_MS = 500;
export const LONGEST_DELAY_MS = 5000;
/** A connection that was live for so long starts again with the shortest delay. */
export const SETTLED_MS = 10_000;
/** Data flows, but a picture begins with a key frame, and cameras are often set to one in ten seconds. */
export const KEY_FRAME_MS = 15_000;
/** Delays vary by this part either way, so that the cameras of one site do not come back in step. */
export const JITTER = 0.2;

export type ReconnectState =
  | { readonly phase: "connecting"; readonly sinceMs: number; readonly attempt: number; readonly outage: Outage | null }
  | { readonly phase: "live"; readonly sinceMs: number; readonly attempt: number; readonly outage: Outage | null }
  | { readonly phase: "waiting"; readonly untilMs: number; readonly attempt: number; readonly outage: Outage }
  | { readonly phase: "failed" };

export interface Outage {
  /** When data last came. */
  readonly sinceMs: number;
  /** What the last delay was before jitter. */
  readonly delayMs: number;
  readonly reason: string;
}

/** What is seen of the attempt under way. */
export interface Observation {
  readonly nowMs: number;
  readonly flowing: boolean;
  readonly idleMs: number;
  /** Why the attempt ended by itself, or null. */
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

/** `random` gives numbers from 0 up to 1. */
export type Random = () => number;

export const begin = (nowMs: number): Advance => connect(nowMs, 1, null);

/** After a pause: as after a loss, since it has been live before. */
export function beginAgain(nowMs: number, { giveUpMs }: ReconnectLimits): Advance {
  return connect(nowMs, 1, giveUpMs === 0 ? null : { sinceMs: nowMs, delayMs: 0, reason: "it was paused" });
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
      const settled = seen.nowMs - state.sinceMs >= SETTLED_MS;
      const sinceMs = seen.nowMs - seen.idleMs;
      const outage = { sinceMs, reason, delayMs: settled ? 0 : (state.outage?.delayMs ?? 0) };
      const lost = [{ do: "disconnect" }, announce("lost", state.attempt, reason)] as const;
      // Attempts are counted within an outage; the one that held was the first.
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
  if (nowMs - sinceMs < connectMs + KEY_FRAME_MS) return null;
  return `data, but no key frame within ${inSeconds(connectMs + KEY_FRAME_MS)}: let the camera send them more often`;
}

const inSeconds = (ms: number): string => `${Math.round(ms / 100) / 10} s`;

const announce = (
  state: "connecting" | "live" | "lost" | "waiting",
  attempt: number,
  reason: string | null,
  retryInMs: number | null = null,
): Order => ({ do: "announce", state, reason, attempt, retryInMs });
