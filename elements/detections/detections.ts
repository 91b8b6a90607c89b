/**
 * Sends the detection message of the interface: one for every frame on which inference ran, also when nothing was found.
 * Boxes are in pixels of the input, whatever the graph has made of its size.
 */
import { Type } from "typebox";
import { defineElement } from "../element.ts";
import { makeMessage } from "./message.ts";

export default defineElement({
  kind: "sink",
  name: "detections",
  about: "Sends what was detected and tracked as one JSON message a frame.",
  example: `
graph: detections-example
about: Detect objects and tell of them.
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
      description: "Also tells of the frames between two inferences, where tracks are predicted.",
    }),
  }),
  reads: [{ oneOf: ["tracks", "detections"] }, { optional: "places" }],
  caps: "ANY",
  create({ includePredicted }, services) {
    let predicted = includePredicted;
    return {
      // Awaited: who follows decides how fast messages come, and none is lost on the way there.
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
