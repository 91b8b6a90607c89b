/**
 * Detects objects with a model. Inference runs in its own thread; several frames are in flight, so that the next tensor
 * is ready when an inference ends.
 *
 * At pace `fast` inference runs on every frame, or on every Nth. Live, the model sets the rate: if it is slower than the
 * video, frames between two inferences wait for the earlier one and pass with `inferred: false`. All frames leave in
 * order, none is dropped, and every box belongs to the frame it was detected in; the cost is latency.
 *
 * `every: motion` runs inference only if the image has changed: see motion-gate.ts.
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
    description: `${description} Null uses the value of the model card.`,
  });

export default defineElement({
  kind: "transform",
  name: "detect",
  about: "Detects objects in frames with a neural network.",
  example: `
graph: detect-example
about: Detect people and bicycles in a clip and print a line for every frame.
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
      description: "Name of an installed model, or path of a model card.",
    }),
    confidence: orOfCard("Minimum confidence of a detection. An existing track continues with less: see `weak`."),
    weak: orOfCard("Minimum confidence of a weak detection, which can only continue an existing track."),
    overlap: orOfCard("Maximum overlap of two boxes of a class; boxes that overlap more are one object."),
    classes: Type.Array(Type.String({ minLength: 1 }), {
      default: [],
      maxItems: 10_000,
      live: true,
      description: "Classes to detect, by the names of the model; empty for all.",
    }),
    every: Type.Union([Type.Literal("auto"), Type.Literal("motion"), Type.Integer({ minimum: 1, maximum: 1000 })], {
      default: "auto",
      description:
        "Run inference on every Nth frame, or auto: live as often as the model can, at pace fast on all frames. With motion, only on frames that differ visibly from the last one with inference; while the camera moves, that is at `max-per-second`.",
    }),
    maxPerSecond: Type.Number({
      default: 12,
      minimum: 0.1,
      maximum: 120,
      description:
        "With `every: motion`, highest rate of inferences while the image changes: at 12, all frames of a source with 12 fps, every third of 25 fps. Where objects have appeared or disappeared, the next changed frame is inferred as well.",
    }),
    refreshSeconds: Type.Number({
      default: 3,
      minimum: 0.1,
      maximum: 3600,
      description: "With `every: motion`, time after which inference runs although the image has not changed.",
    }),
    roi: Type.Optional(
      Type.Object(
        {
          x: fraction("Left edge."),
          y: fraction("Top edge."),
          width: fraction("Width.", 0.01),
          height: fraction("Height.", 0.01),
        },
        {
          ...CLOSED,
          live: true,
          description: "Region of the frame to analyse, as {x, y, width, height} in fractions of the frame.",
        },
      ),
    ),
    tiles: Type.Optional(
      Type.Union(
        [
          Type.Literal("motion"),
          Type.Object(
            {
              columns: Type.Integer({ minimum: 1, maximum: 16 }),
              rows: Type.Integer({ minimum: 1, maximum: 16 }),
              overlap: Type.Optional(
                Type.Number({
                  minimum: 0,
                  maximum: 0.9,
                  description:
                    "Fraction of a tile shared with its neighbour: at least the size of objects that tiles would cut.",
                }),
              ),
              whole: Type.Optional(Type.Boolean({ description: "Also analyse the whole frame." })),
              motion: Type.Optional(Type.Boolean({ description: "Only tiles in which something has changed." })),
            },
            CLOSED,
          ),
        ],
        {
          description:
            "Analyses overlapping tiles, one inference each, for small objects in large frames: {columns, rows}. `overlap` is 0.2 of a tile by default; the whole frame is analysed too, for objects that tiles cut, unless `whole` is false. With `motion: true` and `every: motion`, inference runs only on tiles in which something has changed since their last inference, and once in `refresh-seconds` on all; the others keep their objects. `tiles: motion` does this with tiles of about twice the input of the model.",
        },
      ),
    ),
    threads: Type.Integer({
      default: 1,
      minimum: 1,
      maximum: 64,
      description:
        "Threads per inference. More threads help a single stream on idle cores, and cost throughput if several streams share them.",
    }),
    providers: Type.Array(Type.String({ minLength: 1 }), {
      default: ["cpu"],
      minItems: 1,
      maxItems: 8,
      description:
        "Execution providers of onnxruntime, in order of preference: cpu, or cuda or webgpu if available. `[auto]` uses the first of cuda, webgpu and cpu that is available and computes what the CPU computes, verified by a run at the start; a warning says why one is not used. On the CPU it uses the precision and the threads that the set-up has measured (`windhover models show`).",
    }),
    limitMs: Type.Integer({
      default: 5000,
      minimum: 100,
      maximum: 600_000,
      description:
        "Time limit of one inference in milliseconds, without time in which it waits for a processor; then its worker is replaced. Live, the limit is ten times the usual duration if that is less, and a worker that is blocked is replaced after 300 ms.",
    }),
  }),
  writes: ["detections"],
  caps: "video/x-raw,format={I420,NV12}",
  inFlight: MAX_IN_FLIGHT,
  async preload() {
    const [{ openModel }] = await load();
    await openModel("default").catch(() => {}); // loads the card reader; a missing model is reported later
  },
  async warmUp() {
    const [{ openModel }, { warmUp }] = await load();
    return warmUp(await openModel("default"));
  },
  async create(properties, services) {
    const [{ openModel, openTuned }, { DetectHandler }] = await load();
    const isTuned = properties.providers.includes("auto");
    const model = await (isTuned ? openTuned : openModel)(properties.model);
    return DetectHandler.create(model, properties, services);
  },
});

function load() {
  return Promise.all([import("../../models/open.ts"), import("./handler.ts")]);
}
