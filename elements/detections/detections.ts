/**
 * Sends one detection message for every frame on which inference ran, also when nothing was detected. Boxes are in
 * pixels of the input, independent of any resizing in the graph.
 */
import { Type } from "typebox";
import { defineElement } from "../element.ts";
import { makeMessage } from "./message.ts";

export default defineElement({
  kind: "sink",
  name: "detections",
  about: "Sends detections and tracks as one JSON message per frame.",
  example: `
graph: detections-example
about: Detect and track objects and send a message for every frame.
chains:
  main:
    - source
    - decode
    - detect
    - track
    - detections
`,
  properties: Type.Object({
    includePredicted: Type.Boolean({
      default: false,
      live: true,
      description: "Also sends messages for frames between two inferences, with predicted tracks.",
    }),
  }),
  reads: [{ oneOf: ["tracks", "detections"] }, { optional: "places" }],
  caps: "ANY",
  needsAllFrames: ({ includePredicted }) => includePredicted,
  create({ includePredicted }, services) {
    let predicted = includePredicted;
    return {
      // Awaited: subscribers set the pace, and no message is lost.
      process(frame) {
        const message = makeMessage(frame, services.job, predicted);
        return message === null ? undefined : services.send("detection_data", message);
      },
      update(next) {
        predicted = next.includePredicted;
      },
    };
  },
});
