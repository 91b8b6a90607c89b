/**
 * Draws what was detected and tracked onto the frame it was found on: boxes, labels and where each object came from. An
 * object that was looked for and not found has a thin, dashed box where it should be by now. Labels never cover each
 * other: where there is no room one is cut down to the id, and then left out; in a crowd all of them are cut down.
 */
import { Type } from "typebox";
import { defineElement } from "../element.ts";

export default defineElement({
  kind: "transform",
  name: "overlay",
  about: "Draws boxes, labels and trails of detected objects.",
  example: `
graph: overlay-example
about: Detect and track objects, and record the video with them drawn on it.
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
      description: "What stands at each box, in this order; an empty list for nothing.",
    }),
    trails: Type.Number({
      default: 2,
      minimum: 0,
      maximum: 60,
      live: true,
      description: "Seconds of an object's way that are shown, by the foot of its box; 0 for none.",
    }),
    classes: Type.Array(Type.String({ minLength: 1 }), {
      default: [],
      maxItems: 1000,
      live: true,
      description: "Names of the classes that are drawn; an empty list for all.",
    }),
    opacity: Type.Number({ default: 1, minimum: 0, maximum: 1, live: true, description: "Of all that is drawn." }),
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
