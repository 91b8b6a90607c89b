import assert from "node:assert/strict";
import { test } from "node:test";
import { UsageFault } from "../command.ts";
import { editCard, nameAfter } from "./draft-card.ts";

test("a name is made of what a name may hold", () => {
  assert.equal(nameAfter("/models/YOLOv8n (Yard).onnx"), "yolov8n-yard");
  assert.equal(nameAfter("--x--.onnx"), "x");
  assert.equal(nameAfter("模型.onnx"), "model");
});

test("a name from a long file name is cut to what a name may hold, and ends with no dash", () => {
  assert.equal(nameAfter(`${"n".repeat(80)}.onnx`), "n".repeat(64));
  assert.equal(nameAfter(`${"n".repeat(63)}-tail.onnx`), "n".repeat(63));
});

test("what cannot be set is told as a fault of the command line", () => {
  for (const edit of ["input.width.x=3", "about=*nothing"])
    assert.throws(() => editCard("input: { width: 3 }\n", [edit]), UsageFault, edit);
});

test("broken YAML is left for the reader of cards to tell of", () => {
  assert.equal(editCard("model: [mine\n", ["about=x"]), "model: [mine\n");
});
