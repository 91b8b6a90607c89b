import assert from "node:assert/strict";
import type { TraceEvent } from "./trace-events.ts";

/** Slices on one track are of one name, and none begins before the last one has ended. */
export function expectTracks(events: readonly TraceEvent[]): void {
  const slices = events.flatMap((event) => (event.ph === "X" ? [event] : [])).sort((a, b) => a.ts - b.ts);
  const last = new Map<number, (typeof slices)[number]>();
  for (const slice of slices) {
    const { name, tid, ts } = slice;
    const before = last.get(tid) ?? { name, ts: Number.NEGATIVE_INFINITY, dur: 0 };
    assert.equal(name, before.name);
    // Microseconds with three digits: compared as nanoseconds.
    assert.ok(Math.round((before.ts + before.dur) * 1000) <= Math.round(ts * 1000), JSON.stringify([before, slice]));
    last.set(tid, slice);
  }
}
