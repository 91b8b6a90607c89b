import assert from "node:assert/strict";
import { test } from "node:test";
import { findWideView, narrowView } from "./fields-of-view.ts";

const near = (actual: number | undefined, expected: number, within = 0.05): void =>
  assert.ok(Math.abs((actual ?? Number.NaN) - expected) <= within, `${actual} is not ${expected}`);

test("a diagonal of 84 degrees is 71.5 degrees across, and 44.1 from top to bottom of 16:9", () => {
  // tan(42°) = 0.9004; 4/5 of it across: 2 atan(0.7203) = 71.5°; 9/16 of that: 2 atan(0.4052) = 44.1°.
  for (const payload of ["52-0-0", "53-0-0", "66-0-0", "67-0-0", "80-0-0"]) {
    near(findWideView(payload)?.hfov, 71.5);
    near(findWideView(payload)?.vfov, 44.1);
  }
  near(findWideView("81-0-0")?.hfov, 69.6);
});

test("of other cameras nothing is known", () => {
  for (const payload of ["39-0-7", "0-0-0", "toString", ""]) assert.equal(findWideView(payload), null);
});

test("half of a picture is more than half of its angle", () => {
  // tan(45°) = 1; half of it: 2 atan(0.5) = 53.13°.
  near(narrowView({ hfov: 90, vfov: 90 }, 0.5, 1).hfov, 53.13, 0.005);
  near(narrowView({ hfov: 90, vfov: 90 }, 0.5, 1).vfov, 90, 1e-9);
});
