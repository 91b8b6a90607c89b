import assert from "node:assert/strict";
import test from "node:test";
import { fileURLToPath } from "node:url";
import { comparePeers, formatResults, judge, readWords } from "./detect.ts";

const CLIP = fileURLToPath(import.meta.url);

test("reads optional rounds and an optional clip, in this order", () => {
  assert.deepEqual(readWords([]), { rounds: 3 });
  assert.deepEqual(readWords(["5"]), { rounds: 5 });
  assert.deepEqual(readWords([CLIP]), { rounds: 3, clip: CLIP });
  assert.deepEqual(readWords(["5", CLIP]), { rounds: 5, clip: CLIP });
  assert.throws(() => readWords(["no-such-clip.mp4"]), /there is no clip no-such-clip\.mp4/);
  assert.throws(
    () => readWords(["1", CLIP, "more"]),
    /unexpected argument "more"; expected bench detect \[ROUNDS\] \[CLIP\]/,
  );
});

test("compares the median with its lower or upper limit", () => {
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

test("formats measurement, value, limit and result", () => {
  const results = judge([
    { name: "ratio", values: [0.9, 0.96, 0.97], limit: { least: 0.95 } },
    { name: "time, ms", values: [2], limit: { most: 1.2 } },
  ]);
  assert.deepEqual(formatResults(results), [
    "measurement  median  limit           range",
    "ratio        0.960   ≥ 0.95  ok      0.900 … 0.970",
    "time, ms     2.000   ≤ 1.2   MISSED",
  ]);
});

test("a kernel is held to half of the time of each peer, round by round", () => {
  const round = (ours: number, videoconvertscale: number, OpenCV: number) => [
    { name: "letterbox, 720p I420 to 320", ms: { ours, videoconvertscale, OpenCV } },
    { name: "overlay of 20 boxes, 720p I420", ms: { ours: 1, OpenCV: 1.9 } },
  ];
  // The second round was run on a machine that was half as fast meanwhile.
  const results = judge(comparePeers([round(0.2, 0.5, 1), round(0.4, 1, 2), round(0.3, 0.4, 1)]));
  assert.deepEqual(
    results.map(({ name, value, holds }) => [name, Number(value.toFixed(3)), holds]),
    [
      ["letterbox, 720p I420 to 320 (0.30 ms) ÷ videoconvertscale", 0.4, true],
      ["letterbox, 720p I420 to 320 (0.30 ms) ÷ OpenCV", 0.2, true],
      ["overlay of 20 boxes, 720p I420 (1.00 ms) ÷ OpenCV", 0.526, false],
    ],
  );
});

test("without OpenCV only GStreamer is compared with, and a motion that was not found holds nothing", () => {
  assert.deepEqual(comparePeers([[{ name: "overlay", ms: { ours: 1 } }]]), []);
  const [motion] = judge(comparePeers([[{ name: "camera motion, 720p", ms: { ours: Number.NaN, OpenCV: 1 } }]]));
  assert.equal(motion?.holds, false);
});
