/**
 * Sends the detection message of the interface: one for every frame on which inference ran, also when nothing was found.
 * Boxes are in pixels of the input, whatever the graph has made of its size.
 */
import { Type } from "typebox";
import type { DetectionMessage } from "../../schemas/detection-message.ts";
import type { Detections, Tracks } from "../../schemas/detections.ts";
import type { Places } from "../../schemas/places.ts";
import { describeTrack } from "../../schemas/track-entry.ts";
import { defineElement, type Frame, type Job } from "../element.ts";

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

/** From what the frame metadata says to the detection message of the interface. Pure. */
export type MessageFrame = Pick<Frame, "captureNs" | "inputSize" | "meta">;

/**
 * Null where there is nothing to tell: no inference, and no tracks or nobody who asks for where they should be by now.
 * Without tracking a frame that nobody looked at says nothing, not even that it is empty.
 */
export function makeMessage(
  { captureNs, inputSize, meta }: MessageFrame,
  { sourceUri, uuid }: Pick<Job, "sourceUri" | "uuid">,
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
