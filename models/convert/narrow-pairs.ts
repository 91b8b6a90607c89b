/**
 * Makes weights fit kernels that add two neighbouring products in 16 bits, which x86-64 does without VNNI (vpmaddubsw).
 * An activation is at most 255, so that a pair of weights of one sign may come to 128: 255 × 128 still fits. Rows with
 * more get a coarser step, or have single pairs cut, whichever changes their outputs least.
 */
import type { Bias, Weights } from "./weights.ts";

export const MOST_PAIR = 128;
const [LEAST, MOST] = [-128, 127];
/** Coarser steps that are tried for a row. */
const MOST_STEPS = 40;
/** Of them, those with the least squares of changes are compared with the sum of the row restored. */
const MOST_RESTORED = 3;

export interface NarrowedRow {
  readonly values: Int8Array;
  /** What a stored 1 stands for, in steps of the row before. */
  readonly step: number;
}

/** For dense convolutions: depthwise ones add up one channel, in 32 bits. */
export function narrowPairs(weights: Weights, bias: Bias): { readonly weights: Weights; readonly bias: Bias } {
  const [outputs, inputs, down, across] = weights.shape;
  const cells = down * across;
  const length = inputs * cells;
  // In the order in which they are added, channels last: from there to where a weight is stored.
  const places = Uint32Array.from({ length }, (_, k) => (k % inputs) * cells + Math.floor(k / inputs));
  const values = weights.values.slice();
  const steps = new Float64Array(outputs);
  for (let output = 0; output < outputs; output++) {
    const stored = values.subarray(output * length, (output + 1) * length);
    const row = new Int8Array(length);
    for (let k = 0; k < length; k++) row[k] = stored[places[k] ?? 0] ?? 0;
    const narrowed = narrowRow(row);
    for (let k = 0; k < length; k++) stored[places[k] ?? 0] = narrowed.values[k] ?? 0;
    steps[output] = narrowed.step;
  }
  const widen = (scales: Float32Array) => scales.map((scale, output) => scale * (steps[output] ?? 1));
  return {
    weights: { ...weights, values, scales: widen(weights.scales) },
    bias: {
      values: bias.values.map((value, output) => Math.round(value / (steps[output] ?? 1))),
      scales: widen(bias.scales),
    },
  };
}

/** `row` is in the order in which it is added, two by two. Rows that fit are returned as they are. */
export function narrowRow(row: Int8Array): NarrowedRow {
  const wide = findWidePairs(row);
  if (wide.length === 0) return { values: row, step: 1 };
  const tried = [1, ...wide.slice(0, MOST_STEPS).map((sum) => sum / MOST_PAIR)]
    .map((step) => {
      const values = roundRow(row, step);
      return { values, step, error: sumSquares(row, { values, step }).squares };
    })
    .sort((a, b) => a.error - b.error)
    .slice(0, MOST_RESTORED);
  let best: NarrowedRow | null = null;
  let least = Number.POSITIVE_INFINITY;
  for (const narrowed of [...tried, { values: roundRow(row, 2), step: 2 }]) {
    restoreSum(narrowed, row);
    const error = measureError(row, narrowed);
    if (error < least) [best, least] = [narrowed, error];
  }
  return { values: best?.values ?? row, step: best?.step ?? 1 };
}

/**
 * The mean square by which an output changes, for activations that vary as much as they are large: the squares of the
 * changes, and the square of their sum. In steps of `row`.
 */
export function measureError(row: Int8Array, narrowed: NarrowedRow): number {
  const { squares, sum } = sumSquares(row, narrowed);
  return squares + sum * sum;
}

function sumSquares(row: Int8Array, { values, step }: NarrowedRow): { squares: number; sum: number } {
  let squares = 0;
  let sum = 0;
  for (let k = 0; k < row.length; k++) {
    const change = (values[k] ?? 0) * step - (row[k] ?? 0);
    squares += change * change;
    sum += change;
  }
  return { squares, sum };
}

/** What they come to, each once, the widest first. */
function findWidePairs(row: Int8Array): number[] {
  const wide = new Set<number>();
  for (let k = 0; k + 1 < row.length; k += 2) {
    const sum = Math.abs((row[k] ?? 0) + (row[k + 1] ?? 0));
    if (sum > MOST_PAIR) wide.add(sum);
  }
  return [...wide].sort((a, b) => b - a);
}

/** To the nearest, and what is still too wide cut by the same on both sides. */
function roundRow(row: Int8Array, step: number): Int8Array {
  const values = new Int8Array(row.length);
  for (let k = 0; k < row.length; k++) values[k] = roundToEven((row[k] ?? 0) / step);
  for (let k = 0; k + 1 < values.length; k += 2) {
    const sum = (values[k] ?? 0) + (values[k + 1] ?? 0);
    const excess = Math.abs(sum) - MOST_PAIR;
    if (excess <= 0) continue;
    values[k] = (values[k] ?? 0) - Math.sign(sum) * Math.ceil(excess / 2);
    values[k + 1] = (values[k + 1] ?? 0) - Math.sign(sum) * Math.floor(excess / 2);
  }
  return values;
}

function roundToEven(value: number): number {
  const low = Math.floor(value);
  if (value - low !== 0.5) return Math.round(value);
  return low % 2 === 0 ? low : low + 1;
}

/** Rounds some weights the other way, nearest first, as long as the sum of the row gains more by it than they lose. */
function restoreSum({ values, step }: NarrowedRow, row: Int8Array): void {
  const shortfalls = new Float64Array(row.length);
  let missing = 0;
  for (let k = 0; k < row.length; k++) {
    const shortfall = (row[k] ?? 0) / step - (values[k] ?? 0);
    shortfalls[k] = shortfall;
    missing += shortfall;
  }
  const direction = Math.sign(missing);
  for (let left = Math.abs(missing); left > 0; left--) {
    const k = findShortest(shortfalls, values, direction);
    if (k < 0) return;
    const shortfall = shortfalls[k] ?? 0;
    // A move changes `measureError` by twice this, in squares of the step.
    if (1 - direction * shortfall - left >= 0) return;
    values[k] = (values[k] ?? 0) + direction;
    shortfalls[k] = shortfall - direction;
  }
}

/** The one that lacks most of those that can be moved in this direction, -1 when none can. */
function findShortest(shortfalls: Float64Array, values: Int8Array, direction: number): number {
  let found = -1;
  let most = Number.NEGATIVE_INFINITY;
  for (let k = 0; k < values.length; k++) {
    const by = direction * (shortfalls[k] ?? 0);
    if (by <= most) continue;
    const moved = (values[k] ?? 0) + direction;
    // The last of an odd number has no neighbour.
    if (moved < LEAST || moved > MOST || Math.abs(moved + (values[k ^ 1] ?? 0)) > MOST_PAIR) continue;
    [found, most] = [k, by];
  }
  return found;
}
