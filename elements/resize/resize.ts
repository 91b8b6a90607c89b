/**
 * Limits the height of the frame. The aspect is kept without black bars, a smaller frame is not enlarged, and width and
 * height are even, as encoders require.
 *
 * `videoscale` does this by caps alone: with square pixels it can keep the display aspect only by choosing the matching
 * width, and from each range it picks the value nearest to the input. Measured for 720p: 1920×1080 → 1280×720,
 * 1080×1920 → 404×720, 641×361 → 640×360, 768×576 → 768×576, 720×576 displayed at 16:9 → 1024×576. Without square pixels
 * it would squeeze the frame and change the pixel aspect ratio instead.
 */
import { Type } from "typebox";
import { defineElement } from "../element.ts";

const LINES = { "360p": 360, "720p": 720, "1080p": 1080 } as const;

export default defineElement({
  kind: "composite",
  name: "resize",
  about: "Downscales the frame to 360, 720 or 1080 lines, aspect kept; never upscales.",
  example: `
graph: resize-example
about: Downscale a test picture to 640 by 360.
chains:
  main:
    - source: { uri: "test:smpte?width=1920&height=1080&frames=25" }
    - decode
    - resize: { to: 360p }
    - print
`,
  properties: Type.Object({
    to: Type.Union([Type.Enum(["360p", "720p", "1080p"]), Type.Null()], {
      default: null,
      description: "Maximum height; null passes frames through unchanged.",
    }),
  }),
  expand: ({ to }) =>
    to === null
      ? { nodes: [{ suffix: "pass", factory: "identity", properties: { silent: true } }] }
      : {
          nodes: [
            { suffix: "scale", factory: "videoscale", properties: { "add-borders": false } },
            {
              suffix: "size",
              factory: "capsfilter",
              properties: {
                caps: `video/x-raw,width=[2,32768,2],height=[2,${LINES[to]},2],pixel-aspect-ratio=1/1`,
              },
            },
          ],
        },
});
