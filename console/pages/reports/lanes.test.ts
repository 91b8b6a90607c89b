import assert from "node:assert/strict";
import { test } from "node:test";
import fc from "fast-check";
import { layOut } from "./lanes.ts";

const span = (first_seen: number, seconds: number) => ({ first_seen, last_seen: first_seen + seconds });

test("reuses the lane of a track that has ended", () => {
  const bars = layOut([span(20, 10), span(0, 10), span(5, 20), span(12, 8)]);
  assert.deepEqual(
    bars.map(({ lane }) => lane),
    [0, 1, 0, 0],
  );
  assert.deepEqual(
    bars.map(({ left }) => left),
    [0, 5 / 30, 12 / 30, 20 / 30],
  );
});

test("bars of a lane do not overlap, and all are within the time line", () => {
  const spans = fc.array(
    fc.tuple(fc.integer({ min: 0, max: 300 }), fc.integer({ min: 0, max: 60 })).map(([from, by]) => span(from, by)),
    { minLength: 1, maxLength: 100 },
  );
  fc.assert(
    fc.property(spans, (tracks) => {
      const ends = new Map<number, number>();
      for (const { lane, left, width } of layOut(tracks)) {
        assert.ok(left >= 0 && left + width <= 1 + 1e-9, `${left} ${width}`);
        assert.ok((ends.get(lane) ?? 0) <= left + 1e-6);
        ends.set(lane, left + width);
      }
    }),
    { numRuns: 200 },
  );
});
