/** Tells the network of an EfficientDet-Lite from what follows it: flattening, joining and Google's own post-processing. */
import { BadTflite } from "../tflite/flatbuffer.ts";
import type { Operator, Tensor, TfliteModel } from "../tflite/read-model.ts";

export interface DetectorParts {
  /** The picture, uint8 [1, height, width, 3]. */
  readonly image: Tensor;
  /** The network, in an order in which it can be computed. */
  readonly network: readonly Operator[];
  /** One of each a level, finest first: [1, down, across, anchors of a cell × classes] and [1, down, across, anchors of a cell × 4]. */
  readonly classHeads: readonly Tensor[];
  readonly boxHeads: readonly Tensor[];
  /** [all anchors, 4]: centre y, centre x, height, width in fractions of the picture. */
  readonly anchors: Tensor;
}

const POST_PROCESS = "TFLite_Detection_PostProcess";
const NETWORK_KINDS = ["quantize", "conv", "add", "max-pool", "resize-nearest"];

export function findParts(model: TfliteModel): DetectorParts {
  const last = model.operators.find(({ kind }) => kind.kind === "custom" && kind.name === POST_PROCESS);
  if (last === undefined) {
    throw new BadTflite(`this TFLite model is no EfficientDet-Lite detector: it has no operator ${POST_PROCESS}`);
  }
  const image = tensorOf(model, model.inputs[0]);
  if (image.type !== "uint8" || image.shape.length !== 4 || image.shape[0] !== 1 || image.shape[3] !== 3) {
    throw new BadTflite(
      `an int8 EfficientDet-Lite takes uint8 [1, height, width, 3], this model takes ${image.type} [${image.shape}]`,
    );
  }
  const [boxes, scores, anchors] = last.inputs;
  return {
    image,
    network: model.operators.filter(({ kind }) => NETWORK_KINDS.includes(kind.kind)),
    classHeads: findHeads(model, scores),
    boxHeads: findHeads(model, boxes),
    anchors: tensorOf(model, anchors),
  };
}

export function tensorOf(model: Pick<TfliteModel, "tensors">, index: number | undefined): Tensor {
  const tensor = model.tensors[index ?? -1];
  if (tensor === undefined) throw new BadTflite("an operator of the TFLite model lacks an input or output");
  return tensor;
}

/** Goes back from what the post-processing gets to the convolutions it was joined from. */
function findHeads(model: TfliteModel, joined: number | undefined): Tensor[] {
  const producers = new Map(model.operators.flatMap((operator) => operator.outputs.map((o) => [o, operator] as const)));
  const produce = (index: number | undefined, kinds: readonly string[]): Operator => {
    const operator = producers.get(index ?? -1);
    if (operator !== undefined && kinds.includes(operator.kind.kind)) return operator;
    throw new BadTflite(
      `this TFLite model is not built as an EfficientDet-Lite: ${kinds.join(" or ")} was expected before its ` +
        `post-processing, found ${operator?.kind.kind ?? "nothing"}`,
    );
  };
  let join = produce(joined, ["dequantize", "logistic", "concatenation"]);
  // Each step is nearer to the start; the count only stops a damaged file that goes in circles.
  for (let steps = 0; join.kind.kind !== "concatenation" && steps < model.operators.length; steps++) {
    join = produce(join.inputs[0], ["dequantize", "logistic", "concatenation"]);
  }
  return join.inputs.map((level) => tensorOf(model, produce(level, ["reshape"]).inputs[0]));
}
