/** When a crashed runner is started again, and when it has crashed too often. Pure. */

export interface RestartRule {
  /** So many restarts within the window; the crash after them is the last. */
  readonly restarts: number;
  readonly windowMs: number;
  readonly firstMs: number;
  readonly maxMs: number;
}

/**
 * How long to wait before the restart, given the times of all crashes so far, the latest last. Null when there were too
 * many within the window. `random` is from 0 to 1: jitter, so that runners that crashed together do not return together.
 */
export function planRestart(crashesMs: readonly number[], rule: RestartRule, random: number): number | null {
  const recent = countRecent(crashesMs, rule.windowMs);
  return recent > rule.restarts ? null : backOff(recent, rule, random);
}

/** Twice as long at each attempt, from the first on; between half and all of that. */
export function backOff(attempt: number, rule: Pick<RestartRule, "firstMs" | "maxMs">, random: number): number {
  const wholeMs = Math.min(rule.maxMs, rule.firstMs * 2 ** Math.min(attempt - 1, 30));
  return wholeMs * (0.5 + random / 2);
}

/** The latest counts too. */
export function countRecent(crashesMs: readonly number[], windowMs: number): number {
  const latestMs = crashesMs.at(-1) ?? 0;
  return crashesMs.filter((crashMs) => latestMs - crashMs < windowMs).length;
}
