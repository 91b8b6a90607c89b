import assert from "node:assert/strict";
import { test } from "node:test";
import { formatBytes, formatCount, formatDuration, formatUptime, toSentence } from "./format.ts";

test("formats durations, sizes and counts", () => {
  assert.deepEqual([0, 59.6, 61, 3723].map(formatDuration), ["0:00", "1:00", "1:01", "1:02:03"]);
  assert.deepEqual([0, 999, 1000, 12_345, 524_288_000, 10_737_418_240].map(formatBytes), [
    "0 B",
    "999 B",
    "1.0 kB",
    "12.3 kB",
    "524 MB",
    "10.7 GB",
  ]);
  assert.deepEqual([-5, 0, 59_999, 725_000, 3_600_000, 273_600_000].map(formatUptime), [
    ...["0 s", "0 s", "59 s", "12 min 5 s", "1 h 0 min", "3 d 4 h"],
  ]);
  assert.deepEqual([formatCount(1, "track"), formatCount(2, "track")], ["1 track", "2 tracks"]);
});

test("turns an error detail into a sentence", () => {
  assert.deepEqual(["no response", "It ended.", "is it paused?"].map(toSentence), [
    "No response.",
    "It ended.",
    "Is it paused?",
  ]);
});
