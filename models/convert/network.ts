/**
 * Writes the network as quantised ONNX. Operators that ONNX computes on integers (pooling, upsampling) stay quantised;
 * convolutions and sums are written between DequantizeLinear and QuantizeLinear with the scales of the TFLite file, and
 * onnxruntime fuses each such group into one integer operation. With `precision: float32` all values are floats: the
 * weights are those of the file, and the results are not rounded after each layer.
 */

import type { Int8Kernels } from "../int8-kernels.ts";
import type { GraphBuilder } from "../onnx/graph.ts";
import { BadTflite } from "../tflite/flatbuffer.ts";
import type { Activation, Kind, Operator, Pair, Tensor, TfliteModel } from "../tflite/read-model.ts";
import { type Size, type Sizes, tensorOf } from "./structure.ts";
import { narrowPairs, readBias, reorderWeights } from "./weights.ts";

interface NetworkOptions {
  readonly model: Pick<TfliteModel, "tensors">;
  readonly sizes: Sizes;
  readonly activations: Activations;
  readonly precision: Precision;
  /** Whether pairs of weights must fit saturating kernels. */
  readonly narrow: boolean;
  /** For some tensors: the outputs to keep of the convolution that computes it. */
  readonly kept: ReadonlyMap<number, readonly number[]>;
}

const LIMITS: Readonly<Record<Activation, readonly [number, number]>> = {
  none: [Number.NEGATIVE_INFINITY, Number.POSITIVE_INFINITY],
  relu: [0, Number.POSITIVE_INFINITY],
  relu6: [0, 6],
};

export type Precision = "int8" | "float32";

type KindOf<Name extends Kind["kind"]> = Extract<Kind, { kind: Name }>;

export class NetworkWriter {
  readonly #graph: GraphBuilder;
  readonly #options: NetworkOptions;
  readonly #names = new Map<number, string>();
  #count = 0;

  constructor(graph: GraphBuilder, options: NetworkOptions) {
    this.#graph = graph;
    this.#options = options;
  }

  /** `name` is the uint8 value of the image in the graph, [1, 3, down, across]. */
  begin(image: Tensor, name: string): void {
    const { activations } = this.#options;
    const { scale, zeroPoint } = encode(image, activations);
    const toFloat = (): string => {
      const scales = [
        this.#graph.scalar("image_scale", Float32Array.of(scale)),
        this.#graph.scalar("image_zero", zeroPoint),
      ];
      return this.#graph.node("DequantizeLinear", [name, ...scales], "picture_values");
    };
    this.#names.set(image.index, this.#isFloat ? toFloat() : name);
  }

  get #isFloat(): boolean {
    return this.#options.precision === "float32";
  }

  /** Name of the value in the graph, quantised unless all are floats, [1, channels, down, across]. */
  nameOf(tensor: Tensor): string {
    const name = this.#names.get(tensor.index);
    if (name === undefined) throw new BadTflite(`tensor ${tensor.name} is used before it is computed`);
    return name;
  }

  write(operator: Operator): void {
    const { kind, inputs } = operator;
    const input = tensorOf(this.#options.model, inputs[0]);
    const output = tensorOf(this.#options.model, operator.outputs[0]);
    if (kind.kind === "conv") this.#convolve(kind, operator, input, output);
    else if (kind.kind === "add") this.#add(inputs, output, kind.activation);
    else if (kind.kind === "max-pool") this.#pool(kind, input, output);
    else if (kind.kind === "resize-nearest") this.#enlarge(kind, input, output);
    else if (kind.kind === "quantize") this.#quantise(input, output);
    else throw new BadTflite(`operator ${kind.kind} is not part of the network of an EfficientDet-Lite`);
  }

  /** The image is uint8. If the first tensor is stored as uint8 too, both are the same. */
  #quantise(input: Tensor, output: Tensor): void {
    if (this.#isFloat || isSame(this.#encodingOf(input), this.#encodingOf(output)))
      this.#keep(output, this.nameOf(input));
    else this.#requantise(output, this.#dequantise(input), "none");
  }

  #add(inputs: readonly number[], output: Tensor, activation: Activation): void {
    const terms = inputs.map((index) => this.#dequantise(tensorOf(this.#options.model, index)));
    this.#requantise(output, this.#graph.node("Add", terms, `sum_${output.index}`), activation);
  }

  #pool({ size, window }: KindOf<"max-pool">, input: Tensor, output: Tensor): void {
    this.#refuseOtherScale(input, output);
    const pads = this.#pad(input, output, size, window.stride, [1, 1]);
    const settings = { kernel_shape: size, strides: window.stride, pads };
    this.#keep(output, this.#graph.node("MaxPool", [this.nameOf(input)], `v_${output.index}`, settings));
  }

  #convolve(kind: KindOf<"conv">, { inputs }: Operator, input: Tensor, output: Tensor): void {
    const rows = this.#options.kept.get(output.index);
    const tensor = tensorOf(this.#options.model, inputs[1]);
    const stored = {
      weights: reorderWeights(tensor, kind.depthwise, rows),
      bias: readBias(tensorOf(this.#options.model, inputs[2]), rows),
    };
    const isNarrowed = this.#options.narrow && !kind.depthwise;
    const { weights, bias } = isNarrowed ? narrowPairs(stored.weights, stored.bias) : stored;
    const [rowsOut, inputsOfGroup, down, across] = weights.shape;
    const group = kind.depthwise ? rowsOut : 1;
    if (inputsOfGroup * group !== input.shape[3] || bias.values.length !== rowsOut) {
      throw new BadTflite(
        `${tensor.name} [${tensor.shape}] and ${bias.values.length} biases do not fit their input ` +
          `${input.name} [${input.shape}]`,
      );
    }
    const graph = this.#graph;
    // Levels share the weights of a head, but each convolution gets its own constants: with precise sums on x86-64
    // onnxruntime replaces them one by one and fails when two nodes share one.
    const own = `${tensor.index}_${output.index}`;
    // A narrowed bias depends on the step of its weights.
    const ownBias = isNarrowed ? own : `${inputs[2]}`;
    const values = this.#isFloat
      ? [
          this.nameOf(input),
          graph.constant(`w_${own}`, scaleRows(weights.values, weights.scales), weights.shape),
          graph.constant(`b_${ownBias}`, scaleRows(bias.values, bias.scales)),
        ]
      : [
          this.#dequantise(input),
          graph.node(
            "DequantizeLinear",
            [
              graph.constant(`w_${own}`, weights.values, weights.shape),
              graph.constant(`ws_${own}`, weights.scales),
              graph.constant(`wz_${own}`, new Int8Array(rowsOut)),
            ],
            `weights_${output.index}`,
            { axis: 0 },
          ),
          graph.node(
            "DequantizeLinear",
            [
              graph.constant(`b_${ownBias}`, bias.values),
              graph.constant(`bs_${ownBias}`, bias.scales),
              graph.constant(`bz_${rowsOut}`, new Int32Array(rowsOut)),
            ],
            `bias_${output.index}`,
            { axis: 0 },
          ),
        ];
    const settings = {
      kernel_shape: [down, across],
      strides: kind.window.stride,
      dilations: kind.dilation,
      pads: this.#pad(input, output, [down, across], kind.window.stride, kind.dilation),
      group,
    };
    this.#requantise(output, graph.node("Conv", values, `conv_${output.index}`, settings), kind.window.activation);
  }

  #enlarge(kind: KindOf<"resize-nearest">, input: Tensor, output: Tensor): void {
    if (kind.alignCorners || kind.halfPixel) {
      throw new BadTflite(
        `tensor ${output.name} is upsampled with aligned corners or half pixels; an EfficientDet-Lite uses neither`,
      );
    }
    this.#refuseOtherScale(input, output);
    const from = this.#sizeOf(input);
    const to = this.#sizeOf(output);
    const doubled = to.down === 2 * from.down && to.across === 2 * from.across;
    this.#keep(output, doubled ? this.#double(input, output, from) : this.#resize(input, output, to));
  }

  #resize(input: Tensor, output: Tensor, { down, across }: Size): string {
    const target = this.#graph.integers(`size_${output.index}`, [1, output.shape[3] ?? 0, down, across]);
    const settings = { mode: "nearest", coordinate_transformation_mode: "asymmetric", nearest_mode: "floor" };
    return this.#graph.node("Resize", [this.nameOf(input), "", "", target], `v_${output.index}`, settings);
  }

  /**
   * Doubles the size by concatenating each pixel with itself and each row with itself: onnxruntime copies blocks, where
   * Resize works pixel by pixel. The transpositions are optimised away, since it keeps channels last between
   * convolutions.
   */
  #double(input: Tensor, output: Tensor, { down, across }: Size): string {
    const graph = this.#graph;
    const id = output.index;
    const channels = output.shape[3] ?? 0;
    const last = graph.node("Transpose", [this.nameOf(input)], `last_${id}`, { perm: [0, 2, 3, 1] });
    const pixels = graph.node("Concat", [last, last], `pixels_${id}`, { axis: 3 });
    const rowShape = graph.integers(`row_shape_${id}`, [1, down, 1, across * 2 * channels]);
    const row = graph.node("Reshape", [pixels, rowShape], `row_${id}`);
    const rows = graph.node("Concat", [row, row], `rows_${id}`, { axis: 2 });
    const shape = graph.integers(`shape_${id}`, [1, down * 2, across * 2, channels]);
    const doubled = graph.node("Reshape", [rows, shape], `doubled_${id}`);
    return graph.node("Transpose", [doubled], `v_${id}`, { perm: [0, 3, 1, 2] });
  }

  #refuseOtherScale(input: Tensor, output: Tensor): void {
    if (isSame(this.#encodingOf(input), this.#encodingOf(output))) return;
    throw new BadTflite(`tensor ${output.name} should have the scale and zero point of ${input.name}`);
  }

  #keep(output: Tensor, name: string): void {
    this.#names.set(output.index, name);
  }

  #sizeOf(tensor: Tensor): Size {
    const size = this.#options.sizes.get(tensor.index);
    if (size === undefined) throw new BadTflite(`tensor ${tensor.name} is used before it is computed`);
    return size;
  }

  /** Each use gets its own DequantizeLinear: onnxruntime fuses it with the operation that it feeds. */
  #dequantise(tensor: Tensor): string {
    if (this.#isFloat) return this.nameOf(tensor);
    const output = `x_${tensor.index}_${this.#count++}`;
    return this.#graph.node("DequantizeLinear", [this.nameOf(tensor), ...this.#scaleOf(tensor)], output);
  }

  #requantise(output: Tensor, value: string, activation: Activation): void {
    const limited = this.#limit(output, value, activation);
    const quantised = (): string =>
      this.#graph.node("QuantizeLinear", [limited, ...this.#scaleOf(output)], `v_${output.index}`);
    this.#keep(output, this.#isFloat ? limited : quantised());
  }

  /** No Clip is needed where the quantised range ends at the limits of the activation. */
  #limit(output: Tensor, value: string, activation: Activation): string {
    const { scale, lowest, highest } = this.#encodingOf(output);
    const [low, high] = LIMITS[activation];
    const isLimited = this.#isFloat ? activation === "none" : lowest >= low && highest <= high + scale / 2;
    if (isLimited) return value;
    const limits = [low, high].map((limit) =>
      Number.isFinite(limit) ? this.#graph.scalar(`limit_${limit}`, Float32Array.of(limit)) : "",
    );
    return this.#graph.node("Clip", [value, ...limits], `limited_${output.index}`);
  }

  /** Names of scale and zero point. */
  #scaleOf(tensor: Tensor): [string, string] {
    const { scale, zeroPoint } = this.#encodingOf(tensor);
    return [
      this.#graph.scalar(`s_${tensor.index}`, Float32Array.of(scale)),
      this.#graph.scalar(`z_${tensor.index}`, zeroPoint),
    ];
  }

  #encodingOf(tensor: Tensor): Encoding {
    return encode(tensor, this.#options.activations);
  }

  /** Above, left, below, right. */
  #pad(input: Tensor, output: Tensor, kernel: Pair, stride: Pair, dilation: Pair): number[] {
    const from = this.#sizeOf(input);
    const to = this.#sizeOf(output);
    const need = (size: number, outputs: number, i: 0 | 1) =>
      Math.max(0, (outputs - 1) * stride[i] + (kernel[i] - 1) * dilation[i] + 1 - size);
    const [y, x] = [need(from.down, to.down, 0), need(from.across, to.across, 1)];
    return [Math.floor(y / 2), Math.floor(x / 2), Math.ceil(y / 2), Math.ceil(x / 2)];
  }
}

/** The values of rows of equal length, one scale each. */
function scaleRows(values: Int8Array | Int32Array, scales: Float32Array): Float32Array {
  const length = values.length / scales.length;
  return Float32Array.from(values, (value, at) => value * (scales[Math.floor(at / length)] ?? 0));
}

/** Values are stored as int8 like in the TFLite file, or shifted to uint8. */
export type Activations = Int8Kernels["activations"];

interface Encoding {
  readonly scale: number;
  readonly zeroPoint: Int8Array | Uint8Array;
  /** The range of values that can be stored. */
  readonly lowest: number;
  readonly highest: number;
}

/** Difference between the unsigned and the signed byte of the same value. */
const SHIFT = 128;

export function encode({ name, type, quantisation }: Tensor, activations: Activations): Encoding {
  const scale = quantisation?.scales[0];
  const zero = quantisation?.zeroPoints[0];
  if (scale === undefined || zero === undefined || quantisation?.scales.length !== 1) {
    throw new BadTflite(`tensor ${name} should have one scale and one zero point, as in int8 EfficientDet-Lite files`);
  }
  const signed = type === "int8" ? zero : zero - SHIFT;
  const known = type === "int8" || type === "uint8";
  if (!known || !(scale > 0 && scale < Number.POSITIVE_INFINITY) || !(signed >= -SHIFT && signed < SHIFT)) {
    throw new BadTflite(
      `tensor ${name} is ${type} with the scale ${scale} and the zero point ${zero}; expected int8 or uint8, a positive scale and a zero point in range`,
    );
  }
  const stored = type === "uint8" ? "uint8" : activations;
  return {
    scale,
    zeroPoint: stored === "int8" ? Int8Array.of(signed) : Uint8Array.of(signed + SHIFT),
    lowest: (-SHIFT - signed) * scale,
    highest: (SHIFT - 1 - signed) * scale,
  };
}

/** Whether equal bytes stand for equal values. */
export const isSame = (a: Encoding, b: Encoding): boolean =>
  a.scale === b.scale && a.zeroPoint.constructor === b.zeroPoint.constructor && a.zeroPoint[0] === b.zeroPoint[0];
