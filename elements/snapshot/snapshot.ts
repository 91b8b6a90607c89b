/**
 * Keeps chosen frames as picture files and passes every frame on. A picture that cannot be written costs that picture,
 * not the stream. With neither `{index}` nor `{pts}` in the path, the file always holds the latest one.
 */
import { Type } from "typebox";
import { defineElement } from "../element.ts";

export default defineElement({
  kind: "transform",
  name: "snapshot",
  about: "Writes chosen frames as PNG or JPEG files.",
  example: `
graph: snapshot-example
about: A picture after half a second and one every ten seconds.
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
        "A file to write that ends in .png or .jpg; {index} counts the pictures, {pts} is the time in seconds.",
    }),
    at: Type.Array(Type.Number({ minimum: 0, maximum: 1e9 }), {
      default: [],
      maxItems: 10_000,
      live: true,
      description: "Seconds into the stream; the first frame at or after each is kept.",
    }),
    every: Type.Optional(
      Type.Number({
        minimum: 0.001,
        maximum: 1e9,
        live: true,
        description: "Keep a frame every so many seconds.",
      }),
    ),
  }),
  caps: "video/x-raw,format={I420,NV12}",
  async create(properties, services) {
    const { SnapshotHandler } = await import("./handler.ts");
    return new SnapshotHandler(properties, services.log);
  },
});
