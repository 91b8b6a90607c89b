import type { DetectionMessage, TrackEntry } from "../../schemas/detection-message.ts";

export const PROCESS = "01890000-0000-7000-8000-000000000001";
export const START_MS = Date.UTC(2026, 10, 15, 12);

export const entryOf = (id: number): TrackEntry => ({
  ...{ track_id: id, class_id: 2, class_name: "car", confidence: 90 },
  ...{ bbox: [id, 20, 30, 40.5], scaled_bbox: [0.1, 0.2, 0.3, 0.4] },
});

/** A message with these tracks, by the milliseconds since the start. */
export const messageOf = (ids: readonly number[], timeMs = 0, processUuid = PROCESS): DetectionMessage => ({
  timestamp: new Date(START_MS + timeMs).toISOString(),
  source_uri: "rtsp://camera/main",
  process_uuid: processUuid,
  active_tracks: ids.map(entryOf),
});
