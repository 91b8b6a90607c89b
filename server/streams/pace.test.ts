import assert from "node:assert/strict";
import { test } from "node:test";
import { Pace } from "./pace.ts";

test("so many pass in each second, more are refused, and far more stop the reading until the second is over", () => {
  let nowMs = 0;
  const pace = new Pace(3, () => nowMs);
  const count = (times: number) => Array.from({ length: times }, () => pace.count());
  assert.deepEqual(count(4), ["take", "take", "take", "refuse"]);
  assert.deepEqual(count(26).at(-1), "refuse");
  assert.equal(pace.count(), "pause");
  nowMs = 400;
  assert.equal(pace.secondEndsInMs, 600);
  nowMs = 1000;
  assert.equal(pace.count(), "take");
});
