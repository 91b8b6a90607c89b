import assert from "node:assert/strict";
import { test } from "node:test";
import { acceptPlate, isPlateShaped, readLine } from "./read-line.ts";

const line = (text: string, mean = 0.97, least = 0.9) => ({ text, mean, least });

for (const [text, isPlate] of [
  ["AB123CD", true],
  ["7ABC123", true],
  ["DL9CF0918", true],
  ["4521", false],
  ["ESCORTS", false],
  ["ABC", false],
  ["A1B", false],
  ["AB1CDEF", false],
  ["AB123456789", false],
] as const)
  test(`${isPlate ? "accepts" : "rejects"} ${text} as a plate`, () =>
    assert.equal(acceptPlate([line(text), line(text)])?.text ?? null, isPlate ? text : null));

test("accepts a plate only if all readings agree with high probability", () => {
  assert.deepEqual(acceptPlate([line("AB123CD", 0.95), line("AB123CD", 0.99)]), { text: "AB123CD", confidence: 97 });
  assert.equal(acceptPlate([line("AB123CD"), line("AB123C0")]), null);
  assert.equal(acceptPlate([line("AB123CD"), line("AB123CD", 0.9)]), null);
  assert.equal(acceptPlate([line("AB123CD"), line("AB123CD", 0.97, 0.5)]), null);
  assert.equal(acceptPlate([line("AB123CD"), null]), null);
});

test("does not read small letters and regions that are not a line", () => {
  assert.equal(isPlateShaped({ width: 60, height: 15 }), true);
  assert.equal(isPlateShaped({ width: 40, height: 9 }), false);
  assert.equal(isPlateShaped({ width: 40, height: 36 }), false);
  assert.equal(isPlateShaped({ width: 300, height: 20 }), false);
});

/** Network output with one certain class per column. */
function columns(classes: readonly number[], sure = 0.9): Float32Array {
  const values = new Float32Array(classes.length * 6625);
  for (const [i, one] of classes.entries()) values[i * 6625 + one] = sure;
  return values;
}

test("merges repeated columns, keeps repeated characters, and drops separators", () => {
  // A, A, blank, A, dash, 1.
  assert.equal(readLine(columns([1221, 1221, 0, 1221, 28, 93]), 6625)?.text, "AA1");
  assert.equal(readLine(columns([1221, 700]), 6625), null);
  assert.equal(readLine(columns([0, 0]), 6625), null);
});
