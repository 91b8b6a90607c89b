import assert from "node:assert/strict";
import { test } from "node:test";
import fc from "fast-check";
import { type Moments, Schedule } from "./handler.ts";

const pick = (moments: Moments, framesMs: readonly number[]): readonly number[] => {
  const schedule = new Schedule(moments);
  return framesMs.filter((ms) => schedule.isDue(BigInt(ms) * 1_000_000n));
};

const steps = (everyMs: number, count: number): readonly number[] =>
  Array.from({ length: count }, (_, i) => i * everyMs);

for (const [behaviour, moments, framesMs, expected] of [
  ["nothing asked, nothing kept", { at: [], every: null }, steps(40, 100), []],
  ["the first frame at or after a moment", { at: [0.1], every: null }, steps(40, 10), [120]],
  ["a moment that a frame hits exactly", { at: [0.12], every: null }, steps(40, 10), [120]],
  ["moments in any order", { at: [0.3, 0.1], every: null }, steps(40, 10), [120, 320]],
  ["one frame for moments that fall together", { at: [0.1, 0.101, 0.11], every: null }, steps(40, 10), [120]],
  ["every so often from the first frame on", { at: [], every: 0.1 }, steps(40, 8), [0, 120, 200]],
  [
    "one frame after a gap, not one for each moment missed",
    { at: [], every: 0.1 },
    [0, 40, 1000, 1040, 1100],
    [0, 1000, 1100],
  ],
  ["a frame that comes twice is kept once", { at: [0], every: null }, [0, 0, 0], [0]],
] as const satisfies readonly (readonly [string, Moments, readonly number[], readonly number[]])[]) {
  test(behaviour, () => assert.deepEqual(pick(moments, framesMs), expected));
}

test("new moments apply from the current position on", () => {
  const schedule = new Schedule({ at: [], every: null });
  schedule.isDue(5_000_000_000n);
  schedule.change({ at: [1, 6], every: null });
  assert.equal(schedule.isDue(5_100_000_000n), false);
  assert.equal(schedule.isDue(6_000_000_000n), true);
});

test("every moment up to the last frame is due exactly once when frames are dense", () => {
  fc.assert(
    fc.property(fc.uniqueArray(fc.integer({ min: 0, max: 100 }), { maxLength: 20 }), (moments) => {
      const kept = pick({ at: moments.map((ms) => ms / 10), every: null }, steps(100, 101));
      assert.deepEqual(
        kept,
        moments.map((ms) => ms * 100).sort((a, b) => a - b),
      );
    }),
  );
});
