import assert from "node:assert/strict";
import { writeFileSync } from "node:fs";
import { join } from "node:path";
import { test } from "node:test";
import { parseCard } from "../../models/read-card.ts";
import { UsageFault } from "../command.ts";
import { makeFolder } from "../windhover.fixture.ts";
import { draftCard, editCard, nameAfter, readLabels } from "./draft-card.ts";

test("a name is made of what a name may hold", () => {
  assert.equal(nameAfter("/models/YOLOv8n (Yard).onnx"), "yolov8n-yard");
  assert.equal(nameAfter("--x--.onnx"), "x");
  assert.equal(nameAfter("模型.onnx"), "model");
});

test("a name from a long file name is cut to what a name may hold, and ends with no dash", () => {
  assert.equal(nameAfter(`${"n".repeat(80)}.onnx`), "n".repeat(64));
  assert.equal(nameAfter(`${"n".repeat(63)}-tail.onnx`), "n".repeat(63));
});

test("the longest file name there can be gives a card that is right", () => {
  const file = { path: `${"n".repeat(250)}.onnx`, sha256: "0".repeat(64), bytes: 1 };
  const tensors = {
    inputs: [{ name: "images", type: "float32", shape: [1, 3, 64, 64] }],
    outputs: [{ name: "output", type: "float32", shape: ["batch", 84, "anchors"] }],
  };
  const { model, decoder } = parseCard(draftCard(file, tensors, { labels: "coco" }), "card.yaml");
  assert.deepEqual([model.length, decoder.family], [64, "yolo"]);
});

test("reports a field that cannot be set as a usage error", () => {
  for (const edit of ["input.width.x=3", "about=*nothing"])
    assert.throws(() => editCard("input: { width: 3 }\n", [edit]), UsageFault, edit);
});

test("leaves invalid YAML to the card parser", () => {
  assert.equal(editCard("model: [mine\n", ["about=x"]), "model: [mine\n");
});

const folder = makeFolder();

test("labels are coco unless they are given", () => {
  assert.equal(readLabels(undefined), "coco");
  assert.equal(readLabels("coco"), "coco");
});

test("takes one word that is not a file as the only label", () => {
  assert.deepEqual(readLabels("forklift"), ["forklift"]);
  assert.deepEqual(readLabels("fork lift"), ["fork lift"]);
  assert.deepEqual(readLabels(" cat , dog,"), ["cat", "dog"]);
});

test("a file has a label on each line, whatever its name", () => {
  for (const name of ["labels.txt", "labels"]) {
    const file = join(folder, name);
    writeFileSync(file, "cat\r\n\ndog\n");
    assert.deepEqual(readLabels(file), ["cat", "dog"]);
  }
});

test("rejects a missing file", () => {
  for (const text of ["labels.txt", "./labels", join(folder, "none"), folder])
    assert.throws(
      () => readLabels(text),
      (error) => error instanceof UsageFault && /expected coco, a name, .* \((ENOENT|EISDIR)\)$/.test(error.message),
      text,
    );
});

test("rejects labels without a name", () => {
  const empty = join(folder, "empty.txt");
  writeFileSync(empty, "\n\n");
  for (const text of ["", ",", empty]) assert.throws(() => readLabels(text), /which contains no name/, text);
});
