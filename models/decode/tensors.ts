/** Finds outputs by shape and by name, and checks the tensors of a run against them. */
import { ModelMisfit } from "../fault.ts";
import type { Fitting, Outputs, OutputTensor, TensorInfo } from "./decoder.ts";
import type { DecoderOptions } from "./options.ts";

/** One entry per dimension; null stands for any size. */
type ShapePattern = readonly (number | null)[];

/** False for a dynamic dimension. */
export const isKnown = (dimension: number | string | undefined): dimension is number =>
  typeof dimension === "number" && dimension > 0;

/** A dynamic batch size always fits; other dynamic dimensions fit only with `isLoose`. */
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

/** The first float32 output of this shape. */
export const findFloats = (fitting: Fitting, pattern: ShapePattern): TensorInfo | undefined =>
  fitting.outputs.find((tensor) => isFloat(tensor) && fitsShape(tensor, pattern, fitting));

/** Throws `ModelMisfit` when a run returned another shape than the model declares. */
export function readTensor(outputs: Outputs, name: string, pattern: ShapePattern): OutputTensor {
  const tensor = outputs[name];
  const fits =
    tensor?.dims.length === pattern.length && pattern.every((size, i) => size === null || tensor.dims[i] === size);
  if (tensor !== undefined && fits) return tensor;
  const expected = `[${pattern.map((size) => size ?? "any").join(", ")}]`;
  const found = tensor === undefined ? `only the outputs ${Object.keys(outputs).join(", ")}` : `[${tensor.dims}]`;
  throw new ModelMisfit(
    `the model returned another output ${name} than it declares: expected ${expected}, found ${found}`,
  );
}

export function readFloats(
  outputs: Outputs,
  name: string,
  pattern: ShapePattern,
): { readonly data: Float32Array; readonly dims: readonly number[] } {
  const { data, dims, type } = readTensor(outputs, name, pattern);
  if (data instanceof Float32Array) return { data, dims };
  throw new ModelMisfit(`the model returned the output ${name} as ${type}; expected float32`);
}

type Role = keyof NonNullable<DecoderOptions["outputs"]>;

/** Words in common output names: `detection_boxes`, `bboxes`, `det_scores`, `labels`, `num_dets` … */
const WORDS: Readonly<Record<Role, RegExp>> = {
  boxes: /box|coord/i,
  scores: /score|logit|conf|prob/i,
  classes: /class|label|categor/i,
  count: /num|count|valid/i,
};
/** TensorFlow exports repeat their outputs from before suppression under these names. */
const RAW = /raw_|multiclass/i;

/** By the name in the card, by a word in its name, or because it is the only one. */
export function findRole({ options }: Fitting, role: Role, among: readonly TensorInfo[]): TensorInfo | undefined {
  const named = options.outputs?.[role];
  if (named !== undefined) return among.find(({ name }) => name === named);
  const [only] = among;
  return among.find(({ name }) => WORDS[role].test(name) && !RAW.test(name)) ?? (among.length === 1 ? only : undefined);
}

/** Boxes [1, N, 4], and the other outputs with three dimensions. */
export function splitBoxes(fitting: Fitting): { boxes: TensorInfo | undefined; others: readonly TensorInfo[] } {
  const floats = fitting.outputs.filter((tensor) => isFloat(tensor) && tensor.shape.length === 3);
  const candidates = floats.filter((tensor) => fitsShape(tensor, [1, null, 4], fitting));
  const boxes = findRole(fitting, "boxes", candidates);
  return { boxes, others: floats.filter((tensor) => tensor !== boxes) };
}

/** Outputs that list a box, a score and a class per object. */
export interface ListedTensors {
  readonly boxes: TensorInfo;
  readonly scores: TensorInfo;
  readonly classes: TensorInfo;
  /** How many entries are valid; the rest is padding. */
  readonly count?: TensorInfo | undefined;
  /** Whether shapes begin with a batch of one. */
  readonly isBatched: boolean;
}

export function findListed(fitting: Fitting): ListedTensors | null {
  const { outputs, options } = fitting;
  const isBoxes = (tensor: TensorInfo): boolean =>
    isFloat(tensor) && (fitsShape(tensor, [1, null, 4], fitting) || fitsShape(tensor, [null, 4], fitting));
  const boxes = findRole(fitting, "boxes", outputs.filter(isBoxes));
  if (boxes === undefined) return null;
  const isBatched = boxes.shape.length === 3;
  const pattern = isBatched ? [1, null] : [null];
  const flat = outputs.filter((tensor) => fitsShape(tensor, pattern, fitting) && !isCount(tensor));
  const scores = findRole(fitting, "scores", flat.filter(isFloat));
  const unscored = flat.filter((tensor) => tensor !== scores);
  // A wrong name in the card is an error: no other output is used instead.
  const classes =
    findRole(fitting, "classes", unscored) ??
    (options.outputs?.classes === undefined ? flat.find((tensor) => !isFloat(tensor)) : undefined);
  if (scores === undefined || classes === undefined || scores === classes) return null;
  return { boxes, scores, classes, count: findRole(fitting, "count", outputs.filter(isCount)), isBatched };
}

const isCount = ({ name, shape }: TensorInfo): boolean =>
  WORDS.count.test(name) || shape.length === 0 || (shape.length === 1 && shape[0] === 1);
