/**
 * A bounded queue between two parts of a graph, each of which then has a thread of its own. Live, a full stage drops
 * its oldest frame, so that what follows can never slow down what comes before. At pace `fast` it blocks instead:
 * nothing is lost. It belongs before an encoder, not behind one: encoded frames need the ones before them.
 */
import { Type } from "typebox";
import { defineElement } from "../element.ts";

export default defineElement({
  kind: "composite",
  name: "stage",
  about: "A bounded queue: drops the oldest frame when live, waits at pace fast.",
  example: `
graph: stage-example
about: Decoding and printing run on threads of their own.
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
      description: "Frames held at most.",
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
