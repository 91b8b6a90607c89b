/** The part of a model card that describes how boxes are read from the outputs. */
import { type Static, Type } from "typebox";

export const DECODERS = ["efficientdet", "ssd", "yolox", "yolo", "picodet", "detr"] as const;
export type FamilyName = (typeof DECODERS)[number];

const FORMS = ["objectness", "columns", "rows", "list"] as const;
export type Form = (typeof FORMS)[number];

const CLOSED = { additionalProperties: false } as const;
const TensorName = Type.Optional(Type.String({ minLength: 1 }));

/** Everything except the family is optional when names and shapes of the outputs determine it. */
export const DecoderOptions = Type.Object(
  {
    family: Type.Enum([...DECODERS], { description: "How boxes are read from the outputs." }),
    form: Type.Optional(
      Type.Enum([...FORMS], {
        description:
          "yolo: the layout of the output, for shapes that fit several layouts, such as 1 or 2 labels and a dynamic number of rows: with objectness (v5, v6, v7), columns (v8, v11 as exported), rows (the same, transposed), or a list of objects (v10, v26, or with NMS inside).",
      }),
    ),
    strides: Type.Optional(Type.Array(Type.Integer({ minimum: 1 }), { minItems: 1 })),
    decoded: Type.Optional(Type.Boolean({ description: "yolox: the exported graph already outputs boxes in pixels." })),
    offset: Type.Optional(
      Type.Number({
        minimum: 0,
        maximum: 1,
        description: "picodet: position of an anchor in its cell: 0.5 for the centre, 0 for the corner (NanoDet-Plus).",
      }),
    ),
    boxes: Type.Optional(
      Type.Enum(["ltrb", "tlbr", "cxcywh"], {
        description: "ssd, detr: left, top, right, bottom; or top, left, bottom, right; or centre, width, height.",
      }),
    ),
    units: Type.Optional(
      Type.Enum(["pixels", "fractions"], {
        description: "ssd, yolo, detr: whether boxes are in pixels of the input or in fractions of it.",
      }),
    ),
    scores: Type.Optional(
      Type.Enum(["ready", "sigmoid", "softmax"], {
        description: "ssd, picodet, detr: the function to apply to the class scores; `ready` applies none.",
      }),
    ),
    numbering: Type.Optional(
      Type.Enum(["labels", "after-background", "coco-90"], {
        description:
          "ssd, detr: class 0 is the first label; or class 0 is the background and class 1 the first label; or classes are COCO category ids, from 1 to 90 with gaps.",
      }),
    ),
    outputs: Type.Optional(
      Type.Object(
        { boxes: TensorName, scores: TensorName, classes: TensorName, count: TensorName },
        { ...CLOSED, description: "ssd, detr: names of the outputs, if they cannot be recognised by name or shape." },
      ),
    ),
  },
  CLOSED,
);
export type DecoderOptions = Static<typeof DecoderOptions>;
export type BoxOrder = NonNullable<DecoderOptions["boxes"]>;
export type BoxUnits = NonNullable<DecoderOptions["units"]>;
export type ScoreKind = NonNullable<DecoderOptions["scores"]>;
export type Numbering = NonNullable<DecoderOptions["numbering"]>;
