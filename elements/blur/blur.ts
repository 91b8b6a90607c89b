/**
 * Makes objects and fixed regions unrecognisable, in place, before the frame is encoded or shown: what is left of them are
 * the means of large blocks. On frames without inference it follows the predicted tracks; an object that disappears stays
 * hidden at its last position for a while, and a frame before the first inference is hidden as a whole. What the detector
 * misses stays visible: choose a low `confidence`.
 */
import { Type } from "typebox";
import { Box } from "../../schemas/detections.ts";
import { defineElement } from "../element.ts";

export default defineElement({
  kind: "transform",
  name: "blur",
  about:
    "Makes objects of chosen classes and fixed regions of the frame unrecognisable. What the detector misses stays visible: give `detect` a low confidence.",
  example: `
graph: blur-example
about: Record video in which people are unrecognisable.
chains:
  main:
    - source
    - decode
    - detect
    - track
    - blur: { classes: [person], mode: pixelate }
    - encode
    - record: { path: private.mp4 }
`,
  properties: Type.Object({
    classes: Type.Optional(
      Type.Array(Type.String({ minLength: 1 }), {
        maxItems: 1000,
        live: true,
        description:
          "Names of the classes to hide; an empty list for all. Default: all, or with regions none, so that no detector is needed.",
      }),
    ),
    regions: Type.Array(Box, {
      default: [],
      maxItems: 100,
      live: true,
      description: "Fixed regions to hide: [left, top, width, height] in fractions of the frame.",
    }),
    mode: Type.Enum(["pixelate", "blur"], {
      default: "pixelate",
      live: true,
      description: "pixelate shows blocks of one colour; blur interpolates between their colours.",
    }),
    strength: Type.Number({
      default: 0.25,
      minimum: 0.02,
      maximum: 1,
      live: true,
      description:
        "Side of a block, as a fraction of the shorter side of the box or region, and at least 8 pixels. With 0.25, a person is four blocks wide.",
    }),
    padding: Type.Number({
      default: 0.1,
      minimum: 0,
      maximum: 2,
      live: true,
      description: "Margin around the box of an object on each side, as a fraction of its width and height.",
    }),
    holdMs: Type.Integer({
      default: 500,
      minimum: 0,
      maximum: 60_000,
      live: true,
      description:
        "Time that an object stays hidden at its last position after it was detected or tracked, and at least until the next inference.",
    }),
  }),
  needs: ({ classes, regions }) =>
    classes === undefined && regions.length > 0 ? [] : [{ oneOf: ["tracks", "detections"] }],
  reads: [{ optional: "tracks" }, { optional: "detections" }],
  caps: "video/x-raw,format={I420,NV12}",
  access: "write",
  preload: () => import("./hidden-boxes.ts"),
  async create(properties) {
    const { HiddenBoxes } = await import("./hidden-boxes.ts");
    const hidden = new HiddenBoxes(properties);
    return {
      process(frame) {
        const shapes = hidden.read(frame);
        return shapes.length === 0 ? undefined : frame.draw(shapes);
      },
      update(next) {
        hidden.properties = next;
      },
      flush: () => hidden.forget(),
    };
  },
});
