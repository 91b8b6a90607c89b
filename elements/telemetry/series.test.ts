import assert from "node:assert/strict";
import { test } from "node:test";
import fc from "fast-check";
import { Series } from "./series.ts";

test("in whatever order values come, they are found as if they had come in order, and the later of two at one time", () => {
  const entry = fc.tuple(fc.integer({ min: 0, max: 50 }), fc.nat());
  fc.assert(
    fc.property(fc.array(entry, { maxLength: 60 }), fc.integer({ min: -1, max: 51 }), (entries, timeMs) => {
      const series = new Series<number>(1000);
      for (const [at, value] of entries) series.put(at, value);
      const latest = [...new Map(entries)].sort((a, b) => a[0] - b[0]);
      const before = latest.findLast(([at]) => at <= timeMs);
      const after = latest.find(([at]) => at > timeMs);
      assert.equal(series.size, latest.length);
      assert.deepEqual(series.find(timeMs), {
        before: before === undefined ? null : { timeMs: before[0], value: before[1] },
        after: after === undefined ? null : { timeMs: after[0], value: after[1] },
      });
    }),
  );
});

test("there are never more than may be: the oldest goes", () => {
  const series = new Series<string>(3);
  for (const at of [1, 2, 3, 4]) series.put(at, `${at}`);
  assert.equal(series.size, 3);
  assert.equal(series.first?.timeMs, 2);
  series.cut(4);
  assert.equal(series.first?.timeMs, 4);
  series.cut(9);
  assert.equal(series.size, 0);
});

test("what is at a time is at or after it, by Unix milliseconds too", () => {
  const start = 1_760_000_000_000;
  const series = new Series<string>(9);
  for (const at of [1, 2, 3]) series.put(start + at, `${at}`);
  assert.equal(series.findAfter(start + 2)?.value, "2");
  assert.equal(series.findAfter(start + 2.5)?.value, "3");
  series.cut(start + 2);
  assert.equal(series.first?.value, "2");
});
