import assert from "node:assert/strict";
import { describe, test } from "node:test";
import fc from "fast-check";
import type { Box } from "../schemas/detections.ts";
import { choosePatch, isClearlyBetter, ratePatch } from "./patch.ts";

const size = { width: 1920, height: 1080 };
const rate = (box: Box, confidence = 0.8): number => ratePatch({ box, confidence }, size);

describe("the patch of an object", () => {
  test("is its box with a margin of a tenth of its sides", () => {
    const { x, y, width, height } = choosePatch([0.5, 0.25, 0.1, 0.2]) ?? assert.fail("no patch");
    for (const [found, expected] of [
      [x, 0.49],
      [y, 0.23],
      [width, 0.12],
      [height, 0.24],
    ] as const)
      assert.ok(Math.abs(found - expected) < 1e-9, `${found} is not ${expected}`);
  });

  test("lies within the frame and covers the visible part of the box", () => {
    const side = fc.double({ min: -2, max: 2, noNaN: true });
    const extent = fc.double({ min: 1e-6, max: 3, noNaN: true });
    fc.assert(
      fc.property(side, side, extent, extent, (left, top, width, height) => {
        const patch = choosePatch([left, top, width, height]);
        if (patch === null) return assert.ok(left >= 1 || top >= 1 || left + width <= 0 || top + height <= 0);
        assert.ok(patch.x >= 0 && patch.y >= 0 && patch.width > 0 && patch.height > 0);
        assert.ok(patch.x + patch.width <= 1 + 1e-9 && patch.y + patch.height <= 1 + 1e-9);
        assert.ok(patch.x <= Math.max(0, left) + 1e-9);
        assert.ok(patch.x + patch.width >= Math.min(1, left + width) - 1e-9);
      }),
    );
  });

  test("is null for boxes that are empty or outside of the frame", () => {
    for (const box of [
      [1, 0, 0.1, 0.1],
      [0, 0, 0, 0.1],
      [Number.NaN, 0, 0.1, 0.1],
      [0, 0, 0.1, Number.NaN],
      [-0.2, 0, 0.1, 0.1],
    ] as Box[]) {
      assert.equal(choosePatch(box), null);
      assert.equal(rate(box), 0);
    }
  });
});

describe("the score of a patch", () => {
  test("grows with confidence and size, and is lower at the edge of the frame", () => {
    const middle: Box = [0.4, 0.4, 0.1, 0.1];
    assert.ok(rate(middle, 0.9) > rate(middle, 0.5));
    assert.ok(rate([0.4, 0.4, 0.15, 0.15]) > rate(middle));
    for (const atEdge of [
      [0, 0.4, 0.1, 0.1],
      [0.9, 0.4, 0.1, 0.1],
      [0.4, 0, 0.1, 0.1],
      [0.4, 0.9, 0.1, 0.1],
    ] as Box[])
      assert.ok(rate(atEdge) < rate(middle));
  });

  test("does not grow with more pixels than are kept", () => {
    assert.equal(rate([0.1, 0.1, 0.5, 0.6]), rate([0.1, 0.1, 0.7, 0.8]));
  });

  test("replaces another when it is better by more than a quarter", () => {
    assert.ok(isClearlyBetter(0.51, 0.4));
    assert.ok(!isClearlyBetter(0.5, 0.4));
    assert.ok(isClearlyBetter(0.01, 0));
    assert.ok(!isClearlyBetter(0, 0));
  });
});
