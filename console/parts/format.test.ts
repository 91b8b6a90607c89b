import assert from "node:assert/strict";
import { test } from "node:test";
import { formatBytes, formatSpan, toSentence } from "./format.ts";

test("spans and sizes read as people say them", () => {
  assert.deepEqual([0, 59.6, 61, 3723].map(formatSpan), ["0:00", "1:00", "1:01", "1:02:03"]);
  assert.deepEqual([0, 999, 1000, 12_345, 524_288_000, 10_737_418_240].map(formatBytes), [
    "0 B",
    "999 B",
    "1.0 kB",
    "12.3 kB",
    "524 MB",
    "10.7 GB",
  ]);
});

test("what went wrong is said in a sentence", () => {
  assert.deepEqual(["no answer", "It ended.", "is it paused?"].map(toSentence), [
    "No answer.",
    "It ended.",
    "Is it paused?",
  ]);
});
