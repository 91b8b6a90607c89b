import assert from "node:assert/strict";
import test from "node:test";
import { chooseInFlight, limitBlocked, limitInference, limitStart, MAX_IN_FLIGHT } from "./limits.ts";

test("limits an inference to ten times its usual duration, but at least half a second and at most the limit", () => {
  assert.equal(limitInference(5000, 40), 500);
  assert.equal(limitInference(5000, 200), 2000);
  assert.equal(limitInference(5000, 900), 5000);
  assert.equal(limitInference(400, 40), 400);
});

test("a thread that computes alone may be blocked for less long than one that waits for others", () => {
  assert.equal(limitBlocked(5000, 400, true), 300);
  assert.equal(limitBlocked(200, 40, true), 200);
  assert.equal(limitBlocked(5000, 400, false), 4000);
});

test("at pace fast holds only as many frames as keep the worker busy", () => {
  assert.equal(chooseInFlight(true, "auto", 3), MAX_IN_FLIGHT);
  assert.equal(chooseInFlight(false, "auto", 3), 4);
  assert.equal(chooseInFlight(false, 5, 3), 16);
  assert.equal(chooseInFlight(false, 1000, 3), MAX_IN_FLIGHT);
});

test("the start limit allows for two trials of a slow model", () => {
  assert.ok(limitStart(5000) > 2 * 5000);
  assert.equal(limitStart(60_000) - limitStart(10_000), 2 * 50_000);
});
