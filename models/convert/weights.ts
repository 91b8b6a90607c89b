/** Weights in ONNX's order (channels first) from TFLite's (channels last), narrowed for kernels that saturate. */
import { BadTflite } from "../tflite/flatbuffer.ts";
import type { Quantisation, Tensor } from "../tflite/read-model.ts";

export interface Weights {
  readonly values: Int8Array;
  /** [outputs, inputs of a group, down, across]. */
  readonly shape: readonly [number, number, number, number];
  /** One per output. */
  readonly scales: Float32Array;
}

interface Bias {
  readonly values: Int32Array;
  readonly scales: Float32Array;
}

/** `rows`: the outputs to keep, all when not given. */
export function reorderWeights(tensor: Tensor, depthwise: boolean, rows?: readonly number[]): Weights {
  const stored = new Int8Array(tensor.data.buffer, tensor.data.byteOffset, tensor.data.byteLength);
  const [first = 0, down = 0, across = 0, last = 0] = tensor.shape;
  if (tensor.type !== "int8" || tensor.shape.length !== 4 || stored.length === 0 || (depthwise && first !== 1)) {
    throw new BadTflite(
      `weights ${tensor.name} should be int8 of four dimensions, are ${tensor.type} [${tensor.shape}]`,
    );
  }
  // Depthwise weights are [1, down, across, outputs], the others [outputs, down, across, inputs].
  const [outputs, inputs] = depthwise ? [last, 1] : [first, last];
  const kept = choose(tensor, outputs, rows);
  const cells = down * across;
  const values = new Int8Array(kept.length * inputs * cells);
  let at = 0;
  for (const output of kept) {
    for (let input = 0; input < inputs; input++) {
      for (let cell = 0; cell < cells; cell++) {
        const from = depthwise ? cell * outputs + output : (output * cells + cell) * inputs + input;
        values[at++] = stored[from] ?? 0;
      }
    }
  }
  return { values, shape: [kept.length, inputs, down, across], scales: spread(tensor, outputs, kept) };
}

export function readBias(tensor: Tensor, rows?: readonly number[]): Bias {
  if (tensor.type !== "int32" || tensor.data.length === 0) {
    throw new BadTflite(`bias ${tensor.name} should be stored int32, is ${tensor.type} [${tensor.shape}]`);
  }
  const stored = new Int32Array(tensor.data.slice().buffer);
  const kept = choose(tensor, stored.length, rows);
  const values = Int32Array.from(kept, (row) => stored[row] ?? 0);
  return { values, scales: spread(tensor, stored.length, kept) };
}

function choose({ name }: Tensor, outputs: number, rows?: readonly number[]): readonly number[] {
  if (rows === undefined) return Array.from({ length: outputs }, (_, i) => i);
  const beyond = rows.find((row) => row >= outputs);
  if (beyond === undefined) return rows;
  throw new BadTflite(`output ${beyond} of ${name} was expected, it has ${outputs}`);
}

/** One scale per output, also if the tensor has a single one. The zero point of weights and biases is always 0. */
function spread({ name, quantisation }: Tensor, outputs: number, kept: readonly number[]): Float32Array {
  const { scales, zeroPoints }: Quantisation = quantisation ?? { scales: [], zeroPoints: [], axis: 0 };
  if ((scales.length !== 1 && scales.length !== outputs) || zeroPoints.some((zero) => zero !== 0)) {
    throw new BadTflite(`${name} should have one scale for each of its ${outputs} outputs and zero points of 0`);
  }
  return Float32Array.from(kept, (row) => scales[scales.length === 1 ? 0 : row] ?? 0);
}

/** Largest sum of two adjacent weights of one sign that `narrowPairs` leaves. */
export const MOST_PAIR = 128;
const [LEAST, MOST] = [-128, 127];
/** Maximum number of coarser steps to try per row. */
const MOST_STEPS = 40;
/** The candidates with the smallest squared error whose row sum is then restored. */
const MOST_RESTORED = 3;

export interface NarrowedRow {
  readonly values: Int8Array;
  /** The value of a stored 1, in steps of the original row. */
  readonly step: number;
}

/**
 * Makes weights fit kernels that add two adjacent products in 16 bits, as x86-64 does without VNNI (vpmaddubsw). An
 * activation is at most 255, so a pair of weights of one sign may sum to 128: 255 × 128 still fits. Rows with larger pairs
 * get a coarser step, or single pairs are clipped, whichever changes the outputs least. For dense convolutions only:
 * depthwise ones add one channel, in 32 bits.
 */
export function narrowPairs(weights: Weights, bias: Bias): { readonly weights: Weights; readonly bias: Bias } {
  const [outputs, inputs, down, across] = weights.shape;
  const cells = down * across;
  const length = inputs * cells;
  // Maps the order of addition (channels last) to the order of storage.
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

/** `row` is in the order of addition, pair by pair. Rows that fit are returned unchanged. */
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
 * The mean squared change of an output for activations whose variance equals their squared mean: the sum of the squared
 * changes plus the square of their sum, in steps of `row`.
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

/** The distinct sums above the limit, largest first. */
function findWidePairs(row: Int8Array): number[] {
  const wide = new Set<number>();
  for (let k = 0; k + 1 < row.length; k += 2) {
    const sum = Math.abs((row[k] ?? 0) + (row[k + 1] ?? 0));
    if (sum > MOST_PAIR) wide.add(sum);
  }
  return [...wide].sort((a, b) => b - a);
}

/** Rounds to the nearest value, then clips pairs that are still too large, evenly on both weights. */
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

/** Rounds some weights the other way, nearest first, while that reduces `measureError`. */
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

/** The index with the largest shortfall that can move in this direction, -1 if none can. */
function findShortest(shortfalls: Float64Array, values: Int8Array, direction: number): number {
  let found = -1;
  let most = Number.NEGATIVE_INFINITY;
  for (let k = 0; k < values.length; k++) {
    const by = direction * (shortfalls[k] ?? 0);
    if (by <= most) continue;
    const moved = (values[k] ?? 0) + direction;
    // The last weight of an odd-length row has no partner.
    if (moved < LEAST || moved > MOST || Math.abs(moved + (values[k ^ 1] ?? 0)) > MOST_PAIR) continue;
    [found, most] = [k, by];
  }
  return found;
}
