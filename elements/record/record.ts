/**
 * Writes encoded video to a file that plays whatever happens to the machine: fragmented MP4, one fragment a second,
 * each written through as soon as it is complete. After a kill, all but the fragment in the making is there.
 */
import { Type } from "typebox";
import { defineElement } from "../element.ts";

/** `times`: cameras send no decoding times, which an MP4 file with B-frames needs. It takes one format as it is. */
const CODECS = {
  h264: { parse: "h264parse", format: "video/x-h264,stream-format=avc,alignment=au", times: "h264timestamper" },
  h265: { parse: "h265parse", format: "video/x-h265,stream-format=hvc1,alignment=au", times: "h265timestamper" },
} as const;

export default defineElement({
  kind: "composite",
  name: "record",
  about: "Writes H.264 or H.265 to an MP4 file that survives a crash.",
  example: `
graph: record-example
about: Two seconds of a moving ball as a file.
chains:
  main:
    - source: { uri: "test:ball?seconds=2" }
    - decode
    - encode
    - record: { path: ball.mp4 }
`,
  properties: Type.Object({
    path: Type.String({
      minLength: 1,
      description: "File to write. One that is there already is kept under the next free name (yard.1.mp4).",
    }),
    codec: Type.Enum(["h264", "h265"], { default: "h264", description: "What comes in." }),
  }),
  async open({ path }, services) {
    const { openTarget } = await import("./target.ts");
    const target = await openTarget(path, services.source?.uri ?? null);
    if (target.kept !== null) services.log.info(`the earlier recording is kept as ${target.kept}`);
    return target;
  },
  expand: ({ path, codec }) => ({
    nodes: [
      { suffix: "parse", factory: CODECS[codec].parse, properties: {} },
      { suffix: "format", factory: "capsfilter", properties: { caps: CODECS[codec].format } },
      { suffix: "times", factory: CODECS[codec].times, properties: {} },
      { suffix: "mux", factory: "mp4mux", properties: { "fragment-duration": 1000, streamable: true } },
      {
        suffix: "file",
        factory: "filesink",
        properties: { location: path, "buffer-mode": "unbuffered", sync: false, async: false },
      },
    ],
  }),
});
