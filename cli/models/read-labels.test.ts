import assert from "node:assert/strict";
import { writeFileSync } from "node:fs";
import { join } from "node:path";
import { test } from "node:test";
import { UsageFault } from "../command.ts";
import { makeFolder } from "../windhover.fixture.ts";
import { readLabels } from "./read-labels.ts";

const folder = makeFolder();

test("labels are coco unless they are given", () => {
  assert.equal(readLabels(undefined), "coco");
  assert.equal(readLabels("coco"), "coco");
});

test("one word that is no file is the only label", () => {
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

test("what looks like a file and is not there is no label", () => {
  for (const text of ["labels.txt", "./labels", join(folder, "none"), folder])
    assert.throws(
      () => readLabels(text),
      (error) => error instanceof UsageFault && /expected coco, a name, .* \((ENOENT|EISDIR)\)$/.test(error.message),
      text,
    );
});

test("labels without a name are refused", () => {
  const empty = join(folder, "empty.txt");
  writeFileSync(empty, "\n\n");
  for (const text of ["", ",", empty]) assert.throws(() => readLabels(text), /in which there is no name/, text);
});
