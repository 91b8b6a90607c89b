/**
 * Hands pictures to whoever looks at the process: in the service, the viewers of its `feed_url`. A viewer that is slow
 * misses pictures and delays nothing.
 */
import { Type } from "typebox";
import { defineElement } from "../element.ts";

export default defineElement({
  kind: "sink",
  name: "feed",
  about: "Shows JPEG pictures to the viewers of a process in the service.",
  example: `
graph: feed-example
about: Whoever looks sees the video with what was found.
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
      log.warn("`feed` shows pictures to viewers of the service, and here nobody can look: use `snapshot` or `record`");
      return { process() {} };
    }
    return {
      process(frame) {
        show(frame.captureNs, frame.copy());
      },
    };
  },
});
