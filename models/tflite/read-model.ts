/** Reads from a TFLite file (schema version 3) the tensors and operators that conversion needs. */
import { BadTflite, FlatFile, type Table } from "./flatbuffer.ts";

type TensorType = "float32" | "int32" | "uint8" | "int8" | "other";

/** value = scale × (stored − zeroPoint); one pair for the whole tensor, or one per slice along `axis`. */
export interface Quantisation {
  readonly scales: readonly number[];
  readonly zeroPoints: readonly number[];
  readonly axis: number;
}

export interface Tensor {
  readonly index: number;
  readonly name: string;
  readonly type: TensorType;
  readonly shape: readonly number[];
  /** Empty for computed tensors. */
  readonly data: Uint8Array;
  readonly quantisation: Quantisation | null;
}

export interface Operator {
  readonly kind: Kind;
  /** −1 stands for an omitted optional input. */
  readonly inputs: readonly number[];
  readonly outputs: readonly number[];
}

export interface TfliteModel {
  readonly tensors: readonly Tensor[];
  readonly operators: readonly Operator[];
  readonly inputs: readonly number[];
  readonly outputs: readonly number[];
}

const TYPES: Readonly<Record<number, TensorType>> = { 0: "float32", 2: "int32", 3: "uint8", 9: "int8" };
const SIZES: Readonly<Record<TensorType, number>> = { float32: 4, int32: 4, uint8: 1, int8: 1, other: 0 };

export function readModel(bytes: Uint8Array): TfliteModel {
  const root = new FlatFile(bytes).root("TFL3");
  const graphs = root.tables(2);
  const graph = graphs[0];
  if (graph === undefined || graphs.length > 1) {
    throw new BadTflite(`expected one graph in the TFLite file, found ${graphs.length}`);
  }
  const buffers = root.tables(4).map((buffer) => buffer.bytes(0));
  const tensors = graph.tables(0).map((table, index) => readTensor(table, index, buffers));
  const codes = root.tables(1);
  const operators = graph.tables(3).map((table) => readOperator(table, codes, tensors.length));
  return {
    tensors,
    operators,
    inputs: readIndices(graph, 1, tensors.length),
    outputs: readIndices(graph, 2, tensors.length),
  };
}

function readTensor(table: Table, index: number, buffers: readonly Uint8Array[]): Tensor {
  const name = table.text(3);
  const type = TYPES[table.uint8(1)] ?? "other";
  const shape = table.int32s(0);
  const data = buffers[table.uint32(2)];
  if (data === undefined)
    throw new BadTflite(`tensor ${name} refers to buffer ${table.uint32(2)} of ${buffers.length}`);
  const expected = shape.reduce((product, size) => product * size, SIZES[type]);
  if (data.length > 0 && type !== "other" && data.length !== expected) {
    throw new BadTflite(`tensor ${name} [${shape}] ${type} needs ${expected} bytes, the file has ${data.length}`);
  }
  return { index, name, type, shape, data, quantisation: readQuantisation(table.table(4)) };
}

function readQuantisation(table: Table | null): Quantisation | null {
  const scales = table?.float32s(2) ?? [];
  if (table === null || scales.length === 0) return null;
  return { scales, zeroPoints: table.int64s(3).map(Number), axis: table.int32(6) };
}

function readOperator(table: Table, codes: readonly Table[], tensorCount: number): Operator {
  const code = codes[table.uint32(0)];
  if (code === undefined) throw new BadTflite(`an operator has code ${table.uint32(0)} of ${codes.length}`);
  // Old files store the number in a byte, new ones in an integer; the greater one is valid.
  const number = Math.max(code.int8(0), code.int32(3));
  return {
    kind: readKind(number, code.text(1), table.table(4)),
    inputs: readIndices(table, 1, tensorCount),
    outputs: readIndices(table, 2, tensorCount),
  };
}

function readIndices(table: Table, field: number, count: number): number[] {
  const indices = table.int32s(field);
  const wrong = indices.find((index) => index < -1 || index >= count);
  if (wrong !== undefined) throw new BadTflite(`the TFLite file refers to tensor ${wrong} and has ${count}`);
  return indices;
}

export type Activation = "none" | "relu" | "relu6";
export type Pair = readonly [down: number, across: number];

export interface Window {
  readonly stride: Pair;
  /** Padded for an output of ⌈input / stride⌉; otherwise not padded at all. */
  readonly padded: boolean;
  readonly activation: Activation;
}

/** The operators of an EfficientDet-Lite, with the settings that conversion needs. */
export type Kind =
  | { readonly kind: "conv"; readonly depthwise: boolean; readonly dilation: Pair; readonly window: Window }
  | { readonly kind: "max-pool"; readonly size: Pair; readonly window: Window }
  | { readonly kind: "add"; readonly activation: Activation }
  | { readonly kind: "resize-nearest"; readonly alignCorners: boolean; readonly halfPixel: boolean }
  | { readonly kind: "concatenation"; readonly axis: number }
  | { readonly kind: "reshape" | "logistic" | "quantize" | "dequantize" }
  | { readonly kind: "custom"; readonly name: string };

/** Numbers from the TFLite schema. */
const CODES: Readonly<Record<number, (options: Options) => Kind>> = {
  0: (o) => ({ kind: "add", activation: o.activation(0) }),
  2: (o) => ({ kind: "concatenation", axis: o.int32(0, 0) }),
  3: (o) => ({ kind: "conv", depthwise: false, dilation: [o.int32(5, 1), o.int32(4, 1)], window: o.window(3) }),
  4: (o) => ({ kind: "conv", depthwise: true, dilation: [o.int32(6, 1), o.int32(5, 1)], window: o.window(4) }),
  6: () => ({ kind: "dequantize" }),
  14: () => ({ kind: "logistic" }),
  17: (o) => ({ kind: "max-pool", size: [o.int32(4, 0), o.int32(3, 0)], window: o.window(5) }),
  22: () => ({ kind: "reshape" }),
  97: (o) => ({ kind: "resize-nearest", alignCorners: o.flag(0), halfPixel: o.flag(1) }),
  114: () => ({ kind: "quantize" }),
};
const CUSTOM_CODE = 32;
const ACTIVATIONS: readonly (Activation | undefined)[] = ["none", "relu", undefined, "relu6"];

function readKind(code: number, customName: string, options: Table | null): Kind {
  if (code === CUSTOM_CODE) return { kind: "custom", name: customName };
  const read = CODES[code];
  if (read !== undefined) return read(new Options(options));
  throw new BadTflite(
    `the TFLite file uses operator ${code}, which is not part of an EfficientDet-Lite; expected ${Object.keys(CODES).join(", ")}`,
  );
}

/** An operator with default settings only may have no options table. */
class Options {
  readonly #table: Table | null;

  constructor(table: Table | null) {
    this.#table = table;
  }

  int32(field: number, fallback: number): number {
    return this.#table?.int32(field, fallback) ?? fallback;
  }

  flag(field: number): boolean {
    return this.#table?.uint8(field) === 1;
  }

  activation(field: number): Activation {
    const number = this.#table?.int8(field) ?? 0;
    const activation = ACTIVATIONS[number];
    if (activation !== undefined) return activation;
    throw new BadTflite(`the TFLite file uses activation ${number}; expected 0 (none), 1 (ReLU) or 3 (ReLU6)`);
  }

  /** Padding and strides are in the same three fields of convolutions and pools. */
  window(activationField: number): Window {
    const stride: Pair = [this.int32(2, 1), this.int32(1, 1)];
    if (stride[0] < 1 || stride[1] < 1) {
      throw new BadTflite(`the TFLite file has a stride of ${stride.join(" and ")}; expected 1 or more`);
    }
    const padded = (this.#table?.int8(0) ?? 0) === 0;
    return { stride, padded, activation: this.activation(activationField) };
  }
}
