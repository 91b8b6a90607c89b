import assert from "node:assert/strict";
import test from "node:test";
import { testModel } from "./detect.fixture.ts";
import { readWanted } from "./wanted.ts";

const model = testModel("unused.onnx", { labels: ["person", "bicycle", "traffic light"] });
const OF_CARD = { confidence: null, weak: null, overlap: null, classes: [] };

test("null takes what the card says, numbers go before it", () => {
  assert.deepEqual(readWanted(OF_CARD, model), {
    confidence: 0.4,
    weak: 0.1,
    overlap: 0.5,
    minimum: 0.1,
    classIds: null,
  });
  const { confidence, minimum, overlap } = readWanted({ ...OF_CARD, confidence: 0, overlap: 0 }, model);
  assert.deepEqual([confidence, minimum, overlap], [0, 0, 0]);
});

test("classes are found by name", () => {
  assert.deepEqual(readWanted({ ...OF_CARD, classes: ["traffic light", "person"] }, model).classIds, new Set([2, 0]));
});

test("a class that the model does not know is refused with the nearest name and all of them", () => {
  assert.throws(
    () => readWanted({ ...OF_CARD, classes: ["person", "bycicle"] }, model),
    /the model test knows no class "bycicle"; did you mean "bicycle"\?\n {2}it knows person, bicycle, traffic light/,
  );
});
