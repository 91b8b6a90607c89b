import assert from "node:assert/strict";
import { test } from "node:test";
import fc from "fast-check";
import { readFloors } from "../floors.ts";
import { type Knob, keyOf, type Setting } from "./knobs.ts";
import { chooseNext, findFront, isBetter, listSingleChanges, type Measured } from "./search.ts";

const knobs: readonly Knob[] = [
  { name: "model", node: "detect", param: "model", values: ["default", "quality"] },
  { name: "every", node: "detect", param: "every", values: ["auto", 2, 5] },
  { name: "threads", node: "detect", param: null, values: [1, 2] },
];
const floorsOf = (text?: string) => readFloors("floor", text, ["fps", "ap"], ["fps"]);

/** A machine on which changes are independent of each other. */
function measure(setting: Setting): Measured {
  const every = typeof setting.every === "number" ? setting.every : 1;
  const fps = (setting.model === "quality" ? 8 : 24) * every * (setting.threads === 2 ? 1.5 : 1);
  const quality = (setting.model === "quality" ? 1 : 0.7) * (1 - 0.05 * (every - 1));
  return { setting, fps, quality };
}

function search(floors: ReturnType<typeof floorsOf>, runs: number): readonly Measured[] {
  const measured = listSingleChanges(knobs).map(measure);
  const tried = new Set(measured.map(({ setting }) => keyOf(setting)));
  while (tried.size < runs) {
    const next = chooseNext(knobs, measured, tried, floors, "ap");
    if (next === null) break;
    assert.ok(!tried.has(keyOf(next)));
    tried.add(keyOf(next));
    measured.push(measure(next));
  }
  return measured;
}

test("starts with the graph itself and every single change", () => {
  assert.deepEqual(listSingleChanges(knobs), [
    { model: "default", every: "auto", threads: 1 },
    { model: "quality", every: "auto", threads: 1 },
    { model: "default", every: 2, threads: 1 },
    { model: "default", every: 5, threads: 1 },
    { model: "default", every: "auto", threads: 2 },
  ]);
});

test("the next one is expected to be above the floor, with the best quality if it has fps", () => {
  const measured = listSingleChanges(knobs).map(measure);
  const tried = new Set(measured.map(({ setting }) => keyOf(setting)));
  const next = (floor: string) => chooseNext(knobs, measured, tried, floorsOf(floor), "ap");
  assert.deepEqual(next("fps=10"), { model: "quality", every: "auto", threads: 2 });
  assert.deepEqual(next("fps=20,ap=0.9"), { model: "quality", every: 2, threads: 2 });
  assert.deepEqual(next("ap=0.75"), { model: "quality", every: 5, threads: 2 });
});

test("finds the whole front without measuring every combination", () => {
  const all = ["default", "quality"].flatMap((model) =>
    ["auto", 2, 5].flatMap((every) => [1, 2].map((threads) => measure({ model, every, threads }))),
  );
  const found = search(floorsOf(), 100);
  const keys = (points: readonly Measured[]) => findFront(points).map(({ setting }) => keyOf(setting));
  assert.deepEqual(keys(found), keys(all));
  assert.ok(found.length < all.length, `${found.length} of ${all.length}`);
});

test("a change that failed is not combined with others", () => {
  const measured = listSingleChanges(knobs)
    .map(measure)
    .filter(({ setting }) => setting.model !== "quality");
  const failed = { model: "quality", every: "auto", threads: 1 };
  const tried = new Set([...measured.map(({ setting }) => keyOf(setting)), keyOf(failed)]);
  for (;;) {
    const next = chooseNext(knobs, measured, tried, floorsOf(), "ap");
    if (next === null) break;
    assert.equal(next.model, "default");
    tried.add(keyOf(next));
  }
});

test("no point is better than one of the front, and one of it is as good as any", () => {
  const point = fc.record({ fps: fc.nat(20), quality: fc.nat(10).map((tenths) => tenths / 10) });
  fc.assert(
    fc.property(fc.array(point, { minLength: 1 }), (points) => {
      const front = findFront(points);
      for (const one of front) assert.ok(!points.some((other) => isBetter(other, one)));
      for (const one of points) assert.ok(front.some(({ fps, quality }) => fps >= one.fps && quality >= one.quality));
    }),
  );
});
