/** Which output holds what: by what its card says, by its name, or by being the only one of its shape. */
import type { Fitting, TensorInfo } from "./decoder.ts";
import type { DecoderOptions } from "./options.ts";
import { fitsShape, isFloat } from "./tensors.ts";

type Role = keyof NonNullable<DecoderOptions["outputs"]>;

/** Words of names that people meet: `detection_boxes`, `bboxes`, `det_scores`, `labels`, `num_dets` … */
const WORDS: Readonly<Record<Role, RegExp>> = {
  boxes: /box|coord/i,
  scores: /score|logit|conf|prob/i,
  classes: /class|label|categor/i,
  count: /num|count|valid/i,
};
/** Exports of TensorFlow repeat their outputs as they were before suppression. */
const RAW = /raw_|multiclass/i;

export function findRole({ options }: Fitting, role: Role, among: readonly TensorInfo[]): TensorInfo | undefined {
  const named = options.outputs?.[role];
  if (named !== undefined) return among.find(({ name }) => name === named);
  const [only] = among;
  return among.find(({ name }) => WORDS[role].test(name) && !RAW.test(name)) ?? (among.length === 1 ? only : undefined);
}

export interface ListedTensors {
  readonly boxes: TensorInfo;
  readonly scores: TensorInfo;
  readonly classes: TensorInfo;
  readonly count: TensorInfo | undefined;
  readonly isBatched: boolean;
}

/** Outputs that list a box, a score and a class for each object. */
export function findListed(fitting: Fitting): ListedTensors | null {
  const { outputs, options } = fitting;
  const boxes = findRole(
    fitting,
    "boxes",
    outputs.filter((tensor) => isFloat(tensor) && isBoxes(tensor, fitting)),
  );
  if (boxes === undefined) return null;
  const isBatched = boxes.shape.length === 3;
  const flat = outputs.filter(
    (tensor) => fitsShape(tensor, isBatched ? [1, null] : [null], fitting) && !isCount(tensor),
  );
  // A name that is wrong in the card must not be made up for.
  const scores = findRole(fitting, "scores", flat.filter(isFloat));
  const classes =
    findRole(
      fitting,
      "classes",
      flat.filter((tensor) => tensor !== scores),
    ) ?? (options.outputs?.classes === undefined ? flat.find((tensor) => !isFloat(tensor)) : undefined);
  if (scores === undefined || classes === undefined || scores === classes) return null;
  return { boxes, scores, classes, count: findRole(fitting, "count", outputs.filter(isCount)), isBatched };
}

const isBoxes = (tensor: TensorInfo, fitting: Fitting): boolean =>
  fitsShape(tensor, [1, null, 4], fitting) || fitsShape(tensor, [null, 4], fitting);

const isCount = ({ name, shape }: TensorInfo): boolean =>
  WORDS.count.test(name) || shape.length === 0 || (shape.length === 1 && shape[0] === 1);
