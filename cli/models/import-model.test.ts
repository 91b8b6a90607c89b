import assert from "node:assert/strict";
import { writeFileSync } from "node:fs";
import { join } from "node:path";
import { test } from "node:test";
import { readTensors } from "../../elements/detect/try-model.ts";
import { ModelFault } from "../../models/fault.ts";
import { makeScatteredYolox, makeYolox } from "../../models/onnx.fixture.ts";
import { makeFolder } from "../windhover.fixture.ts";

const folder = makeFolder();

test("rejects a model in two files and explains how to export one", async () => {
  const file = join(folder, "two.onnx");
  const { onnx, bytes } = makeScatteredYolox(3, "two.onnx.data");
  writeFileSync(file, onnx);
  writeFileSync(join(folder, "two.onnx.data"), new Uint8Array(bytes));
  await assert.rejects(readTensors(file), (error) => {
    assert.ok(error instanceof ModelFault);
    assert.match(error.message, /two\.onnx is not complete: its weights are in another file, two\.onnx\.data$/m);
    assert.match(error.message, /save_as_external_data=False/);
    return true;
  });
});

test("reads the tensors of a model in one file", async () => {
  const file = join(folder, "one.onnx");
  writeFileSync(file, makeYolox(3));
  const { inputs, outputs } = await readTensors(file);
  assert.deepEqual(
    [inputs[0]?.shape, outputs[0]?.shape],
    [
      [1, 3, 64, 64],
      [1, 84, 8],
    ],
  );
});
