/** What is sent when somebody tests an address: as true to life as can be, and marked. */

import type { WebhookNotification } from "../../schemas/api/webhooks.ts";
import type { TrackEntry } from "../../schemas/detection-message.ts";
import type { SubscriptionRow } from "../store/subscriptions.ts";
import { beginGathering } from "./gather/begin-gathering.ts";

const TRACK: TrackEntry = {
  ...{ track_id: 1, class_id: 2, class_name: "car", confidence: 87.5 },
  ...{ bbox: [480, 540, 240, 135], scaled_bbox: [0.25, 0.5, 0.125, 0.125] },
};

export function makeSample(row: SubscriptionRow, id: string, nowMs: number): WebhookNotification {
  const { eventType, format, processUuid } = row;
  const gatherer = beginGathering({ eventType, format, backoffMs: 0 });
  const timestamp = new Date(nowMs).toISOString();
  gatherer.see({ timestamp, source_uri: "", process_uuid: processUuid, active_tracks: [TRACK] }, nowMs);
  const body = gatherer.take(nowMs);
  if (body === null) throw new Error(`a gatherer of ${eventType} says nothing of a new track`);
  return { id, ...body, sample: true };
}
