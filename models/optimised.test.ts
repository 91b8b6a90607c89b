/** The network that the set-up has optimised gives the same results, and is only used where it was made for. */
import assert from "node:assert/strict";
import { mkdtempSync, readdirSync, rmSync, truncateSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { after, test } from "node:test";
import { convertEfficientDet } from "./convert/efficientdet.ts";
import { sketchDetector, sketchTflite, TINY_SIZE } from "./convert/tiny-detector.fixture.ts";
import { digestBytes } from "./files.ts";
import { int8KernelsHere } from "./int8-kernels.ts";
import { loadOnnxruntime, openSession, optimise } from "./onnxruntime.ts";
import { findOptimised } from "./optimised.ts";
import { writeTflite } from "./tflite/read-model.fixture.ts";

const folder = mkdtempSync(join(tmpdir(), "windhover-optimised-"));
after(() => rmSync(folder, { recursive: true, force: true }));

const labels = ["bolt", "nut", "washer"];
const size = { width: TINY_SIZE, height: TINY_SIZE };
const tflite = writeTflite(sketchTflite(sketchDetector(labels.length)));
const network = convertEfficientDet(tflite, { ...size, labels, kernels: int8KernelsHere(), precision: "int8" });
const onnx = join(folder, `three-${TINY_SIZE}x${TINY_SIZE}-0123456789abcdef-${digestBytes(network)}.onnx`);
writeFileSync(onnx, network);

async function infer(isConverted = true): Promise<readonly string[]> {
  const { Tensor } = await loadOnnxruntime();
  const session = await openSession({ onnx, isConverted, threads: 1, providers: ["cpu"] });
  const picture = Uint8Array.from({ length: 3 * TINY_SIZE * TINY_SIZE }, (_, at) => (at * 37) % 251);
  const outputs = await session.run({
    [session.inputNames[0] ?? ""]: new Tensor("uint8", picture, [1, TINY_SIZE, TINY_SIZE, 3]),
  });
  await session.release();
  return Object.values(outputs).map(({ data }) => digestBytes(Buffer.from((data as Float32Array).buffer)));
}

const listOptimised = (): readonly string[] => readdirSync(folder).filter((name) => name.endsWith(".optimised"));

test("gives the same bytes, and is made once", async () => {
  const before = await infer();
  const file = await optimise(onnx);
  assert.match(file ?? "", /three-\d+x\d+-[0-9a-f]{16}-[0-9a-f]{64}\.optimised$/);
  assert.deepEqual(await infer(), before);
  assert.equal(await optimise(onnx), null);
  assert.equal(listOptimised().length, 1);
});

test("is not used by another version of onnxruntime, nor when it is damaged", async () => {
  const { env } = await loadOnnxruntime();
  const version = env.versions.node ?? assert.fail();
  const file = (await findOptimised(onnx, version)) ?? assert.fail();
  assert.equal(await findOptimised(onnx, `${version}-next`), null);
  truncateSync(file, 100);
  assert.equal(await findOptimised(onnx, version), null);
  assert.equal((await infer()).length > 0, true);
  await optimise(onnx);
  assert.equal(await findOptimised(onnx, version), file, "it is written again");
});
