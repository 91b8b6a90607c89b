import assert from "node:assert/strict";
import { mkdtempSync, readdirSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { after, test } from "node:test";
import { isDeepStrictEqual } from "node:util";
import type { ModelCard } from "./card.ts";
import { sketchDetector, sketchTflite, TINY_SIZE } from "./convert/tiny-detector.fixture.ts";
import { convertWeights, findConverted } from "./converted.ts";
import { ModelFault } from "./fault.ts";
import { type Int8Kernels, int8KernelsHere, listInt8Kernels } from "./int8-kernels.ts";
import { writeTflite } from "./tflite/read-model.fixture.ts";

const folder = mkdtempSync(join(tmpdir(), "windhover-converted-"));
after(() => rmSync(folder, { recursive: true, force: true }));
const kept = join(folder, "kept");
const weights = join(folder, "three.tflite");
writeFileSync(weights, writeTflite(sketchTflite(sketchDetector(3))));

const convert = { from: "efficientdet-tflite" } as const;
const cardOf = (labels: ModelCard["labels"]): ModelCard => ({
  ...{ model: "three", about: "Three things.", licence: "MIT", sources: [{ path: weights }], sha256: "0".repeat(64) },
  input: {
    ...{ width: TINY_SIZE, height: TINY_SIZE, type: "uint8", layout: "nhwc", colours: "rgb" },
    ...{ fit: "letterbox", anchor: "top-left", padding: 127 },
  },
  ...{ labels, convert, decoder: { family: "efficientdet" } },
  thresholds: { confidence: 0.4, weak: 0.1, overlap: 0.6 },
});

test("finds a conversion for its own labels only", async () => {
  const card = cardOf(["bolt", "nut", "washer"]);
  const file = await convertWeights(card, convert, weights, kept);
  assert.equal(await findConverted(card, convert, kept), file);
  assert.equal(await findConverted(cardOf(["bolt", "nut"]), convert, kept), null);
  assert.equal(await findConverted(cardOf("coco"), convert, kept), null);
});

test("finds the conversion for each CPU in a shared cache folder", async () => {
  const card = cardOf(["bolt", "nut", "washer"]);
  const shared = join(folder, "shared");
  const kinds: readonly Int8Kernels[] = ["x64", "arm64"].flatMap(listInt8Kernels);
  const files: string[] = [];
  for (const kernels of kinds) {
    assert.equal(await findConverted(card, convert, shared, kernels), null, JSON.stringify(kernels));
    files.push(await convertWeights(card, convert, weights, shared, kernels));
  }
  for (const [i, kernels] of kinds.entries())
    assert.equal(await findConverted(card, convert, shared, kernels), files[i]);
  assert.equal(new Set(files.map((file) => readFileSync(file, "base64"))).size, kinds.length);
  const here = kinds.findIndex((kernels) => isDeepStrictEqual(kernels, int8KernelsHere()));
  assert.equal(await findConverted(card, convert, shared), files[here]);
});

test("rejects a wrong number of labels and leaves no file", async () => {
  const before = readdirSync(kept);
  for (const labels of ["coco", ["bolt", "nut"]] as const)
    await assert.rejects(
      convertWeights(cardOf(labels === "coco" ? labels : [...labels]), convert, weights, kept),
      (error) => error instanceof ModelFault && /of three cannot be converted .* 3 classes/.test(error.message),
    );
  assert.deepEqual(readdirSync(kept), before);
});
