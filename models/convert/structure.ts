/** The structure of an EfficientDet-Lite: its network, its heads and anchors, and tensor sizes for another input size. */
import { BadTflite } from "../tflite/flatbuffer.ts";
import type { Operator, Tensor, TfliteModel } from "../tflite/read-model.ts";

interface DetectorParts {
  /** The input, uint8 [1, height, width, 3]. */
  readonly image: Tensor;
  /** Everything before flattening, concatenation and post-processing, in execution order. */
  readonly network: readonly Operator[];
  /** One per level, finest first: [1, down, across, anchors per cell × classes] and [1, down, across, anchors per cell × 4]. */
  readonly classHeads: readonly Tensor[];
  readonly boxHeads: readonly Tensor[];
  /** [anchors, 4]: centre y, centre x, height, width in fractions of the image. */
  readonly anchors: Tensor;
}

const POST_PROCESS = "TFLite_Detection_PostProcess";
const NETWORK_KINDS = ["quantize", "conv", "add", "max-pool", "resize-nearest"];

export function findParts(model: TfliteModel): DetectorParts {
  const last = model.operators.find(({ kind }) => kind.kind === "custom" && kind.name === POST_PROCESS);
  if (last === undefined) {
    throw new BadTflite(`this TFLite model is not an EfficientDet-Lite detector: it has no operator ${POST_PROCESS}`);
  }
  const image = tensorOf(model, model.inputs[0]);
  if (image.type !== "uint8" || image.shape.length !== 4 || image.shape[0] !== 1 || image.shape[3] !== 3) {
    throw new BadTflite(
      `expected the input of an int8 EfficientDet-Lite, uint8 [1, height, width, 3]; this model has ${image.type} [${image.shape}]`,
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

/** Follows an input of the post-processing back to the convolutions whose outputs it concatenates. */
function findHeads(model: TfliteModel, joined: number | undefined): Tensor[] {
  const producers = new Map(model.operators.flatMap((operator) => operator.outputs.map((o) => [o, operator] as const)));
  const produce = (index: number | undefined, kinds: readonly string[]): Operator => {
    const operator = producers.get(index ?? -1);
    if (operator !== undefined && kinds.includes(operator.kind.kind)) return operator;
    throw new BadTflite(
      `this TFLite model does not have the structure of an EfficientDet-Lite: expected ${kinds.join(" or ")} before ` +
        `its post-processing, found ${operator?.kind.kind ?? "nothing"}`,
    );
  };
  let join = produce(joined, ["dequantize", "logistic", "concatenation"]);
  // The count stops a damaged file with a cycle.
  for (let steps = 0; join.kind.kind !== "concatenation" && steps < model.operators.length; steps++) {
    join = produce(join.inputs[0], ["dequantize", "logistic", "concatenation"]);
  }
  return join.inputs.map((level) => tensorOf(model, produce(level, ["reshape"]).inputs[0]));
}

export interface Size {
  readonly down: number;
  readonly across: number;
}

/** Every level has whole cells if the input size is a multiple of this. */
const COARSEST_STRIDE = 128;

export type Sizes = ReadonlyMap<number, Size>;

/** The size of every tensor of the network for an input of the size `wanted`. */
export function planSizes(
  model: Pick<TfliteModel, "tensors">,
  image: Tensor,
  network: readonly Operator[],
  wanted: Size,
): Sizes {
  const native = sizeOf(image);
  checkSize(native, wanted);
  const sizes = new Map<number, Size>([[image.index, wanted]]);
  for (const { kind, inputs, outputs } of network) {
    const input = sizes.get(inputs[0] ?? -1);
    const output = tensorOf(model, outputs[0]);
    if (input === undefined) throw new BadTflite(`tensor ${output.name} is computed before its input`);
    if (kind.kind === "conv" || kind.kind === "max-pool") {
      const { stride, padded } = kind.window;
      if (!padded && sizeOf(output).down * stride[0] !== sizeOf(tensorOf(model, inputs[0])).down) {
        throw new BadTflite(
          `tensor ${output.name} is computed without padding; an EfficientDet-Lite pads all its layers`,
        );
      }
      sizes.set(output.index, { down: Math.ceil(input.down / stride[0]), across: Math.ceil(input.across / stride[1]) });
    } else if (kind.kind === "resize-nearest") {
      sizes.set(output.index, scaleTo(sizeOf(output), native, wanted));
    } else {
      const other = sizes.get(inputs[1] ?? inputs[0] ?? -1);
      if (other?.down !== input.down || other.across !== input.across) {
        throw new BadTflite(`tensor ${output.name} is the sum of two tensors of different sizes`);
      }
      sizes.set(output.index, input);
    }
  }
  return sizes;
}

/** An upsampled level gets the size of the level with its stride. */
function scaleTo(size: Size, native: Size, wanted: Size): Size {
  const stride = 2 ** Math.round(Math.log2(native.down / size.down));
  return { down: Math.ceil(wanted.down / stride), across: Math.ceil(wanted.across / stride) };
}

export function sizeOf({ name, shape }: Tensor): Size {
  const [, down, across] = shape;
  if (shape.length !== 4 || down === undefined || across === undefined || down < 1 || across < 1) {
    throw new BadTflite(`tensor ${name} should be [1, down, across, channels] and is [${shape}]`);
  }
  return { down, across };
}

function checkSize(native: Size, { down, across }: Size): void {
  const even = (size: number) => Number.isInteger(size) && size > 0 && size % COARSEST_STRIDE === 0;
  if ((down === native.down && across === native.across) || (even(down) && even(across))) return;
  throw new Error(
    `an EfficientDet-Lite of ${native.across}×${native.down} can be converted for that size or for multiples of ` +
      `${COARSEST_STRIDE} in both directions; requested was ${across}×${down}`,
  );
}
