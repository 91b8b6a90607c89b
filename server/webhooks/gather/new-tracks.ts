import { MOST_LISTED, type NewTracksNotification, type WebhookDetection } from "../../../schemas/api/webhooks.ts";
import type { DetectionMessage, TrackEntry } from "../../../schemas/detection-message.ts";
import { dueAfter, type Gatherer, type GatherRule, type ToldBefore, writeTimestamp } from "./gatherer.ts";
import { SeenIds } from "./seen-ids.ts";

interface Gathered {
  /** How they were first shown, in that order; not more than are told. */
  readonly entries: TrackEntry[];
  count: number;
  message: DetectionMessage;
  dueMs: number;
}

/** Every track once: when it is first shown. Those that are shown when it begins are new to it. */
export class NewTracksGatherer implements Gatherer {
  readonly #rule: GatherRule;
  readonly #seen: SeenIds;
  #nextMs: number;
  #gathered: Gathered | null = null;

  constructor(rule: GatherRule, { nextMs, lastTrackId }: ToldBefore) {
    this.#rule = rule;
    this.#nextMs = nextMs;
    this.#seen = new SeenIds(lastTrackId);
  }

  get dueMs(): number | null {
    return this.#gathered?.dueMs ?? null;
  }

  /** So many tracks are gathered. */
  get count(): number {
    return this.#gathered?.count ?? 0;
  }

  see(message: DetectionMessage, nowMs: number): void {
    for (const entry of message.active_tracks) if (this.#seen.add(entry.track_id)) this.#gather(entry, message, nowMs);
  }

  /** What would be told now. It may still grow. */
  peek(): NewTracksNotification | null {
    return this.#gathered === null ? null : describe(this.#gathered, this.#rule);
  }

  take(atMs: number): NewTracksNotification | null {
    const told = this.peek();
    this.drop(this.count, atMs);
    return told;
  }

  /** The first `count` are told, at this time. What came after them is told with the next notification. */
  drop(count: number, atMs: number): void {
    const { backoffMs } = this.#rule;
    this.#nextMs = atMs + backoffMs;
    if (this.#gathered === null) return;
    const left = this.#gathered.count - count;
    if (left <= 0) {
      this.#gathered = null;
      return;
    }
    this.#gathered.entries.splice(0, count);
    this.#gathered.count = left;
    this.#gathered.dueMs = this.#nextMs;
  }

  #gather(entry: TrackEntry, message: DetectionMessage, nowMs: number): void {
    const { backoffMs } = this.#rule;
    this.#gathered ??= { entries: [], count: 0, message, dueMs: dueAfter(nowMs, this.#nextMs, backoffMs) };
    const gathered = this.#gathered;
    gathered.count += 1;
    gathered.message = message;
    gathered.dueMs = Math.min(gathered.dueMs, dueAfter(nowMs, Number.POSITIVE_INFINITY, backoffMs));
    if (gathered.entries.length < MOST_LISTED) gathered.entries.push(entry);
  }
}

function describe({ entries, count, message }: Gathered, { format }: GatherRule): NewTracksNotification {
  return {
    process_uuid: message.process_uuid,
    timestamp: writeTimestamp(message.timestamp),
    type: "new-tracks",
    track_count: count,
    detections: entries.map(describeDetection),
    ...(format === "full" && { tracks: [...entries] }),
  };
}

export function describeDetection({ bbox: [x, y, width, height], track_id, class_id }: TrackEntry): WebhookDetection {
  return { topLeftX: x, topLeftY: y, height, width, id: track_id, class: class_id };
}
