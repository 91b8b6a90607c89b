/** What size every tensor of the network has when the picture has another size than the one it was exported for. */
import { BadTflite } from "../tflite/flatbuffer.ts";
import type { Operator, Tensor, TfliteModel } from "../tflite/read-model.ts";
import { tensorOf } from "./parts.ts";

export interface Size {
  readonly down: number;
  readonly across: number;
}

/** All levels halve evenly at multiples of this. */
const COARSEST_STRIDE = 128;

export type Sizes = ReadonlyMap<number, Size>;

export function planSizes(
  model: Pick<TfliteModel, "tensors">,
  image: Tensor,
  network: readonly Operator[],
  wanted: Size,
): Sizes {
  const native = sizeOf(image);
  refuseUneven(native, wanted);
  const sizes = new Map<number, Size>([[image.index, wanted]]);
  for (const { kind, inputs, outputs } of network) {
    const input = sizes.get(inputs[0] ?? -1);
    const output = tensorOf(model, outputs[0]);
    if (input === undefined) throw new BadTflite(`tensor ${output.name} is computed from one that is not there yet`);
    if (kind.kind === "conv" || kind.kind === "max-pool") {
      const { stride, padded } = kind.window;
      if (!padded && sizeOf(output).down * stride[0] !== sizeOf(tensorOf(model, inputs[0])).down) {
        throw new BadTflite(
          `tensor ${output.name} is computed without padding, which an EfficientDet-Lite never needs`,
        );
      }
      sizes.set(output.index, { down: Math.ceil(input.down / stride[0]), across: Math.ceil(input.across / stride[1]) });
    } else if (kind.kind === "resize-nearest") {
      sizes.set(output.index, scaleTo(sizeOf(output), native, wanted));
    } else {
      const other = sizes.get(inputs[1] ?? inputs[0] ?? -1);
      if (other?.down !== input.down || other.across !== input.across) {
        throw new BadTflite(`tensor ${output.name} is the sum of two of different sizes`);
      }
      sizes.set(output.index, input);
    }
  }
  return sizes;
}

/** An enlarged level becomes as large as the level of its stride. */
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

function refuseUneven(native: Size, { down, across }: Size): void {
  const even = (size: number) => Number.isInteger(size) && size > 0 && size % COARSEST_STRIDE === 0;
  if ((down === native.down && across === native.across) || (even(down) && even(across))) return;
  throw new Error(
    `an EfficientDet-Lite of ${native.across}×${native.down} can be converted for that size or for multiples of ` +
      `${COARSEST_STRIDE} in both directions; ${across}×${down} was asked for`,
  );
}
