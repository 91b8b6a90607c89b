/** Writes TFLite files for tests. Field numbers are those of TFLite's schema. */
import { type Fields, writeFlatFile } from "./flatbuffer.fixture.ts";
import type { Tensor } from "./read-model.ts";

export type SketchedTensor = Omit<Tensor, "index">;

export interface SketchedOperator {
  readonly code: number;
  readonly custom?: string;
  readonly inputs: readonly number[];
  readonly outputs: readonly number[];
  readonly options?: Fields;
}

export interface SketchedModel {
  readonly tensors: readonly SketchedTensor[];
  readonly operators: readonly SketchedOperator[];
  readonly inputs: readonly number[];
  readonly outputs: readonly number[];
}

const TYPES = { float32: 0, int32: 2, uint8: 3, int8: 9, other: 1 } as const;

export function writeTflite({ tensors, operators, inputs, outputs }: SketchedModel): Uint8Array {
  const graph: Fields = {
    0: { tables: tensors.map((tensor, i) => describeTensor(tensor, i)) },
    1: { int32s: inputs },
    2: { int32s: outputs },
    3: {
      tables: operators.map((operator, i) => ({
        0: { int32: i },
        1: { int32s: operator.inputs },
        2: { int32s: operator.outputs },
        ...(operator.options && { 4: { table: operator.options } }),
      })),
    },
  };
  return writeFlatFile({
    0: { int32: 3 },
    1: {
      tables: operators.map(({ code, custom }) => ({
        0: { uint8: code },
        ...(custom !== undefined && { 1: { text: custom } }),
        3: { int32: code },
      })),
    },
    2: { tables: [graph] },
    4: { tables: [{}, ...tensors.map(({ data }): Fields => (data.length === 0 ? {} : { 0: { bytes: data } }))] },
  });
}

function describeTensor({ name, shape, type, quantisation }: SketchedTensor, index: number): Fields {
  return {
    0: { int32s: shape },
    1: { uint8: TYPES[type] },
    2: { int32: index + 1 },
    3: { text: name },
    ...(quantisation && {
      4: {
        table: {
          2: { float32s: quantisation.scales },
          3: { int64s: quantisation.zeroPoints },
          6: { int32: quantisation.axis },
        },
      },
    }),
  };
}
