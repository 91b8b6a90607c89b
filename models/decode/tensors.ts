/** Outputs by name and shape. */
import type { Fitting, Outputs, OutputTensor, TensorInfo } from "./decoder.ts";
import { ModelMisfit } from "./misfit.ts";

/** One entry a dimension; null stands for any size. */
export type ShapePattern = readonly (number | null)[];

export const isKnown = (dimension: number | string | undefined): dimension is number =>
  typeof dimension === "number" && dimension > 0;

/**
 * A batch that is only known when the model runs fits. Of the other dimensions those fit that are expected, and where
 * `isLoose` those that are not known.
 */
export function fitsShape(
  { shape }: TensorInfo,
  pattern: ShapePattern,
  { isLoose }: Pick<Fitting, "isLoose">,
): boolean {
  return (
    shape.length === pattern.length &&
    pattern.every((size, i) => {
      const dimension = shape[i];
      const isBatch = i === 0 && size === 1;
      return size === null || dimension === size || (!isKnown(dimension) && (isBatch || isLoose));
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
