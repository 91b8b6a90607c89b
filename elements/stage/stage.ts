/**
 * A queue with a thread boundary: the parts of the graph before and after it run in separate streaming threads. Live, a
 * full stage drops its oldest frame, so that downstream cannot slow down upstream. At pace `fast` it blocks instead and
 * drops nothing. Place it before an encoder, not after one: encoded frames depend on earlier ones.
 */
import { Type } from "typebox";
import { defineElement } from "../element.ts";

export default defineElement({
  kind: "composite",
  name: "stage",
  about: "A queue with a thread boundary: drops the oldest frame when live, blocks at pace fast.",
  example: `
graph: stage-example
about: Decode and print in separate threads.
chains:
  main:
    - source: { uri: "test:ball?frames=50" }
    - decode
    - stage: { buffers: 4 }
    - print
`,
  properties: Type.Object({
    buffers: Type.Integer({
      default: 8,
      minimum: 1,
      maximum: 1000,
      live: true,
      description: "Maximum number of queued frames.",
    }),
  }),
  expand: ({ buffers }, { live }) => ({
    nodes: [
      {
        suffix: "queue",
        factory: "queue",
        properties: {
          "max-size-buffers": buffers,
          "max-size-bytes": 0,
          "max-size-time": 0,
          leaky: live ? "downstream" : "no",
        },
      },
    ],
  }),
});
