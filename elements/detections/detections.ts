/**
 * Sends one detection message for every frame on which inference ran, also when nothing was detected. Boxes are in
 * pixels of the input, independent of any resizing in the graph.
 */
import { Type } from "typebox";
import { type DetectionMessage, describeTrack } from "../../schemas/detection-message.ts";
import type { Detections, Tracks } from "../../schemas/detections.ts";
import type { Places } from "../../schemas/places.ts";
import { defineElement, type Frame, type Job } from "../element.ts";

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

/** Null without inference, unless predicted tracks are requested and there are tracks. */
function makeMessage(
  { captureNs, inputSize, meta }: Frame,
  { sourceUri, uuid }: Job,
  includePredicted: boolean,
): DetectionMessage | null {
  const found = (meta.tracks ?? meta.detections) as Tracks | Detections | undefined;
  const isPredicted = includePredicted && meta.tracks !== undefined;
  if (found === undefined || !(found.inferred || isPredicted)) return null;
  const places = meta.places as Places | undefined;
  const message: DetectionMessage = {
    timestamp: new Date(Number(captureNs / 1_000_000n)).toISOString(),
    source_uri: sourceUri,
    process_uuid: uuid,
    active_tracks: found.objects.map((object, i) => describeTrack(object, places?.objects[i] ?? null, inputSize)),
  };
  if (places !== undefined && places.ageMs !== null) message.telemetry_age_ms = Math.round(places.ageMs);
  return message;
}
