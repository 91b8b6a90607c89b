/**
 * Writes selected frames as image files and passes every frame through. A write failure costs that image, not the
 * stream. With neither `{index}` nor `{pts}` in the path, the file always holds the latest image.
 */
import { Type } from "typebox";
import { defineElement } from "../element.ts";

export default defineElement({
  kind: "transform",
  name: "snapshot",
  about: "Writes selected frames as PNG or JPEG files.",
  example: `
graph: snapshot-example
about: Write an image after half a second and one every ten seconds.
chains:
  main:
    - source
    - decode
    - snapshot: { path: "shots/{index}-{pts}.jpg", at: [0.5], every: 10 }
    - print
`,
  properties: Type.Object({
    path: Type.String({
      pattern: "\\.(png|jpg|jpeg|PNG|JPG|JPEG)$",
      description:
        "File to write, ending in .png or .jpg; {index} is the number of the image, {pts} its time in seconds.",
    }),
    at: Type.Array(Type.Number({ minimum: 0, maximum: 1e9 }), {
      default: [],
      maxItems: 10_000,
      live: true,
      description: "Stream times in seconds; the first frame at or after each is written.",
    }),
    every: Type.Optional(
      Type.Number({
        minimum: 0.001,
        maximum: 1e9,
        live: true,
        description: "Interval between frames to write, in seconds.",
      }),
    ),
  }),
  caps: "video/x-raw,format={I420,NV12}",
  async create(properties, services) {
    const { SnapshotHandler } = await import("./handler.ts");
    return new SnapshotHandler(properties, services.log);
  },
});
