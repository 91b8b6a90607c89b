/**
 * Looks for objects with a model and writes down what it sees, frame by frame. Inference runs on a thread of its own;
 * several frames are in hand at once, so that the next tensor is ready when the last inference ends.
 *
 * At pace `fast` every frame is looked at, or every Nth. Live, the model sets the pace: when it is slower than the video
 * the frames between two looks wait for the earlier one and pass with `inferred: false`. All frames leave in order, none
 * is dropped here, and every box lies on the frame it was seen in; what that costs is latency.
 */
import { Type } from "typebox";
import { defineElement } from "../element.ts";
import { MAX_IN_FLIGHT } from "./limits.ts";

const CLOSED = { additionalProperties: false } as const;
const fraction = (description: string, minimum = 0) => Type.Number({ minimum, maximum: 1, description });
const orOfCard = (description: string) =>
  Type.Union([Type.Number({ minimum: 0, maximum: 1 }), Type.Null()], {
    default: null,
    live: true,
    description: `${description} Null takes what the model's card says.`,
  });

export default defineElement({
  kind: "transform",
  name: "detect",
  about: "Finds objects in frames with a neural network.",
  example: `
graph: detect-example
about: People and bicycles on a clip, a line for every frame.
chains:
  main:
    - source
    - decode
    - stage
    - detect: { model: default, classes: [person, bicycle], confidence: 0.5 }
    - print: { keys: [detections] }
`,
  properties: Type.Object({
    model: Type.String({
      default: "default",
      minLength: 1,
      description: "An installed model by name, or the path of a model card.",
    }),
    confidence: orOfCard("What counts as seen. A track that has begun goes on with less: see `weak`."),
    weak: orOfCard("What is too weak to count but may still hold a track."),
    overlap: orOfCard("Two boxes of a class that overlap more are one object."),
    classes: Type.Array(Type.String({ minLength: 1 }), {
      default: [],
      maxItems: 10_000,
      live: true,
      description: "What to look for, by the model's names; empty for all it knows.",
    }),
    every: Type.Union([Type.Literal("auto"), Type.Integer({ minimum: 1, maximum: 1000 })], {
      default: "auto",
      description:
        "Which frames are looked at: every Nth, or auto: as many as the model can, and at pace fast all of them.",
    }),
    roi: Type.Optional(
      Type.Object(
        {
          x: fraction("Left edge."),
          y: fraction("Upper edge."),
          width: fraction("Width.", 0.01),
          height: fraction("Height.", 0.01),
        },
        {
          ...CLOSED,
          live: true,
          description: "The part of the frame to look at, as {x, y, width, height} in fractions of it.",
        },
      ),
    ),
    tiles: Type.Optional(
      Type.Object(
        {
          columns: Type.Integer({ minimum: 1, maximum: 16 }),
          rows: Type.Integer({ minimum: 1, maximum: 16 }),
          overlap: Type.Optional(
            Type.Number({
              minimum: 0,
              maximum: 0.9,
              description: "Of a tile, shared with its neighbour: as large as the objects that tiles would cut.",
            }),
          ),
          whole: Type.Optional(Type.Boolean({ description: "Look at the undivided picture as well." })),
        },
        {
          ...CLOSED,
          description:
            "Looks at overlapping tiles, one inference each, for small objects in large pictures: {columns, rows}; `overlap` is 0.2 of a tile unless said otherwise, and the undivided picture is looked at as well, for what tiles cut, unless `whole` is false.",
        },
      ),
    ),
    threads: Type.Integer({
      default: 1,
      minimum: 1,
      maximum: 64,
      description: "Of one inference. More help a single stream on idle cores, and cost where several share them.",
    }),
    providers: Type.Array(Type.String({ minLength: 1 }), {
      default: ["cpu"],
      minItems: 1,
      maxItems: 8,
      description: "Where onnxruntime computes, in order of preference: cpu, or cuda where it is offered.",
    }),
    limitMs: Type.Integer({
      default: 5000,
      minimum: 100,
      maximum: 600_000,
      description: "One inference may take so long; then its worker is replaced.",
    }),
  }),
  writes: ["detections"],
  caps: "video/x-raw,format={I420,NV12}",
  inFlight: MAX_IN_FLIGHT,
  async preload() {
    const [{ openModel }] = await load();
    await openModel("default").catch(() => {}); // how cards are read; whether it is there matters to nobody yet
  },
  async create(properties, services) {
    const [{ openModel }, { DetectHandler }] = await load();
    return DetectHandler.create(await openModel(properties.model), properties, services);
  },
});

function load() {
  return Promise.all([import("../../models/open.ts"), import("./handler.ts")]);
}
