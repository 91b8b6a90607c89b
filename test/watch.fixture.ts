/** Waiting in tests: for conditions that events change, and for conditions that have to be polled. */
import assert from "node:assert/strict";
import { setTimeout as sleep } from "node:timers/promises";

/** Between two calls, growing: a request costs milliseconds of processor time, and most waits are for seconds. */
const POLL_MS = { first: 25, last: 200, factor: 1.3 };
/** Not a measurement: only turns a hang into a failure. */
const LIMIT_MS = 120_000;

/** Waits for conditions that events change. Call `check` after every event. */
export class Watch {
  readonly #waiting = new Set<{ holds: () => boolean; resolve: () => void }>();

  check(): void {
    for (const waiter of this.#waiting) {
      if (!waiter.holds()) continue;
      this.#waiting.delete(waiter);
      waiter.resolve();
    }
  }

  async until(what: string, holds: () => boolean, limitMs = LIMIT_MS): Promise<void> {
    if (holds()) return;
    let timer: NodeJS.Timeout | undefined;
    let waiter: { holds: () => boolean; resolve: () => void } | undefined;
    try {
      await new Promise<void>((resolve, reject) => {
        waiter = { holds, resolve };
        this.#waiting.add(waiter);
        timer = setTimeout(() => reject(new Error(`still waiting for: ${what}`)), limitMs);
      });
    } finally {
      clearTimeout(timer);
      if (waiter !== undefined) this.#waiting.delete(waiter);
    }
  }
}

export interface PollOptions {
  readonly limitMs?: number;
  /** Details for the message of a failure. */
  readonly describe?: () => string;
}

type Found<T> = T | false | null | undefined;

/** Calls `read`, less and less often, until it returns something other than false, null and undefined. */
export async function poll<T>(
  what: string,
  read: () => Promise<Found<T>> | Found<T>,
  { limitMs = LIMIT_MS, describe = () => "" }: PollOptions = {},
): Promise<T> {
  const deadlineMs = performance.now() + limitMs;
  for (let pauseMs = POLL_MS.first; ; pauseMs = Math.min(pauseMs * POLL_MS.factor, POLL_MS.last)) {
    const found = await read();
    if (found !== false && found !== null && found !== undefined) return found;
    assert.ok(performance.now() < deadlineMs, `still waiting for: ${what}\n${describe()}`);
    await sleep(pauseMs);
  }
}

/** Calls `holds` until it is true. For conditions that explain themselves: the message of a failure shows the function. */
export const until = (holds: () => Promise<boolean> | boolean, limitMs = LIMIT_MS): Promise<boolean> =>
  poll(String(holds), holds, { limitMs });
