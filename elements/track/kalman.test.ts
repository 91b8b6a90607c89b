import assert from "node:assert/strict";
import { test } from "node:test";
import { Axis } from "./kalman.ts";

const near = (found: number, expected: number, tolerance: number): void =>
  assert.ok(Math.abs(found - expected) < tolerance, `${found} instead of ${expected}`);

test("learns a constant speed and continues with it", () => {
  const axis = new Axis(0, 1, 1000);
  for (let i = 1; i <= 20; i++) {
    axis.predict(0.1, 0, 0.01);
    axis.correct(i * 0.5, 0.01);
  }
  near(axis.speed, 5, 0.05);
  axis.predict(1, 0, 0.01);
  near(axis.position, 15, 0.1);
});

test("two half steps equal one whole step", () => {
  const start = new Axis(3, 2, 5);
  start.correct(4, 1);
  const [whole, halves] = [start.clone(), start.clone()];
  whole.predict(1, 0, 0);
  halves.predict(0.5, 0, 0);
  halves.predict(0.5, 0, 0);
  near(halves.position, whole.position, 1e-12);
  near(halves.positionVariance, whole.positionVariance, 1e-12);
});

test("the variance grows without sightings and shrinks with each one", () => {
  const axis = new Axis(0, 1, 1);
  axis.predict(1, 0.1, 0.1);
  const alone = axis.positionVariance;
  assert.ok(alone > 1);
  axis.correct(0, 1);
  assert.ok(axis.positionVariance < alone && axis.positionVariance < 1);
});
