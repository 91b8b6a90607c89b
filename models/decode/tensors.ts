/** Outputs by name and shape. */
import type { Outputs, OutputTensor, TensorInfo } from "./decoder.ts";
import { ModelMisfit } from "./misfit.ts";

/** One entry a dimension; null stands for any size. */
export type ShapePattern = readonly (number | null)[];

export const isKnown = (dimension: number | string | undefined): dimension is number =>
  typeof dimension === "number" && dimension > 0;

/** Dimensions that are only known when the model runs fit whatever is expected. */
export function fitsShape({ shape }: TensorInfo, pattern: ShapePattern): boolean {
  return (
    shape.length === pattern.length &&
    pattern.every((size, i) => {
      const dimension = shape[i];
      return size === null || !isKnown(dimension) || dimension === size;
    })
  );
}

export const isFloat = ({ type }: TensorInfo): boolean => type === "float32";

const isSize = ({ dims }: OutputTensor, pattern: ShapePattern): boolean =>
  dims.length === pattern.length && pattern.every((size, i) => size === null || dims[i] === size);

/** Throws when a run gave something else than the model had declared. */
export function readTensor(outputs: Outputs, name: string, pattern: ShapePattern): OutputTensor {
  const tensor = outputs[name];
  if (tensor !== undefined && isSize(tensor, pattern)) return tensor;
  const wanted = `[${pattern.map((size) => size ?? "any").join(", ")}]`;
  const met = tensor === undefined ? `there is none, only ${Object.keys(outputs).join(", ")}` : `[${tensor.dims}]`;
  throw new ModelMisfit(`the model gave another output ${name} than it declared: expected ${wanted}, met ${met}`);
}

export function readFloats(
  outputs: Outputs,
  name: string,
  pattern: ShapePattern,
): { readonly data: Float32Array; readonly dims: readonly number[] } {
  const { data, dims, type } = readTensor(outputs, name, pattern);
  if (data instanceof Float32Array) return { data, dims };
  throw new ModelMisfit(`the model gave the output ${name} as ${type}; expected float32`);
}
