/**
 * Crops the frame to a region. Objects that are already in the metadata stay right: boxes become fractions of the region,
 * what lies outside is dropped. Behind it, the region is the input video, in messages too. Elements that need the whole
 * picture of the camera, such as `geolocate`, are placed before it. The region is not live: frames and metadata would change
 * at different times.
 */
import { Type } from "typebox";
import type { Box } from "../../schemas/detections.ts";
import { defineElement } from "../element.ts";
import { edgesOf } from "./region.ts";

export default defineElement({
  kind: "transform",
  name: "crop",
  about: "Crops the frame to a region. Boxes of objects found before it are kept right.",
  example: `
graph: crop-example
about: Detect people in the right half of the frame only, and record that half.
chains:
  main:
    - source
    - decode
    - crop: [0.5, 0, 0.5, 1]
    - detect: { classes: [person] }
    - track
    - overlay
    - encode
    - record: { path: right-half.mp4 }
`,
  properties: Type.Object({
    region: Type.Unsafe<Box>(
      Type.Array(Type.Number({ minimum: 0, maximum: 1 }), {
        minItems: 4,
        maxItems: 4,
        description:
          "[left, top, width, height] in fractions of the frame, rounded to even pixels; what reaches beyond the frame is left out.",
      }),
    ),
  }),
  main: "region",
  reads: [{ optional: "tracks" }, { optional: "detections" }, { optional: "places" }, { optional: "cameraMotion" }],
  writes: ["crop"],
  caps: "video/x-raw,format={I420,NV12}",
  behind({ region }) {
    const [left, top, right, bottom] = edgesOf(region);
    return [
      {
        suffix: "pixels",
        factory: "regioncrop",
        properties: { "region-left": left, "region-top": top, "region-right": right, "region-bottom": bottom },
      },
    ];
  },
  preload: () => import("./metadata.ts"),
  async create({ region }) {
    const { cropMetadata } = await import("./metadata.ts");
    return { process: (frame) => frame.write(cropMetadata(frame.meta, region, frame.format)) };
  },
});
