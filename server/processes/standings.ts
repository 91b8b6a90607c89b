/** Whose processes must stop, and when to look again. Pure. */
import type { Standing } from "../store/standing.ts";
import type { ProcessError } from "./processes.ts";

/** Why this user may run nothing more; null when all is well. */
export function judgeStanding({ remainingMs, isExpired, isRevoked }: Omit<Standing, "userUuid">): ProcessError | null {
  if (isRevoked) return { code: "api_key_invalid", detail: "the key was revoked" };
  if (isExpired) return { code: "api_key_expired", detail: "the key has expired" };
  if (remainingMs !== null && remainingMs <= 0)
    return { code: "usage_limit_reached", detail: "the minutes of this key are used up" };
  return null;
}

export interface Consumption {
  readonly remainingMs: number | null;
  /** Processes of the user that use minutes now. */
  readonly running: number;
}

/** The earliest moment at which somebody's minutes can be used up; `maxMs` when nobody's can before that. */
export function nextLookMs(users: readonly Consumption[], leastMs: number, maxMs: number): number {
  const ends = users.flatMap(({ remainingMs, running }) =>
    remainingMs === null || running === 0 ? [] : [remainingMs / running],
  );
  return Math.max(leastMs, Math.min(maxMs, ...ends));
}
