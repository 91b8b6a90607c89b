/**
 * Sends JPEG images to the viewers of the process: in the service, the clients of its `feed_url`. A slow viewer misses
 * images and delays nothing.
 */
import { Type } from "typebox";
import { defineElement } from "../element.ts";

export default defineElement({
  kind: "sink",
  name: "feed",
  about: "Shows JPEG images to the viewers of a process in the service.",
  example: `
graph: feed-example
about: Show viewers the video with detected objects.
chains:
  main:
    - source
    - decode
    - detect
    - tee: { name: frames }
slots:
  feed:
    chain:
      - from: frames
      - stage
      - overlay
      - jpegenc: { quality: 80 }
      - feed
`,
  properties: Type.Object({}),
  caps: "image/jpeg",
  create(_, { show, log }) {
    if (show === undefined) {
      log.warn("`feed` needs viewers of the service, and there are none here: use `snapshot` or `record`");
      return { process() {} };
    }
    return {
      process(frame) {
        show(frame.captureNs, frame.copy());
      },
    };
  },
});
