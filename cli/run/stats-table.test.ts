import assert from "node:assert/strict";
import { test } from "node:test";
import type { StepStats } from "../../graphs/runtime/stats.ts";
import { formatStats } from "./stats-table.ts";

const step = (part: Partial<StepStats>): StepStats => ({
  segment: "main",
  step: "stage",
  element: "stage",
  kind: "native",
  frames: 10,
  fps: 25,
  meanMs: 1.234,
  p95Ms: 12.5,
  queued: 3,
  capacity: 8,
  dropped: 0,
  ...part,
});
const plain = (_: unknown, text: string): string => text;

test("numbers stand below each other, branches below their names", () =>
  assert.deepEqual(
    formatStats(
      [step({}), step({ segment: "lines", step: "show", element: "print", queued: null, meanMs: 0, p95Ms: 0 })],
      plain,
    ),
    [
      "step   element   fps  mean ms  p95 ms  queue  drops",
      "─ main",
      "stage           25.0     1.23   12.50    3/8      0",
      "─ lines",
      "show   print    25.0",
    ],
  ));

test("a narrow screen loses what tells least, and drops last", () => {
  assert.deepEqual(formatStats([step({ dropped: 7 })], plain, 30), [
    "step    fps  queue  drops",
    "stage  25.0    3/8      7",
  ]);
});
