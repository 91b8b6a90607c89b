/** Models of three families on pictures of the world: tensors, decoders and suppression together. */
import assert from "node:assert/strict";
import { existsSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { test } from "node:test";
import { fileURLToPath } from "node:url";
import { CommandFailure } from "../../../cli/command.ts";
import { loadKnowledge } from "../../../cli/compile-graph.ts";
import { makeFolder } from "../../../cli/windhover.fixture.ts";
import { readDataset } from "./dataset.ts";
import { detectImages } from "./detect-images.ts";
import { groupByClass, scoreCoco } from "./score.ts";

const SHARED = fileURLToPath(new URL("../../../../shared/data", import.meta.url));
const skip = existsSync(join(SHARED, "coco")) ? false : "needs the pictures of ../shared/data/coco";
/** Enough to notice boxes that lie a little off. */
const PICTURES = 20;

const folder = makeFolder();
const YOLOX = ["yolox_nano_416.onnx", "695e750a5d5754bb5a8d5325643b59282191a7e7a564e435a415fd3c578eab14"] as const;
const PICODET = [
  "picodet_s_416_coco.onnx",
  "cdab77bdde16e4f76bec734c4e5791801d1739e4c7ec1995e0e110e04300d0c2",
] as const;

function makeCard(name: string, [file, sha256]: readonly [string, string], rest: readonly string[]): string {
  const card = join(folder, `${name}.yaml`);
  const lines = [
    `model: ${name}`,
    "about: Only for tests.",
    "licence: Apache-2.0",
    `sources: [{ path: ${JSON.stringify(join(SHARED, "models", file))} }]`,
    `sha256: ${sha256}`,
    "labels: coco",
    ...rest,
  ];
  writeFileSync(card, lines.join("\n"));
  return card;
}

async function measureAp(model: string): Promise<number> {
  const { pictures, classNames } = readDataset(join(SHARED, "coco"));
  const chosen = pictures.slice(0, PICTURES);
  const seen = await detectImages(
    { pictures: chosen, model, confidence: 0.01, onPicture() {} },
    await loadKnowledge(null),
  );
  const found = chosen.map((picture, index) => groupByClass(seen[index] ?? [], picture));
  return 100 * (scoreCoco(chosen, found, classNames)?.ap ?? 0);
}

// Half a point below what was measured: processors round differently.
test("the default model sees what it should", { skip }, async () => {
  const ap = await measureAp("default");
  assert.ok(ap >= 31.3, `AP is ${ap}`);
});

test("YOLOX-nano sees what it should", { skip }, async () => {
  const input = "input: { width: 416, height: 416, colours: bgr, anchor: top-left }";
  const card = makeCard("yolox", YOLOX, [input, "decoder: { family: yolox }", "thresholds: { overlap: 0.65 }"]);
  const ap = await measureAp(card);
  assert.ok(ap >= 29.1, `AP is ${ap}`);
});

test("PicoDet-S sees what it should", { skip }, async () => {
  const numbers = "mean: [123.675, 116.28, 103.53], std: [58.395, 57.12, 57.375]";
  const input = `input: { width: 416, height: 416, fit: stretch, ${numbers} }`;
  const ap = await measureAp(makeCard("picodet", PICODET, [input, "decoder: { family: picodet }"]));
  assert.ok(ap >= 32.2, `AP is ${ap}`);
});

test("reports a decoder that does not fit, with the tensors of the model", { skip }, async () => {
  const card = makeCard("wrong", YOLOX, ["input: { width: 416, height: 416 }", "decoder: { family: detr }"]);
  await assert.rejects(measureAp(card), (error) => {
    assert.ok(error instanceof CommandFailure);
    assert.match(error.message, /output: float32 \[1, 3549, 85\]/);
    assert.match(error.message, /yolox or yolo could read it/);
    return true;
  });
});
