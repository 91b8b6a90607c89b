/** Outputs of a model, filled by hand. */
import type { Candidates, Decoder, OutputTensor, TensorInfo } from "./decoder.ts";
import { createDecoder } from "./families.ts";
import type { DecoderOptions } from "./options.ts";

export interface Made {
  readonly [name: string]: OutputTensor;
}

export const floats = (dims: readonly number[], values: readonly number[] = []): OutputTensor => {
  const data = new Float32Array(dims.reduce((product, size) => product * size, 1));
  data.set(values);
  return { type: "float32", dims, data };
};

export const whole = (dims: readonly number[], values: readonly number[]): OutputTensor => ({
  type: "int64",
  dims,
  data: BigInt64Array.from(values.map(BigInt)),
});

export const declare = (made: Made): readonly TensorInfo[] =>
  Object.entries(made).map(([name, { type, dims }]) => ({ name, type, shape: dims }));

export const labelsOf = (count: number): string[] => Array.from({ length: count }, (_, i) => `label-${i}`);

export interface Card {
  readonly decoder: DecoderOptions;
  readonly labels: "coco" | number;
}

export function decoderFor({ decoder, labels }: Card, outputs: readonly TensorInfo[]): Decoder {
  const input = { width: 64, height: 32 };
  const card = { model: "made-up", input, decoder, labels: labels === "coco" ? labels : labelsOf(labels) };
  return createDecoder(card, labels === "coco" ? 80 : labels, outputs);
}

/** `[left, top, right, bottom, score, class]` of each, rounded to thousandths. */
export const toRows = ({ count, boxes, scores, classIds }: Candidates): readonly (readonly number[])[] =>
  Array.from({ length: count }, (_, i) =>
    [...boxes.subarray(4 * i, 4 * i + 4), scores[i] ?? Number.NaN, classIds[i] ?? Number.NaN].map(
      (value) => Math.round(value * 1000) / 1000 + 0,
    ),
  );

export const decode = (card: Card, made: Made, minimum = 0.1): readonly (readonly number[])[] =>
  toRows(decoderFor(card, declare(made)).decode(made, minimum));
