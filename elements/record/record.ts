/**
 * Writes encoded video to a crash-safe file: fragmented MP4, one fragment per second, each written to disk as soon as it
 * is complete. After a kill only the last, incomplete fragment is missing.
 */
import { Type } from "typebox";
import { defineElement } from "../element.ts";

/** `times` adds DTS, which cameras do not send and an MP4 file with B-frames needs. It accepts only this format. */
const CODECS = {
  h264: { parse: "h264parse", format: "video/x-h264,stream-format=avc,alignment=au", times: "h264timestamper" },
  h265: { parse: "h265parse", format: "video/x-h265,stream-format=hvc1,alignment=au", times: "h265timestamper" },
} as const;

export default defineElement({
  kind: "composite",
  name: "record",
  about: "Writes H.264 or H.265 to a crash-safe MP4 file.",
  example: `
graph: record-example
about: Record two seconds of a moving ball.
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
      description: "File to write. An existing file is renamed to the next free name (yard.1.mp4).",
    }),
    codec: Type.Enum(["h264", "h265"], { default: "h264", description: "Codec of the input." }),
  }),
  async open({ path }, services) {
    const { openTarget } = await import("./target.ts");
    const target = await openTarget(path, services.source?.uri ?? null);
    if (target.kept !== null) services.log.info(`existing recording renamed to ${target.kept}`);
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
