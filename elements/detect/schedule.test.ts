import assert from "node:assert/strict";
import test from "node:test";
import fc from "fast-check";
import { type Every, LiveSchedule } from "./schedule.ts";

interface Played {
  readonly inferred: readonly number[];
  readonly passed: readonly number[];
  /** Each frame with the newest frame at the start of its inference. */
  readonly newest: readonly (readonly [number, number])[];
  readonly prepared: readonly number[];
  readonly skipped: number;
}

/** Frames every `intervalMs`, inferences of these durations in turn; the stream ends after `frames`. */
function play(every: Every, frames: number, intervalMs: number, inferenceMs: readonly number[]): Played {
  const schedule = new LiveSchedule<number>(every, inferenceMs[0] ?? 1);
  const inferred: number[] = [];
  const passed: number[] = [];
  const newest: [number, number][] = [];
  const prepared: number[] = [];
  let doneMs = Number.POSITIVE_INFINITY;
  let last = -1;
  const begin = (frame: number, nowMs: number) => {
    assert.equal(doneMs, Number.POSITIVE_INFINITY, "two inferences at once");
    doneMs = nowMs + (inferenceMs[inferred.length % inferenceMs.length] ?? 1);
    inferred.push(frame);
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
    if (arrival.action === "infer") begin(frame, nowMs);
    else if (arrival.action === "pass") passed.push(frame);
    else {
      if (arrival.replaces !== null) passed.push(arrival.replaces);
      if (arrival.prepare) prepared.push(frame);
    }
  }
  finishUntil(Number.MAX_VALUE);
  return { inferred, passed, newest, prepared, skipped: schedule.skipped };
}

test("a fast model infers every frame", () => {
  assert.deepEqual(play("auto", 5, 40, [39]).inferred, [0, 1, 2, 3, 4]);
});

test("a slow model infers the newest frame whenever it becomes free", () => {
  assert.deepEqual(play("auto", 12, 40, [105]).inferred, [0, 2, 5, 7, 10, 11]);
});

test("every frame is inferred or passes, once, and the first never waits", () => {
  fc.assert(
    fc.property(
      fc.oneof(fc.constant("auto" as const), fc.integer({ min: 1, max: 7 })),
      fc.integer({ min: 1, max: 60 }),
      fc.integer({ min: 1, max: 60 }),
      fc.array(fc.integer({ min: 1, max: 500 }), { minLength: 1, maxLength: 5 }),
      (every, frames, intervalMs, inferenceMs) => {
        const { inferred, passed, newest } = play(every, frames, intervalMs, inferenceMs);
        const all = [...inferred, ...passed].sort((a, b) => a - b);
        assert.deepEqual(all, [...Array(frames).keys()]);
        assert.equal(inferred[0], 0);
        for (const [frame, last] of newest) assert.equal(frame, last);
      },
    ),
  );
});

test("every Nth frame is inferred; one that is due while the model is busy passes and is counted", () => {
  const keepsUp = play(3, 10, 40, [100]);
  assert.deepEqual([keepsUp.inferred, keepsUp.skipped], [[0, 3, 6, 9], 0]);
  const tooSlow = play(3, 10, 40, [130]);
  assert.deepEqual([tooSlow.inferred, tooSlow.skipped], [[0, 6], 2]);
});

test("prepares only the frame that is inferred next", () => {
  const { inferred, prepared } = play("auto", 40, 40, [400]);
  assert.deepEqual(prepared, inferred.slice(1));
});

test("a withdrawn candidate is not inferred", () => {
  const schedule = new LiveSchedule<string>("auto", 10);
  schedule.arrive("a", 0);
  schedule.arrive("b", 1);
  assert.equal(schedule.withdraw(), "b");
  assert.equal(schedule.finish(10), null);
  assert.deepEqual(schedule.arrive("c", 11), { action: "infer" });
});
