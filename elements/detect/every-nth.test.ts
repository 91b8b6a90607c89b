import assert from "node:assert/strict";
import test from "node:test";
import fc from "fast-check";
import { EveryNth } from "./every-nth.ts";

const FRAME_NS = 33_366_667n;
const frame = (number: number, jitterNs = 0n) => ({
  ptsNs: BigInt(number) * FRAME_NS + jitterNs,
  durationNs: FRAME_NS,
});

const listDue = (every: number, numbers: readonly number[]): readonly number[] => {
  const nth = new EveryNth(every);
  return numbers.filter((number) => nth.isDue(frame(number)));
};

test("without missing frames, every Nth frame is due", () => {
  assert.deepEqual(listDue(3, [0, 1, 2, 3, 4, 5, 6, 7]), [0, 3, 6]);
  assert.deepEqual(listDue(1, [0, 1, 2]), [0, 1, 2]);
});

test("for a missing frame the next one is due, at the same rate", () => {
  assert.deepEqual(listDue(5, [0, 3, 6, 9, 12, 15, 18, 21, 24, 27, 30]), [0, 6, 12, 15, 21, 27, 30]);
  assert.deepEqual(listDue(60, [0, 50, 100, 150, 200, 250, 300]), [0, 100, 150, 200, 250, 300]);
});

test("all frames that are left are due where fewer are left than needed", () => {
  assert.deepEqual(listDue(5, [0, 25, 50, 75]), [0, 25, 50, 75]);
});

test("rounding of timestamps does not matter", () => {
  fc.assert(
    fc.property(
      fc.integer({ min: 1, max: 9 }),
      fc.array(fc.bigInt({ min: -8_000_000n, max: 8_000_000n })),
      (every, jitter) => {
        const nth = new EveryNth(every);
        for (const [number, ns] of jitter.entries()) assert.equal(nth.isDue(frame(number, ns)), number % every === 0);
      },
    ),
  );
});

test("frames without times are counted", () => {
  const nth = new EveryNth(2);
  const due = [0, 1, 2, 3].map(() => nth.isDue({ ptsNs: null, durationNs: null }));
  assert.deepEqual(due, [true, false, true, false]);
});

test("times that go back do not stop it", () => {
  assert.deepEqual(listDue(2, [10, 11, 0, 1, 2]), [10, 0, 2]);
});
