/** Checks the inputs of a model against its card, and describes the tensors fed to them. */
import type { ModelCard, ModelInput } from "../../../models/card.ts";
import type { TensorInfo } from "../../../models/decode/decoder.ts";
import { ModelMisfit } from "../../../models/fault.ts";

export const shapeOf = ({ width, height, layout }: ModelInput): readonly number[] =>
  layout === "nchw" ? [1, 3, height, width] : [1, height, width, 3];

/** Names of the input for the image and, if the model has one, of the input for its size. */
interface ModelInputs {
  readonly picture: string;
  readonly size: string | null;
}

/** Throws `ModelMisfit`, listing the inputs of the model. */
export function findInputs(card: Pick<ModelCard, "model" | "input">, inputs: readonly TensorInfo[]): ModelInputs {
  const { input } = card;
  const expected = shapeOf(input);
  const picture = inputs.find(({ type, shape }) => type === input.type && fits(shape, expected));
  // RT-DETR and similar models take the image size as an input, to scale their boxes.
  const size = inputs.find((other) => other !== picture && other.type === "int64" && fits(other.shape, [1, 2]));
  const unknown = inputs.filter((other) => other !== picture && other !== size);
  if (picture !== undefined && unknown.length === 0) return { picture: picture.name, size: size?.name ?? null };
  throw new ModelMisfit(
    [
      `${card.model}: the inputs of this model do not match its card`,
      "  the model has",
      ...inputs.map(({ name, type, shape }) => `    ${name}: ${type} [${shape.join(", ")}]`),
      `  the card says ${input.type} [${expected.join(", ")}] (${input.layout})`,
      picture === undefined
        ? "  check input.width, input.height, input.type and input.layout"
        : `  unknown input ${unknown.map(({ name }) => name).join(", ")}: export the model without it`,
    ].join("\n"),
  );
}

/** A named dimension accepts any size. */
const fits = (shape: TensorInfo["shape"], expected: readonly number[]): boolean =>
  shape.length === expected.length &&
  shape.every((size, axis) => typeof size !== "number" || size < 0 || size === expected[axis]);

type Memory = ArrayBuffer | SharedArrayBuffer;

/** Size of the input tensor in bytes. */
export const sizeOf = ({ width, height, type }: ModelInput): number =>
  3 * width * height * (type === "uint8" ? 1 : Float32Array.BYTES_PER_ELEMENT);

export const viewTensor = ({ type }: ModelInput, memory: Memory): Uint8Array | Float32Array =>
  type === "uint8" ? new Uint8Array(memory) : new Float32Array(memory);
