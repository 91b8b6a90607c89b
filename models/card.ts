/**
 * A model card: everything that is to be known of a model before it runs, in one YAML file. The weights are not in it;
 * it says where they come from and what they must hash to.
 */
import { type Static, Type } from "typebox";
import { DecoderOptions } from "./decode/options.ts";

const CLOSED = { additionalProperties: false } as const;
const Sha256 = Type.String({
  pattern: "^[0-9a-f]{64}$",
  description: "Of the file that the sources give: 64 small hexadecimal digits, as `sha256sum FILE` prints them.",
});
const Pixels = Type.Integer({ minimum: 32, maximum: 8192 });
/** Characters of a name. */
export const LONGEST_NAME = 64;
const Word = Type.String({ minLength: 1, maxLength: 200 });
const perColour = (description: string, limits: { minimum?: number; exclusiveMinimum?: number }) =>
  Type.Tuple([Type.Number(limits), Type.Number(limits), Type.Number(limits)], { description });

/** Tried in the order written; the first that gives a file with the card's `sha256` is taken. */
export const ModelSource = Type.Union([
  Type.Object(
    {
      npm: Type.String({
        pattern: "^(@[a-z0-9._~-]+/)?[a-z0-9._~-]+@\\d+\\.\\d+\\.\\d+([A-Za-z.+-][A-Za-z0-9.+-]*)?$",
        description: "A package with its exact version: name@1.2.3.",
      }),
      integrity: Type.String({
        pattern: "^sha512-[A-Za-z0-9+/]{86}==$",
        description: "Of the tarball, as npm states it: sha512-…==.",
      }),
      member: Type.String({
        minLength: 1,
        maxLength: 255,
        description: "Path of the file inside the tarball, most often beginning with `package/`.",
      }),
    },
    CLOSED,
  ),
  Type.Object(
    { url: Type.String({ pattern: "^https://[^/]", description: "Where to fetch the file: https://…" }) },
    CLOSED,
  ),
  Type.Object(
    { path: Type.String({ minLength: 1, description: "A file here; relative paths start at the card." }) },
    CLOSED,
  ),
]);
export type ModelSource = Static<typeof ModelSource>;

/** From what was fetched to ONNX. Without it the file is ONNX already. */
export const Conversion = Type.Object(
  {
    from: Type.Literal("efficientdet-tflite", { description: "An EfficientDet-Lite of Google's, int8 TFLite." }),
    classes: Type.Optional(
      Type.Array(Type.String(), {
        minItems: 1,
        description: "Labels to keep; the others are cut out of the network, which makes it a little faster.",
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
      description: "Where a letterboxed picture lies: in the middle, or with all padding right and below.",
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
      description:
        "The name it is asked for by: small letters, digits and dashes; `models import` takes another with --name.",
    }),
    about: Word,
    licence: Type.String({ minLength: 1, maxLength: 200, description: "SPDX name where there is one." }),
    sources: Type.Array(ModelSource, { minItems: 1, maxItems: 16 }),
    sha256: Sha256,
    bytes: Type.Optional(
      Type.Integer({ minimum: 1, description: "Size of the file: shown beforehand, and nothing longer is fetched." }),
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
        confidence: Type.Number({ default: 0.4, minimum: 0, maximum: 1, description: "What counts as seen." }),
        weak: Type.Number({
          default: 0.1,
          minimum: 0,
          maximum: 1,
          description: "What the tracker may still hold on to.",
        }),
        overlap: Type.Number({
          default: 0.6,
          minimum: 0,
          maximum: 1,
          description: "Two boxes of a class that overlap more are one object.",
        }),
      },
      { ...CLOSED, default: {} },
    ),
  },
  CLOSED,
);
export type ModelCard = Static<typeof ModelCard>;
