import assert from "node:assert/strict";
import test from "node:test";
import { fileURLToPath } from "node:url";
import { formatResults, judge } from "./detect/results.ts";
import { readWords } from "./detect.ts";

const CLIP = fileURLToPath(import.meta.url);

test("rounds and a clip are taken in this order, each may be missing", () => {
  assert.deepEqual(readWords([]), { rounds: 3 });
  assert.deepEqual(readWords(["5"]), { rounds: 5 });
  assert.deepEqual(readWords([CLIP]), { rounds: 3, clip: CLIP });
  assert.deepEqual(readWords(["5", CLIP]), { rounds: 5, clip: CLIP });
  assert.throws(() => readWords(["no-such-clip.mp4"]), /there is no clip no-such-clip\.mp4/);
  assert.throws(() => readWords(["1", CLIP, "more"]), /"more" is too much; expected bench detect \[ROUNDS\] \[CLIP\]/);
});

test("the median is held to the limit, from the side the limit is on", () => {
  const results = judge([
    { name: "ratio", values: [0.9, 0.96, 0.97], limit: { least: 0.95 } },
    { name: "short", values: [0.9, 0.94, 0.97], limit: { least: 0.95 } },
    { name: "time", values: [3, 1, 1.1], limit: { most: 1.2 } },
    { name: "long", values: [3, 1.3, 1.1], limit: { most: 1.2 } },
    { name: "nothing", values: [Number.NaN], limit: { most: 1 } },
  ]);
  assert.deepEqual(
    results.map(({ holds }) => holds),
    [true, false, true, false, false],
  );
});

test("the table says what, how much, the limit and whether it holds", () => {
  const results = judge([
    { name: "ratio", values: [0.9, 0.96, 0.97], limit: { least: 0.95 } },
    { name: "time, ms", values: [2], limit: { most: 1.2 } },
  ]);
  assert.deepEqual(formatResults(results), [
    "what      median  limit           of the rounds",
    "ratio     0.960   ≥ 0.95  ok      0.900 … 0.970",
    "time, ms  2.000   ≤ 1.2   MISSED",
  ]);
});
