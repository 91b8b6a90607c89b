/**
 * Draws boxes, labels and trails of detections and tracks onto the frame they belong to. A track that inference missed
 * has a thin, dashed box at its predicted position. Labels never overlap: without room a label is shortened to the id,
 * then omitted; in a crowd all labels are shortened.
 */
import { Type } from "typebox";
import { defineElement } from "../element.ts";

export default defineElement({
  kind: "transform",
  name: "overlay",
  about: "Draws boxes, labels and trails of detected objects.",
  example: `
graph: overlay-example
about: Detect and track objects, and record the annotated video.
chains:
  main:
    - source
    - decode
    - detect
    - track
    - overlay: { labels: [class, id], trails: 3 }
    - encode
    - record: { path: annotated.mp4 }
`,
  properties: Type.Object({
    labels: Type.Array(Type.Enum(["class", "id", "confidence"]), {
      default: ["class", "id", "confidence"],
      maxItems: 3,
      live: true,
      description: "Parts of the label of each box, in this order; an empty list for no labels.",
    }),
    trails: Type.Number({
      default: 2,
      minimum: 0,
      maximum: 60,
      live: true,
      description: "Length of the trail of each object in seconds, drawn at the foot of its box; 0 for none.",
    }),
    classes: Type.Array(Type.String({ minLength: 1 }), {
      default: [],
      maxItems: 1000,
      live: true,
      description: "Names of the classes to draw; an empty list for all.",
    }),
    opacity: Type.Number({ default: 1, minimum: 0, maximum: 1, live: true, description: "Opacity of the overlay." }),
  }),
  reads: [{ oneOf: ["tracks", "detections"] }],
  caps: "video/x-raw,format={I420,NV12}",
  access: "write",
  async create(properties) {
    const { Picture } = await import("./picture.ts");
    const picture = new Picture(properties);
    return {
      process(frame) {
        const shapes = picture.draw(frame);
        return shapes.length === 0 ? undefined : frame.draw(shapes);
      },
      update(next) {
        picture.properties = next;
      },
      flush: () => picture.forget(),
    };
  },
});
