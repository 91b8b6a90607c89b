import assert from "node:assert/strict";
import { test } from "node:test";
import fc from "fast-check";
import { MOST_PAIR, measureError, type NarrowedRow, narrowPairs, narrowRow, type Weights } from "./weights.ts";

/** vpmaddubsw as documented by Intel: adds two adjacent products with 16-bit saturation. */
const multiplyPair = (activations: readonly [number, number], weights: readonly [number, number]): number =>
  Math.min(32_767, Math.max(-32_768, activations[0] * weights[0] + activations[1] * weights[1]));

const pairsOf = (row: Int8Array): [number, number][] =>
  Array.from({ length: Math.ceil(row.length / 2) }, (_, i) => [row[2 * i] ?? 0, row[2 * i + 1] ?? 0]);

/** The activations most likely to overflow: all of them, or those of one sign. */
const EXTREMES: readonly (readonly [number, number])[] = [
  [255, 255],
  [255, 0],
  [0, 255],
];
const overflows = (row: Int8Array): boolean =>
  pairsOf(row).some(([a, b]) => EXTREMES.some((x) => multiplyPair(x, [a, b]) !== x[0] * a + x[1] * b));

const byte = fc.integer({ min: -128, max: 127 });
/** Typical rows (most weights small), and rows of extremes. */
const weight = fc.oneof(
  { arbitrary: fc.integer({ min: -30, max: 30 }), weight: 3 },
  { arbitrary: byte, weight: 2 },
  { arbitrary: fc.constantFrom(-128, -127, 126, 127), weight: 1 },
);
const rows = fc.array(weight, { minLength: 1, maxLength: 60 }).map((values) => Int8Array.from(values));

test("original weights overflow 16 bits, narrowed ones do not", () => {
  const wide = Int8Array.of(127, 127, -128, -1, 100, 29);
  assert.equal(multiplyPair([255, 255], [127, 127]), 32_767, "and not 64770");
  assert.ok(overflows(wide));
  assert.ok(!overflows(narrowRow(wide).values));
  fc.assert(
    fc.property(rows, (row) => {
      assert.equal(
        overflows(row),
        pairsOf(row).some(([a, b]) => Math.abs(a + b) > MOST_PAIR),
      );
      assert.ok(!overflows(narrowRow(row).values));
    }),
  );
});

test("no activations overflow a narrowed row", () => {
  const activation = fc.integer({ min: 0, max: 255 });
  fc.assert(
    fc.property(rows, fc.array(fc.tuple(activation, activation), { minLength: 30, maxLength: 30 }), (row, picture) => {
      pairsOf(narrowRow(row).values).forEach(([a, b], i) => {
        const [x, y] = picture[i] ?? [0, 0];
        assert.equal(multiplyPair([x, y], [a, b]), x * a + y * b);
      });
    }),
  );
});

test("leaves a row that fits unchanged", () => {
  const fitting = rows.filter((row) => !overflows(row));
  fc.assert(fc.property(fitting, (row) => assert.deepEqual(narrowRow(row), { values: row, step: 1 })));
});

/** The baseline: every weight halved. */
const halve = (row: Int8Array): NarrowedRow => ({ values: row.map((value) => Math.round(value / 2)), step: 2 });

test("changes outputs less than halving all weights, and the sum of a row only slightly", () => {
  fc.assert(
    fc.property(rows, (row) => {
      const narrowed = narrowRow(row);
      const sum = row.reduce((total, value, k) => total + (narrowed.values[k] ?? 0) * narrowed.step - value, 0);
      const error = measureError(row, narrowed);
      // Halving changes odd weights by 1, up or down; at best the sum stays the same, or differs by 1.
      const odd = row.filter((value) => value % 2 !== 0).length;
      assert.ok(error <= odd + 1, `${error} > ${odd} + 1`);
      assert.ok(error <= measureError(row, halve(row)) + 1e-9);
      assert.ok(Math.abs(sum) <= Math.sqrt(odd + 1));
      assert.ok(narrowed.step >= 1 && narrowed.step <= 2);
    }),
    { numRuns: 500 },
  );
});

test("clips a single large pair instead of making all weights coarser", () => {
  const row = Int8Array.from({ length: 400 }, (_, k) => (k < 2 ? 65 : ((k * 37) % 41) - 20));
  const { values, step } = narrowRow(row);
  assert.equal(step, 1);
  assert.ok(measureError(row, { values, step }) < 10);
});

/** `shape`: [outputs, inputs, down, across], in ONNX's order. */
function sketchWeights(shape: Weights["shape"], values: readonly number[]): Weights {
  return { values: Int8Array.from(values), shape, scales: new Float32Array(shape[0]).fill(0.5) };
}

test("pairs weights in the kernel's order, channels last", () => {
  // Two channels of 1×2 pixels. In ONNX's order 100 and 90 of one channel are adjacent; in the kernel's, channels are.
  const bias = { values: Int32Array.of(7), scales: Float32Array.of(0.25) };
  const across = sketchWeights([1, 2, 1, 2], [100, 90, -100, -90]);
  assert.deepEqual(narrowPairs(across, bias), { weights: across, bias });
  const { weights } = narrowPairs(sketchWeights([1, 2, 1, 2], [100, -90, 100, -90]), bias);
  const [first = 0, second = 0, third = 0, fourth = 0] = weights.values;
  assert.ok(Math.abs(first + third) <= MOST_PAIR && Math.abs(second + fourth) <= MOST_PAIR);
});

test("handles the last weight of an odd-length row", () => {
  const row = Int8Array.of(1, 2, 127);
  assert.deepEqual(narrowRow(row).values, row);
  const bias = { values: Int32Array.of(0), scales: Float32Array.of(1) };
  const stem = sketchWeights([1, 3, 1, 1], [127, 127, 127]);
  const [a = 0, b = 0, c = 0] = narrowPairs(stem, bias).weights.values;
  assert.ok(a + b <= MOST_PAIR && c > 0);
});

test("adapts scale and bias to the step of a narrowed row, and leaves other rows", () => {
  const stored = sketchWeights([2, 2, 1, 1], [127, 127, 3, 4]);
  const bias = { values: Int32Array.of(1000, 1000), scales: Float32Array.of(0.25, 0.25) };
  const narrowed = narrowPairs(stored, bias);
  const step = 254 / MOST_PAIR;
  assert.deepEqual([...narrowed.weights.values], [64, 64, 3, 4]);
  assert.deepEqual([...narrowed.weights.scales], [Math.fround(0.5 * step), 0.5]);
  assert.deepEqual([...narrowed.bias.values], [Math.round(1000 / step), 1000]);
  assert.deepEqual([...narrowed.bias.scales], [Math.fround(0.25 * step), 0.25]);
  assert.deepEqual([...stored.values, ...bias.values], [127, 127, 3, 4, 1000, 1000], "what it was given is unchanged");
});
