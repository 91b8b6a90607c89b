import assert from "node:assert/strict";
import test from "node:test";
import { chooseInFlight, limitInference, limitStart, MAX_IN_FLIGHT } from "./limits.ts";

test("an inference may take ten times as long as usual, within a second and the limit", () => {
  assert.equal(limitInference(5000, 40), 1000);
  assert.equal(limitInference(5000, 200), 2000);
  assert.equal(limitInference(5000, 900), 5000);
  assert.equal(limitInference(500, 40), 500);
});

test("at pace fast only as many frames are held as keep the worker busy", () => {
  assert.equal(chooseInFlight(true, "auto", 3), MAX_IN_FLIGHT);
  assert.equal(chooseInFlight(false, "auto", 3), 4);
  assert.equal(chooseInFlight(false, 5, 3), 16);
  assert.equal(chooseInFlight(false, 1000, 3), MAX_IN_FLIGHT);
});

test("a model whose inferences may be long has the time to be tried twice", () => {
  assert.ok(limitStart(5000) > 2 * 5000);
  assert.equal(limitStart(60_000) - limitStart(10_000), 2 * 50_000);
});
