import assert from "node:assert/strict";
import { mkdtempSync, readdirSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { after, test } from "node:test";
import type { ModelCard } from "./card.ts";
import { convertEfficientDet } from "./convert/efficientdet.ts";
import { sketchDetector, sketchTflite, TINY_SIZE } from "./convert/tiny-detector.fixture.ts";
import { writeTflite } from "./tflite/read-model.fixture.ts";
import { chooseTuning, type Measured, measureTuning, readTuning, writeTuning } from "./tuning.ts";

const folder = mkdtempSync(join(tmpdir(), "windhover-tuning-"));
after(() => rmSync(folder, { recursive: true, force: true }));

const convert = { from: "efficientdet-tflite" } as const;
const card: ModelCard = {
  ...{ model: "three", about: "Three things.", licence: "MIT", sources: [], sha256: "0".repeat(64), convert },
  input: {
    ...{ width: TINY_SIZE, height: TINY_SIZE, type: "uint8", layout: "nhwc", colours: "rgb" },
    ...{ fit: "letterbox", anchor: "top-left", padding: 127 },
  },
  ...{ labels: ["bolt", "nut", "washer"], decoder: { family: "efficientdet" } },
  thresholds: { confidence: 0.4, weak: 0.1, overlap: 0.6 },
};

const int8 = (threads: number, ms: number, cpuMs = ms): Measured => ({ precision: "int8", threads, ms, cpuMs });
const float = (threads: number, ms: number, cpuMs = ms): Measured => ({ precision: "float32", threads, ms, cpuMs });

for (const [what, measured, precision, threads] of [
  ["int8 where it is faster", [int8(1, 40), float(1, 90)], "int8", 1],
  ["int8 where float32 is hardly faster", [int8(1, 40), float(1, 37)], "int8", 1],
  ["float32 where it is clearly faster", [int8(1, 90), float(1, 40)], "float32", 1],
  ["one thread where more cost processor time", [int8(1, 40), int8(2, 25, 50)], "int8", 1],
  ["more threads where they cost almost none", [int8(1, 40), int8(2, 21, 42), int8(4, 30, 60)], "int8", 2],
  ["a model that has one precision only", [float(1, 40), float(2, 39, 78)], "float32", 1],
] as const)
  test(`chooses ${what}`, () => {
    const tuning = chooseTuning(measured);
    assert.deepEqual([tuning.precision, tuning.threads], [precision, threads]);
  });

test("measures every precision on this machine, and keeps the result for it", async () => {
  const tflite = writeTflite(sketchTflite(sketchDetector(3)));
  const write = (precision: "int8" | "float32"): string => {
    const file = join(folder, `${precision}.onnx`);
    const order = { width: TINY_SIZE, height: TINY_SIZE, labels: ["bolt", "nut", "washer"], precision };
    writeFileSync(file, convertEfficientDet(tflite, order));
    return file;
  };
  const variants = { int8: write("int8"), float32: write("float32") };
  assert.equal(await readTuning(card, variants.int8, folder), null);
  const tuning = await measureTuning(card, variants);
  assert.deepEqual(
    tuning.measured.slice(0, 2).map(({ precision, threads }) => [precision, threads]),
    [
      ["int8", 1],
      ["float32", 1],
    ],
  );
  await writeTuning(card, variants.int8, tuning, folder);
  assert.deepEqual(await readTuning(card, variants.int8, folder), tuning);
  assert.equal(await readTuning(card, "another.onnx", folder), null);
  const [file = ""] = readdirSync(folder).filter((name) => name.endsWith("-tuning.json"));
  for (const damaged of ["", "{}", '{"precision":"int8","threads":1000,"measured":[]}']) {
    writeFileSync(join(folder, file), damaged);
    assert.equal(await readTuning(card, variants.int8, folder), null, damaged);
  }
});
