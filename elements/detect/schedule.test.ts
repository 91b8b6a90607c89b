import assert from "node:assert/strict";
import test from "node:test";
import fc from "fast-check";
import { type Every, LiveSchedule } from "./schedule.ts";

interface Played {
  readonly looked: readonly number[];
  readonly passed: readonly number[];
  /** Frame and the newest that had come when it was begun. */
  readonly newest: readonly (readonly [number, number])[];
  readonly prepared: readonly number[];
  readonly skipped: number;
}

/** Frames every `intervalMs`, looks of these lengths in turn; the stream ends after `frames`. */
function play(every: Every, frames: number, intervalMs: number, lookMs: readonly number[]): Played {
  const schedule = new LiveSchedule<number>(every, lookMs[0] ?? 1);
  const looked: number[] = [];
  const passed: number[] = [];
  const newest: [number, number][] = [];
  const prepared: number[] = [];
  let doneMs = Number.POSITIVE_INFINITY;
  let last = -1;
  const begin = (frame: number, nowMs: number) => {
    assert.equal(doneMs, Number.POSITIVE_INFINITY, "two looks at once");
    doneMs = nowMs + (lookMs[looked.length % lookMs.length] ?? 1);
    looked.push(frame);
    newest.push([frame, last]);
  };
  const finishUntil = (untilMs: number) => {
    while (doneMs <= untilMs) {
      const nowMs = doneMs;
      doneMs = Number.POSITIVE_INFINITY;
      const next = schedule.finish(nowMs);
      if (next !== null) begin(next, nowMs);
    }
  };
  for (let frame = 0; frame < frames; frame++) {
    const nowMs = frame * intervalMs;
    finishUntil(nowMs);
    last = frame;
    const arrival = schedule.arrive(frame, nowMs);
    if (arrival.verdict === "look") begin(frame, nowMs);
    else if (arrival.verdict === "pass") passed.push(frame);
    else {
      if (arrival.replaces !== null) passed.push(arrival.replaces);
      if (arrival.prepare) prepared.push(frame);
    }
  }
  finishUntil(Number.MAX_VALUE);
  return { looked, passed, newest, prepared, skipped: schedule.skipped };
}

test("a model that keeps up sees every frame", () => {
  assert.deepEqual(play("auto", 5, 40, [39]).looked, [0, 1, 2, 3, 4]);
});

test("a slow model sees the newest frame there is whenever it gets free", () => {
  assert.deepEqual(play("auto", 12, 40, [105]).looked, [0, 2, 5, 7, 10, 11]);
});

test("every frame is looked at or passes, once, and the first never waits", () => {
  fc.assert(
    fc.property(
      fc.oneof(fc.constant("auto" as const), fc.integer({ min: 1, max: 7 })),
      fc.integer({ min: 1, max: 60 }),
      fc.integer({ min: 1, max: 60 }),
      fc.array(fc.integer({ min: 1, max: 500 }), { minLength: 1, maxLength: 5 }),
      (every, frames, intervalMs, lookMs) => {
        const { looked, passed, newest } = play(every, frames, intervalMs, lookMs);
        const all = [...looked, ...passed].sort((a, b) => a - b);
        assert.deepEqual(all, [...Array(frames).keys()]);
        assert.equal(looked[0], 0);
        for (const [frame, last] of newest) assert.equal(frame, last);
      },
    ),
  );
});

test("every Nth goes by count; one whose turn comes while the model is busy passes and is counted", () => {
  const keepsUp = play(3, 10, 40, [100]);
  assert.deepEqual([keepsUp.looked, keepsUp.skipped], [[0, 3, 6, 9], 0]);
  const tooSlow = play(3, 10, 40, [130]);
  assert.deepEqual([tooSlow.looked, tooSlow.skipped], [[0, 6], 2]);
});

test("only the frame that is likely to be next is prepared, and it is", () => {
  const { looked, prepared } = play("auto", 40, 40, [400]);
  assert.deepEqual(prepared, looked.slice(1));
});

test("a candidate that is withdrawn is not looked at", () => {
  const schedule = new LiveSchedule<string>("auto", 10);
  schedule.arrive("a", 0);
  schedule.arrive("b", 1);
  assert.equal(schedule.withdraw(), "b");
  assert.equal(schedule.finish(10), null);
  assert.deepEqual(schedule.arrive("c", 11), { verdict: "look" });
});
