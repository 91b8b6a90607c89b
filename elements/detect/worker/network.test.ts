import assert from "node:assert/strict";
import test from "node:test";
import { makeLightModel } from "../detect.fixture.ts";
import { sizeOf } from "./model-input.ts";
import { expectNumbers, loadNetwork } from "./network.ts";

const output = (data: Float32Array | BigInt64Array) => ({ type: "float32", dims: [data.length], data });

test("accepts outputs without NaN", () => {
  expectNumbers({ boxes: output(new Float32Array(100_000)), classes: output(new BigInt64Array(4)) });
});

test("names the output that holds NaN", () => {
  const scores = new Float32Array(100_000).fill(Number.NaN, 3_000, 50_000);
  assert.throws(
    () => expectNumbers({ boxes: output(new Float32Array(4)), scores: output(scores) }),
    /NaN in its output scores/,
  );
});

test("finds a single NaN in an output that is checked completely", () => {
  const boxes = new Float32Array(4096);
  boxes[4095] = Number.NaN;
  assert.throws(() => expectNumbers({ boxes: output(boxes) }), /NaN/);
});

test("providers auto: finds what the CPU finds, and starts with an empty input", async () => {
  const model = makeLightModel();
  const slot = new SharedArrayBuffer(sizeOf(model.card.input));
  new Uint8Array(slot).fill(200, 0, 30);
  const settings = { model, threads: 1, slots: [slot], gate: new SharedArrayBuffer(8) };
  const [cpu, auto] = [
    await loadNetwork({ ...settings, providers: ["cpu"] }),
    await loadNetwork({ ...settings, providers: ["auto"] }),
  ];
  assert.deepEqual(await auto.run(), await cpu.run());
  const found = await auto.infer(0, 0.5, 0.5);
  assert.ok(found.count > 0);
  assert.deepEqual(found, await cpu.infer(0, 0.5, 0.5));
});
