import assert from "node:assert/strict";
import { test } from "node:test";
import { UsageFault } from "../command.ts";
import { DEFAULT_TOLERANCE, EXACT, readTolerance } from "./tolerance.ts";

test("what is not named stays at its default", () => {
  assert.deepEqual(readTolerance(undefined), DEFAULT_TOLERANCE);
  assert.deepEqual(readTolerance("iou=0.9, points=0"), { ...DEFAULT_TOLERANCE, iou: 0.9, points: 0 });
  assert.deepEqual(readTolerance("exact"), EXACT);
});

for (const [text, message] of [
  ["pixel=3", /did you mean "pixels"/],
  ["iou=2", /iou=2; expected a number from 0 to 1/],
  ["iou=", /expected a number/],
  ["", /expected exact, or some of/],
] as const)
  test(`--tolerance "${text}" is refused`, () =>
    assert.throws(
      () => readTolerance(text),
      (error) => error instanceof UsageFault && message.test(error.message),
    ));
