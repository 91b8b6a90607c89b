import assert from "node:assert/strict";
import { existsSync, mkdtempSync, readFileSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { after, test } from "node:test";
import fc from "fast-check";
import { InferenceSession, Tensor } from "onnxruntime-node";
import { findCard } from "../find-card.ts";
import { type Int8Kernels, int8KernelsHere } from "../int8-kernels.ts";
import { COCO } from "../labels.ts";
import { openSession } from "../onnxruntime.ts";
import { weightsFile } from "../open.ts";
import { BadTflite } from "../tflite/flatbuffer.ts";
import { type SketchedModel, writeTflite } from "../tflite/read-model.fixture.ts";
import { computeTiny, type Pair } from "./compute-tiny.fixture.ts";
import { convertEfficientDet } from "./efficientdet.ts";
import {
  LOOSE,
  narrowDetector,
  sketchDetector,
  sketchTflite,
  startRandom,
  TINY_SIZE,
} from "./tiny-detector.fixture.ts";

const TINY = sketchDetector(90);
const SKETCH = sketchTflite(TINY);
const TFLITE = writeTflite(SKETCH);
/** With the weights of the file, as on most machines; narrowing has its own test. */
const EXACT = { ...int8KernelsHere(), saturate: false };
const NATIVE = { width: TINY_SIZE, height: TINY_SIZE, labels: "coco", kernels: EXACT } as const;
const namesOf = (count: number): string[] => Array.from({ length: count }, (_, i) => `thing ${i}`);
/** The indices of COCO's classes among the 90 outputs, without the unassigned ids. */
const PLACES = [...Array(90).keys()].filter((i) => ![12, 26, 29, 30, 45, 66, 68, 69, 71, 83].includes(i + 1));

const folder = mkdtempSync(join(tmpdir(), "windhover-convert-"));
after(() => rmSync(folder, { recursive: true, force: true }));

function paint(width: number, height: number): Uint8Array {
  const random = startRandom(width);
  return Uint8Array.from({ length: width * height * 3 }, () => random() * 256);
}

/** Closes the session. */
async function detectEach(
  session: InferenceSession,
  pictures: readonly Uint8Array[],
  width: number,
  height: number,
): Promise<Pair[][]> {
  const found: Pair[][] = [];
  for (const pixels of pictures) {
    const results = await session.run({ images: new Tensor("uint8", pixels, [1, height, width, 3]) });
    const boxes = results.boxes?.data as Float32Array;
    const classes = results.classes?.data as BigInt64Array;
    const pairs = Array.from(results.scores?.data as Float32Array, (score, i) => ({
      score,
      class: Number(classes[i]),
      box: Array.from(boxes.subarray(i * 4, i * 4 + 4)),
    }));
    found.push(pairs);
  }
  await session.release();
  return found;
}

/** `isConverted`: for this machine, narrowed if its kernels saturate; otherwise onnxruntime must use precise sums. */
async function detect(
  onnx: Uint8Array,
  pixels: Uint8Array,
  width: number,
  height: number,
  isConverted = false,
): Promise<Pair[]> {
  const session = await openSession({ onnx, isConverted, threads: 1, providers: ["cpu"] });
  const [found = []] = await detectEach(session, [pixels], width, height);
  return found;
}

/** Of several pairs with the lowest score, any may be missing. */
function assertBest(found: readonly Pair[], all: readonly Pair[], count: number): void {
  const scores = found.map(({ score }) => score);
  assert.equal(found.length, count);
  assert.deepEqual(
    scores,
    scores.toSorted((a, b) => b - a),
  );
  const byScore = all.toSorted((a, b) => b.score - a.score);
  byScore.slice(0, count).forEach(({ score }, i) => {
    assert.ok(Math.abs(score - (scores[i] ?? 0)) < 1e-6, `score ${i}: expected ${score}, found ${scores[i]}`);
  });
  const cut = (byScore[count - 1]?.score ?? 0) + 1e-6;
  const distinct = byScore.filter(({ score }) => score > cut);
  assert.ok(distinct.length > count / 2, `only ${distinct.length} of ${count} pairs are distinct`);
  const left = new Set(found);
  for (const pair of distinct) {
    const match = [...left].find((other) => isNear(pair, other));
    assert.ok(match !== undefined, `not found: ${JSON.stringify(pair)}`);
    left.delete(match);
  }
}

const isNear = (a: Pair, b: Pair): boolean =>
  a.class === b.class &&
  Math.abs(a.score - b.score) < 1e-5 &&
  a.box.every((edge, i) => Math.abs(edge - (b.box[i] ?? Number.NaN)) < 0.01);

const choose = (pairs: readonly Pair[], places: readonly number[]): Pair[] =>
  pairs.flatMap((pair) => (places.includes(pair.class) ? [{ ...pair, class: places.indexOf(pair.class) }] : []));

for (const activations of ["int8", "uint8"] as const) {
  test(`matches the reference computation at its native size, in ${activations}`, async () => {
    const pixels = paint(TINY_SIZE, TINY_SIZE);
    const onnx = convertEfficientDet(TFLITE, { ...NATIVE, kernels: { activations, saturate: false } });
    const found = await detect(onnx, pixels, TINY_SIZE, TINY_SIZE);
    assertBest(found, choose(computeTiny(TINY, pixels, TINY_SIZE, TINY_SIZE), PLACES), 130);
  });
}

test("matches the reference computation with narrowed pairs of weights, also on a CPU that saturates", async () => {
  const kernels: Int8Kernels = { ...int8KernelsHere(), saturate: true };
  const pixels = paint(TINY_SIZE, TINY_SIZE).map((value) => 255 - (value >> 3));
  const narrow = convertEfficientDet(TFLITE, { ...NATIVE, kernels });
  assert.ok(!Buffer.from(narrow).equals(convertEfficientDet(TFLITE, NATIVE)), "nothing was narrowed");
  const found = await detect(narrow, pixels, TINY_SIZE, TINY_SIZE, true);
  assertBest(found, choose(computeTiny(narrowDetector(TINY), pixels, TINY_SIZE, TINY_SIZE), PLACES), 130);
});

test("matches the reference computation at another size", async () => {
  const few = sketchDetector(6);
  const order = { width: 256, height: 128, labels: namesOf(6), kernels: EXACT };
  const onnx = convertEfficientDet(writeTflite(sketchTflite(few)), order);
  const pixels = paint(256, 128);
  assertBest(await detect(onnx, pixels, 256, 128), computeTiny(few, pixels, 128, 256), 1000);
});

test("keeps only the requested classes, in their order", async () => {
  const classes = ["toothbrush", "person", "stop sign"];
  const pixels = paint(TINY_SIZE, TINY_SIZE);
  const found = await detect(convertEfficientDet(TFLITE, { ...NATIVE, classes }), pixels, TINY_SIZE, TINY_SIZE);
  const places = classes.map((name) => PLACES[COCO.indexOf(name)] ?? -1);
  assert.deepEqual(places, [89, 0, 12]);
  assertBest(found, choose(computeTiny(TINY, pixels, TINY_SIZE, TINY_SIZE), places), 130);
});

test("keeps all classes of a model with its own labels", async () => {
  const own = sketchDetector(3);
  const tflite = writeTflite(sketchTflite(own));
  const pixels = paint(TINY_SIZE, TINY_SIZE);
  const order = { ...NATIVE, labels: ["bolt", "nut", "washer"] };
  const all = computeTiny(own, pixels, TINY_SIZE, TINY_SIZE);
  assertBest(await detect(convertEfficientDet(tflite, order), pixels, TINY_SIZE, TINY_SIZE), all, 130);
  const some = convertEfficientDet(tflite, { ...order, classes: ["washer", "bolt"] });
  assertBest(await detect(some, pixels, TINY_SIZE, TINY_SIZE), choose(all, [2, 0]), 130);
});

test("rejects a number of labels that differs from the model's classes", () => {
  const own = writeTflite(sketchTflite(sketchDetector(3)));
  assert.throws(
    () => convertEfficientDet(own, NATIVE),
    /has 3 classes, which are not those of COCO .*: list its own 3 labels/,
  );
  for (const count of [2, 4, 80])
    assert.throws(
      () => convertEfficientDet(own, { ...NATIVE, labels: namesOf(count) }),
      new RegExp(`has 3 classes, but the card has ${count} labels: list 3`),
    );
  assert.throws(() => convertEfficientDet(TFLITE, { ...NATIVE, labels: namesOf(80) }), /has 90 classes/);
});

test("reads a head of 80 classes as COCO without gaps", () => {
  const eighty = writeTflite(sketchTflite(sketchDetector(80)));
  const bytes = (labels: "coco" | string[]) => Buffer.from(convertEfficientDet(eighty, { ...NATIVE, labels }));
  assert.ok(bytes("coco").equals(bytes(namesOf(80))));
});

for (const sum of LOOSE) {
  test(`clips activations that quantisation does not clip, at zero point ${sum.zero}`, async () => {
    const loose = sketchDetector(3, sum);
    const pixels = paint(TINY_SIZE, TINY_SIZE);
    const order = { ...NATIVE, labels: namesOf(3) };
    const onnx = convertEfficientDet(writeTflite(sketchTflite(loose)), order);
    assertBest(await detect(onnx, pixels, TINY_SIZE, TINY_SIZE), computeTiny(loose, pixels, TINY_SIZE, TINY_SIZE), 130);
  });
}

test("gives the same bytes for the same file and options", () => {
  const digest = () =>
    Buffer.from(convertEfficientDet(TFLITE, { ...NATIVE, width: 128, height: 256 })).toString("base64");
  assert.equal(digest(), digest());
});

/** The graph that onnxruntime runs, in its session, and the number of uses of operators in it. */
async function openCounted(onnx: Uint8Array, names: readonly string[]) {
  const file = join(folder, "optimised.onnx");
  const options = { optimizedModelFilePath: file, graphOptimizationLevel: "all", intraOpNumThreads: 1 } as const;
  const session = await InferenceSession.create(onnx, { ...options, logSeverityLevel: 3 });
  const bytes = readFileSync(file, "latin1");
  // Field 4 of a node: a string with its length.
  const counts = names.map((name) => bytes.split(`"${String.fromCharCode(name.length)}${name}`).length - 1);
  return { session, counts };
}

async function countOperators(onnx: Uint8Array, names: readonly string[]): Promise<number[]> {
  const { session, counts } = await openCounted(onnx, names);
  await session.release();
  return counts;
}

test("onnxruntime computes the network on integers", async () => {
  const counts = await countOperators(convertEfficientDet(TFLITE, NATIVE), ["Conv", "QLinearConv", "QLinearAdd"]);
  assert.deepEqual(counts, [0, 6, 1]);
});

test("rejects sizes that the levels do not divide", () => {
  for (const [width, height] of [
    [320, 320],
    [128, 100],
    [0, 128],
    [128.5, 128],
    [-128, 128],
  ] as const) {
    assert.throws(
      () => convertEfficientDet(TFLITE, { ...NATIVE, width, height }),
      new RegExp(`28×28 can be converted for that size or for multiples of 128 .* requested was ${width}×${height}`),
    );
  }
});

test("rejects classes that COCO does not have, an empty list, and duplicates", () => {
  const convert = (classes: string[]) => convertEfficientDet(TFLITE, { ...NATIVE, classes });
  assert.throws(
    () => convert(["person", "kestrel"]),
    /"kestrel" is not one of the model's classes, which are: person, /,
  );
  assert.throws(() => convert([]), /at least one class/);
  assert.throws(() => convert(["car", "person", "car"]), /"car" is listed twice/);
});

const edit = (change: (sketch: SketchedModel) => Partial<SketchedModel>): Uint8Array =>
  writeTflite({ ...SKETCH, ...change(SKETCH) });
const FOREIGN: readonly (readonly [string, Uint8Array, RegExp])[] = [
  ["no post-processing", edit(({ operators }) => ({ operators: operators.slice(0, -1) })), /no operator TFLite_Det/],
  [
    "a float input",
    edit(({ tensors }) => ({ tensors: tensors.map((t, i) => (i === 0 ? { ...t, type: "float32" as const } : t)) })),
    /uint8 \[1, height, width, 3\]; this model has float32 \[1,28,28,3\]/,
  ],
  [
    "anchors off the grid",
    edit(({ tensors }) => ({
      tensors: tensors.map((t) => (t.shape[0] === 130 ? { ...t, data: t.data.map((byte, i) => byte ^ (i & 1)) } : t)),
    })),
    /anchors .* do not lie on the grid/,
  ],
  [
    "a pool that changes the scale",
    edit(({ tensors, operators }) => {
      const pooled = operators.find(({ code }) => code === 17)?.outputs[0];
      const quantisation = { scales: [0.5], zeroPoints: [0], axis: 0 };
      return { tensors: tensors.map((t, i) => (i === pooled ? { ...t, quantisation } : t)) };
    }),
    /should have the scale and zero point of/,
  ],
  [
    "its layers in the wrong order",
    edit(({ operators }) => ({ operators: operators.toReversed() })),
    /computed before its input/,
  ],
];
for (const [what, tflite, message] of FOREIGN) {
  test(`rejects a model with ${what}`, () => {
    assert.throws(
      () => convertEfficientDet(tflite, NATIVE),
      (error) => error instanceof BadTflite && message.test(error.message),
    );
  });
}

test("converts or rejects a damaged file, without any other error", () => {
  const change = fc.tuple(fc.nat(TFLITE.length - 1), fc.oneof(fc.nat(255), fc.constantFrom(0, 1, 127, 128, 255)));
  fc.assert(
    fc.property(fc.array(change, { minLength: 1, maxLength: 6 }), fc.option(fc.nat(TFLITE.length)), (changes, cut) => {
      const damaged = TFLITE.slice(0, cut ?? TFLITE.length);
      for (const [at, value] of changes) damaged[at] = value;
      try {
        convertEfficientDet(damaged, NATIVE);
      } catch (error) {
        // Another input size, or another number of classes, is valid by itself.
        const known = error instanceof BadTflite || /requested was 28×28$| classes, /.test(String(error));
        assert.ok(known, String(error instanceof Error ? error.stack : error));
      }
    }),
    { numRuns: 100 },
  );
});

const { card } = findCard("default");
const skip = existsSync(weightsFile(card)) ? false : "the default model is not installed";
test("Google's network is computed on integers, and in float32 has the same objects and no integers", {
  skip,
}, async () => {
  const size = { width: 256, height: 128 };
  const tflite = readFileSync(weightsFile(card));
  const [int8, float] = (["int8", "float32"] as const).map((precision) =>
    convertEfficientDet(tflite, { ...size, labels: "coco", kernels: int8KernelsHere(), precision }),
  ) as [Uint8Array, Uint8Array];
  const onIntegers = await openCounted(int8, ["Conv", "Add", "Resize", "Transpose"]);
  assert.deepEqual(onIntegers.counts, [0, 2, 0, 0]);
  const inFloat = await openCounted(float, ["QLinearConv", "QuantizeLinear", "ConvInteger"]);
  assert.deepEqual(inFloat.counts, [0, 0, 0]);
  const painted = paint(size.width, size.height).map((value, at) => (value >> 2) + ((at >> 7) % 3) * 60);
  const grey = new Uint8Array(painted.length).fill(127);
  const [rounded, nothing] = await detectEach(onIntegers.session, [painted, grey], size.width, size.height);
  assert.equal(nothing?.length, 1000);
  assert.ok((nothing[0]?.score ?? 1) < 0.4, `nothing is to be seen on grey, found ${JSON.stringify(nothing[0])}`);
  const [whole] = await detectEach(inFloat.session, [painted], size.width, size.height);
  const best = (pairs: readonly Pair[] = []) => pairs.slice(0, 10).map(({ score }) => score);
  best(whole).forEach((score, at) => {
    assert.ok(Math.abs(score - (best(rounded)[at] ?? 0)) < 0.1, `${best(whole)} and ${best(rounded)}`);
  });
});
