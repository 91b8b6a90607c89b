/**
 * Makes the picture at most so many lines high. The aspect is kept without black bars, a smaller picture stays as it
 * is, and width and height come out even, as encoders want them.
 *
 * All of that is asked of `videoscale` by caps: square pixels leave it no way to keep the displayed aspect but by
 * choosing the width that belongs to the height, and it picks from each range the value nearest to the input. Measured
 * for 720p: 1920×1080 → 1280×720, 1080×1920 → 404×720, 641×361 → 640×360, 768×576 → 768×576, 720×576 shown at 16:9 →
 * 1024×576. Without the square pixels it squeezes the picture and records the squeeze in the pixel aspect.
 */
import { Type } from "typebox";
import { defineElement } from "../element.ts";

const LINES = { "360p": 360, "720p": 720, "1080p": 1080 } as const;

export default defineElement({
  kind: "composite",
  name: "resize",
  about: "Shrinks the picture to 360, 720 or 1080 lines, aspect kept, never enlarged.",
  example: `
graph: resize-example
about: Shrink a test picture to 640 by 360.
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
      description: "Height at most; null leaves the picture as it is.",
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
