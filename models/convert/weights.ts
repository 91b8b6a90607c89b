/** Weights from TFLite's order (channels last) into ONNX's (channels first). */
import { BadTflite } from "../tflite/flatbuffer.ts";
import type { Quantisation, Tensor } from "../tflite/read-model.ts";

export interface Weights {
  readonly values: Int8Array;
  /** [outputs, inputs of a group, down, across]. */
  readonly shape: readonly [number, number, number, number];
  /** One an output. */
  readonly scales: Float32Array;
}

export interface Bias {
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

/** One scale an output, also where the whole tensor has one. Weights and biases have no zero point but 0. */
function spread({ name, quantisation }: Tensor, outputs: number, kept: readonly number[]): Float32Array {
  const { scales, zeroPoints }: Quantisation = quantisation ?? { scales: [], zeroPoints: [], axis: 0 };
  if ((scales.length !== 1 && scales.length !== outputs) || zeroPoints.some((zero) => zero !== 0)) {
    throw new BadTflite(`${name} should have one scale for each of its ${outputs} outputs and zero points of 0`);
  }
  return Float32Array.from(kept, (row) => scales[scales.length === 1 ? 0 : row] ?? 0);
}
