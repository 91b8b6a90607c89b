import assert from "node:assert/strict";
import { test } from "node:test";
import { readFloors } from "../floors.ts";
import type { Setting } from "./knobs.ts";
import { formatTuning, type Tried, type Tuning, toJson } from "./report.ts";

const tried = (setting: Setting, fps: number, ap: number): Tried => ({
  ...{ setting, fps, quality: ap, measures: { fps, ap } },
});
const reference = { model: "quality", threads: 1 };

const tuningWith = (floor?: string): Tuning => ({
  graph: "detect",
  clip: "clip.mp4",
  params: { classes: "person" },
  knobs: [
    { name: "model", node: "detect", param: "model", values: ["default", "quality"] },
    { name: "threads", node: "detect", param: null, values: [1, 2] },
  ],
  floors: readFloors("floor", floor, ["fps", "ap"], ["fps"]),
  measure: "ap",
  reference,
  tried: [
    tried(reference, 8, 0.98),
    tried({ model: "default", threads: 1 }, 24, 0.7),
    tried({ model: "default", threads: 2 }, 20, 0.6),
    tried({ model: "quality", threads: 2 }, 12, 0.95),
  ],
  failed: [],
  end: "the time is over (--budget)",
});
const format = (floor?: string) => formatTuning(tuningWith(floor), (_, text) => text).split("\n");

test("the table has the front, the fastest first, and the command line with parameters", () => {
  assert.deepEqual(format("fps=5,ap=0.9"), [
    "setting                  frames/s      ap  above the floor",
    "model=default threads=1      24.0  70.0 %",
    "model=quality threads=2      12.0  95.0 %                ✓",
    "model=quality threads=1       8.0  98.0 %                ✓  use this, reference",
    "",
    "4 settings measured, 3 on the front; the time is over (--budget)",
    "use: windhover run detect clip.mp4 classes=person model=quality",
  ]);
});

test("a property without a parameter is set by a variant of the graph", () => {
  assert.deepEqual(format("fps=10").slice(-6), [
    "use a variant of the graph with classes=person model=quality:",
    "",
    "graph: tuned",
    "extends: detect",
    "set:",
    '  detect: {"threads":2}',
  ]);
});

test("without fps in the floor the fastest is recommended, and none if all are below it", () => {
  assert.equal(format("ap=0.7").at(-1), "use: windhover run detect clip.mp4 classes=person");
  assert.equal(format("ap=0.99").at(-1), "no setting is above the floor");
  assert.equal(format()[0], "setting                  frames/s      ap");
});

test("as JSON with all settings, in percent", () => {
  const { settings = [], use, floor } = toJson(tuningWith("fps=10")) as Record<string, never[]>;
  assert.deepEqual(floor, { fps: 10 });
  const expected = { setting: { model: "default", threads: 2 }, framesPerSecond: 20, ap: 60 };
  assert.deepEqual(settings[2], { ...expected, isOnFront: false, isAboveFloor: true });
  assert.deepEqual(use, {
    setting: { model: "quality", threads: 2 },
    params: { model: "quality" },
    set: { detect: { threads: 2 } },
  });
});
