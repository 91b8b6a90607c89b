/** The detection message of a frame, from its metadata. */
import { type DetectionMessage, describeTrack } from "../../schemas/detection-message.ts";
import type { Counts, Detections, Tracks, Values } from "../../schemas/detections.ts";
import type { Places } from "../../schemas/places.ts";
import type { Frame, Job } from "../element.ts";

/** Null without inference, unless predicted tracks are requested and there are tracks. */
export function makeMessage(
  { captureNs, inputSize, meta }: Pick<Frame, "captureNs" | "inputSize" | "meta">,
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
  if (meta.values !== undefined) message.values = meta.values as Values;
  if (meta.counts !== undefined) message.counts = meta.counts as Counts;
  return message;
}
