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

/**
 * What Perfetto needs besides the fields of each event: every process and thread with slices has one name, and every
 * asynchronous slice that begins ends once, and not before.
 */
export function expectComplete(events: readonly TraceEvent[]): void {
  const named = (name: string) => events.filter((event) => event.ph === "M" && event.name === name);
  const tracks = new Set(events.flatMap((event) => ("tid" in event && event.ph !== "M" ? [event.tid] : [])));
  const threads = named("thread_name").map((event) => ("tid" in event ? event.tid : null));
  assert.deepEqual(new Set(threads).size, threads.length, "a thread has two names");
  for (const tid of tracks) assert.ok(threads.includes(tid), `thread ${tid} has no name`);
  const processes = new Set(events.map(({ pid }) => pid));
  assert.deepEqual(new Set(named("process_name").map(({ pid }) => pid)), processes);
  const open = new Map<string, number>();
  for (const event of events) {
    if (event.ph !== "b" && event.ph !== "e") continue;
    const key = `${event.cat} ${event.id}`;
    if (event.ph === "b") {
      assert.ok(!open.has(key), `${key} begins twice`);
      open.set(key, event.ts);
    } else {
      assert.ok((open.get(key) ?? Number.POSITIVE_INFINITY) <= event.ts, `${key} ends before it begins`);
      open.delete(key);
    }
  }
  assert.deepEqual([...open.keys()], [], "slices that do not end");
}
