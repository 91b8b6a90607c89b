import assert from "node:assert/strict";
import { test } from "node:test";
import { evaluatorOf, sceneAt, seenAt } from "../../../elements/alerts/scene.fixture.ts";
import { forwardArrow, judgeRegion, type Point, pointsOf, regionOf } from "./region.ts";

const ZONE: readonly Point[] = [
  [0.1, 0.1],
  [0.9, 0.1],
  [0.5, 0.9],
];

test("a zone needs three points or none, a line two different ones; words say so", () => {
  assert.equal(judgeRegion([], false), null);
  assert.match(judgeRegion(ZONE.slice(0, 1), false) ?? "", /one point and needs at least three/);
  assert.match(judgeRegion(ZONE.slice(0, 2), false) ?? "", /two points and needs at least three/);
  assert.equal(judgeRegion(ZONE, false), null);
  assert.match(judgeRegion(ZONE.slice(0, 1), true) ?? "", /needs two points/);
  assert.match(judgeRegion([ZONE[0] ?? [0, 0], ZONE[0] ?? [0, 0]], true) ?? "", /one place/);
  assert.equal(judgeRegion(ZONE.slice(0, 2), true), null);
});

test("a region comes back as it was, and one on the map is not drawn on the picture", () => {
  assert.deepEqual(pointsOf(regionOf(ZONE, false)), ZONE);
  assert.deepEqual(pointsOf(regionOf(ZONE.slice(0, 2), true)), ZONE.slice(0, 2));
  assert.deepEqual(regionOf([], false), { type: "image" });
  assert.equal(pointsOf({ type: "geo", polygon: ZONE }), null);
});

test("the arrow points to where tracks go that the service counts as forward", () => {
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
    const verdicts = steps.flatMap(([x, y], i) => evaluator.see(sceneAt(i * 100, [seenAt(1, x, y)])));
    assert.deepEqual(
      [verdicts.at(-1)?.data.forward_total, verdicts.at(-1)?.data.backward_total],
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
