import assert from "node:assert/strict";
import { test } from "node:test";
import { evaluatorOf, sceneAt, seenAt } from "../../../elements/alerts/scene.fixture.ts";
import { findRegionError, forwardArrow, type Point, pointsOf, regionOf } from "./region.ts";

const ZONE: readonly Point[] = [
  [0.1, 0.1],
  [0.9, 0.1],
  [0.5, 0.9],
];

test("a zone needs no points or at least three, a line two different ones", () => {
  assert.equal(findRegionError([], false), null);
  assert.match(findRegionError(ZONE.slice(0, 1), false) ?? "", /one point and needs at least three/);
  assert.match(findRegionError(ZONE.slice(0, 2), false) ?? "", /two points and needs at least three/);
  assert.equal(findRegionError(ZONE, false), null);
  assert.match(findRegionError(ZONE.slice(0, 1), true) ?? "", /needs two points/);
  assert.match(findRegionError([ZONE[0] ?? [0, 0], ZONE[0] ?? [0, 0]], true) ?? "", /same position/);
  assert.equal(findRegionError(ZONE.slice(0, 2), true), null);
});

test("reads back the region it wrote, and does not draw a geographic one on the frame", () => {
  assert.deepEqual(pointsOf(regionOf(ZONE, false)), ZONE);
  assert.deepEqual(pointsOf(regionOf(ZONE.slice(0, 2), true)), ZONE.slice(0, 2));
  assert.deepEqual(regionOf([], false), { type: "image" });
  assert.equal(pointsOf({ type: "geo", polygon: ZONE }), null);
});

test("the arrow points in the direction that the service counts as forward", () => {
  for (const line of [
    [
      [0.5, 0.1],
      [0.5, 0.9],
    ],
    [
      [0.9, 0.5],
      [0.1, 0.5],
    ],
    [
      [0.2, 0.3],
      [0.7, 0.8],
    ],
  ] as const) {
    const [tail, tip] = forwardArrow(line) ?? [];
    assert.ok(tail !== undefined && tip !== undefined);
    const evaluator = evaluatorOf("flow-control", { region: { line } });
    const steps = [0, 1, 2, 3, 4, 5, 6].map(
      (i): Point => [tail[0] + ((tip[0] - tail[0]) * i) / 6, tail[1] + ((tip[1] - tail[1]) * i) / 6],
    );
    const events = steps.flatMap(([x, y], i) => evaluator.see(sceneAt(i * 100, [seenAt(1, x, y)])));
    assert.deepEqual(
      [events.at(-1)?.data.forward_total, events.at(-1)?.data.backward_total],
      [1, 0],
      JSON.stringify({ line, steps }),
    );
  }
  assert.equal(
    forwardArrow([
      [0.5, 0.5],
      [0.5, 0.5],
    ]),
    null,
  );
});
