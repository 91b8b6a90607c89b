/** From what the frame metadata says to the detection message of the interface. Pure. */
import type { DetectionMessage, TrackEntry } from "../../schemas/detection-message.ts";
import type { Box, Detection, Detections, Track, Tracks } from "../../schemas/detections.ts";
import type { Frame, Job } from "../element.ts";

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
  return {
    timestamp: new Date(Number(captureNs / 1_000_000n)).toISOString(),
    source_uri: sourceUri,
    process_uuid: uuid,
    active_tracks: found.objects.map((object) => describe(object, inputSize)),
  };
}

function describe(object: Detection | Track, { width, height }: Frame["inputSize"]): TrackEntry {
  const [x, y, wide, high] = object.box;
  return {
    track_id: "id" in object ? object.id : 0,
    class_id: object.classId,
    class_name: object.className,
    bbox: round([x * width, y * height, wide * width, high * height], 100),
    scaled_bbox: round(object.box, 1_000_000),
    confidence: Math.round(object.confidence * 10_000) / 100,
  };
}

/** To so many parts of one: short numbers, the same on every machine. Never the negative zero. */
const round = (box: Box, parts: number): Box => box.map((value) => Math.round(value * parts) / parts + 0) as Box;
