/** Which input of a model takes the picture, and in which form. */
import type { ModelInput } from "../../models/card.ts";
import type { TensorInfo } from "../../models/decode/decoder.ts";
import { UsageFault } from "../command.ts";

export interface Size {
  readonly width: number;
  readonly height: number;
}

const COLOURS = 3;

/** `size` is for models that take any. Throws `UsageFault` when the inputs do not tell. */
export function findPicture(
  inputs: readonly TensorInfo[],
  size: Size | undefined,
): Pick<ModelInput, "width" | "height" | "type" | "layout"> {
  const picture = inputs.find(({ shape }) => shape.length === 4 && (shape[1] === COLOURS || shape[3] === COLOURS));
  const has = `it has ${inputs.map(describeTensor).join(", ") || "none"}`;
  if (picture === undefined)
    throw new UsageFault(
      `none of the inputs takes a picture of 3 colours, [1, 3, height, width] or [1, height, width, 3]; ${has}`,
    );
  const { type, shape } = picture;
  if (type !== "float32" && type !== "uint8")
    throw new UsageFault(`the input takes ${type}; expected float32 or uint8: export the model so. ${has}`);
  const layout = shape[1] === COLOURS ? "nchw" : "nhwc";
  const [height, width] = layout === "nchw" ? shape.slice(2) : shape.slice(1);
  const fixed = isFixed(width) && isFixed(height) ? { width, height } : null;
  if (fixed === null && size === undefined)
    throw new UsageFault(`the model takes pictures of any size: say which with --size WIDTHxHEIGHT; ${has}`);
  if (fixed !== null && size !== undefined && (size.width !== fixed.width || size.height !== fixed.height))
    throw new UsageFault(
      `--size is ${size.width}x${size.height}, but the model takes ${fixed.width}x${fixed.height} only`,
    );
  return { ...(size ?? (fixed as Size)), type, layout };
}

const isFixed = (size: number | string | undefined): size is number => typeof size === "number" && size > 0;

export const describeTensor = ({ name, type, shape }: TensorInfo): string => `${name}: ${type} [${shape.join(", ")}]`;

export function readSize(text: string | undefined): Size | undefined {
  if (text === undefined) return undefined;
  const [, width, height] = /^(\d+)[x×](\d+)$/.exec(text) ?? [];
  if (width === undefined || height === undefined)
    throw new UsageFault(`--size is "${text}"; expected WIDTHxHEIGHT, such as 640x384`);
  return { width: Number(width), height: Number(height) };
}
