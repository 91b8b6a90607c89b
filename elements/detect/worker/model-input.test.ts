import assert from "node:assert/strict";
import test from "node:test";
import { testModel } from "../detect.fixture.ts";
import { findInputs, shapeOf } from "./model-input.ts";

const { card } = testModel("unused.onnx", {});
const tensor = (name: string, type: string, ...shape: readonly (number | string)[]) => ({ name, type, shape });

test("the shape follows the layout", () => {
  assert.deepEqual(shapeOf(card.input), [1, 32, 64, 3]);
  assert.deepEqual(shapeOf({ ...card.input, layout: "nchw" }), [1, 3, 32, 64]);
});

test("named dimensions accept any size", () => {
  const found = findInputs(card, [tensor("pixels", "uint8", "batch", 32, "width", 3)]);
  assert.deepEqual(found, { picture: "pixels", size: null });
});

test("finds an input for the image size", () => {
  const inputs = [tensor("orig_target_sizes", "int64", "N", 2), tensor("images", "uint8", 1, 32, 64, 3)];
  assert.deepEqual(findInputs(card, inputs), { picture: "images", size: "orig_target_sizes" });
});

test("rejects a model with other inputs, listing its inputs and those of the card", () => {
  for (const other of [
    tensor("images", "float32", 1, 32, 64, 3),
    tensor("images", "uint8", 1, 64, 32, 3),
    tensor("images", "uint8", 32, 64, 3),
  ])
    assert.throws(
      () => findInputs(card, [other]),
      (error: Error) =>
        error.message.includes(`images: ${other.type} [${other.shape.join(", ")}]`) &&
        error.message.includes("the card says uint8 [1, 32, 64, 3] (nhwc)"),
    );
});

test("rejects an unknown input by name", () => {
  const inputs = [tensor("images", "uint8", 1, 32, 64, 3), tensor("prompt", "float32", 1, 77)];
  assert.throws(() => findInputs(card, inputs), /unknown input prompt/);
});
