/** Reads a TFLite file (schema version 3) into tensors and operators. Only what conversion needs is looked at. */
import { BadTflite, FlatFile, type Table } from "./flatbuffer.ts";
import { type Kind, readKind } from "./operators.ts";

export type TensorType = "float32" | "int32" | "uint8" | "int8" | "other";

/** value = scale × (stored − zeroPoint); one pair for the whole tensor, or one for each slice along `axis`. */
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
  /** Empty for what is computed. */
  readonly data: Uint8Array;
  readonly quantisation: Quantisation | null;
}

export interface Operator {
  readonly kind: Kind;
  /** −1 stands for an optional input that is not given. */
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
    throw new BadTflite(`one graph was expected in the TFLite file, found ${graphs.length}`);
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
  if (data === undefined) throw new BadTflite(`tensor ${name} names buffer ${table.uint32(2)} of ${buffers.length}`);
  const expected = shape.reduce((product, size) => product * size, SIZES[type]);
  if (data.length > 0 && type !== "other" && data.length !== expected) {
    throw new BadTflite(`tensor ${name} [${shape}] ${type} takes ${expected} bytes, the file holds ${data.length}`);
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
  // Old files have the number in a byte, new ones in an integer; the greater is the one in use.
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
  if (wrong !== undefined) throw new BadTflite(`the TFLite file names tensor ${wrong} and has ${count}`);
  return indices;
}
