import assert from "node:assert/strict";
import { test } from "node:test";
import fc from "fast-check";
import { backOff, planRestart } from "./restart.ts";

const RULE = { restarts: 5, windowMs: 300_000, firstMs: 500, maxMs: 30_000 };

test("waits twice as long after each crash, up to the most", () => {
  const waits = [1, 2, 3, 4, 7, 40].map((attempt) => backOff(attempt, RULE, 1));
  assert.deepEqual(waits, [500, 1000, 2000, 4000, 30_000, 30_000]);
});

test("allows five restarts within the window, and not a sixth", () => {
  const crashes = [0, 10, 20, 30, 40, 50];
  assert.equal(planRestart(crashes.slice(0, 5), RULE, 1), 8000);
  assert.equal(planRestart(crashes, RULE, 1), null);
});

test("forgets crashes that are older than the window", () => {
  const crashes = [0, 10, 20, 30, 40, 300_050];
  assert.equal(planRestart(crashes, RULE, 1), 500);
});

test("never restarts when no restart is allowed", () => {
  assert.equal(planRestart([5], { ...RULE, restarts: 0 }, 0.5), null);
});

test("keeps every wait between half of the first and the most", () => {
  fc.assert(
    fc.property(fc.integer({ min: 1, max: 5000 }), fc.double({ min: 0, max: 1, noNaN: true }), (attempt, random) => {
      const waitMs = backOff(attempt, RULE, random);
      assert.ok(waitMs >= RULE.firstMs / 2 && waitMs <= RULE.maxMs);
    }),
  );
});
