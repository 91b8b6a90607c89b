/**
 * Collectors turn detection messages into the notifications of one subscription. Pure: without clock and timer, so that the
 * service runs them by the current time, and `windhover replay` by the time of its clip.
 */
import {
  type EventType,
  MOST_LISTED,
  type NewTracksNotification,
  type NotificationFormat,
  type TargetCountNotification,
  type WebhookNotification,
} from "../../schemas/api/webhooks.ts";
import type { DetectionMessage, TrackEntry } from "../../schemas/detection-message.ts";

export interface NotificationRule {
  readonly eventType: EventType;
  readonly format: NotificationFormat;
  /** The minimum interval between two notifications. */
  readonly backoffMs: number;
}

/** What the subscription has sent before. */
export interface SentBefore {
  /** The next notification is sent no sooner. */
  readonly nextMs: number;
  /** Of new-tracks: ids up to this one are not new. */
  readonly lastTrackId: number;
  /** Of target-count: the last count. */
  readonly count: number;
}

export const NOTHING_SENT: SentBefore = { nextMs: Number.NEGATIVE_INFINITY, lastTrackId: 0, count: 0 };

export interface Collector {
  see(message: DetectionMessage, nowMs: number): void;
  /** When the collected notification is to be sent; null while there is none. */
  readonly dueMs: number | null;
  /** Takes the notification, sent at this time, due or not; null when there is none. */
  take(atMs: number): WebhookNotification | null;
}

/** Limited to two intervals from now: a clock that is set back must not silence the subscription. */
const dueAfter = (nowMs: number, nextMs: number, backoffMs: number): number =>
  Math.min(Math.max(nowMs, nextMs), nowMs + 2 * backoffMs);

/** `2026-11-15T17:40:33.123Z` as `2026-11-15 17:40:33.1230`: frames are timed to the millisecond. */
const writeTimestamp = (iso: string): string => iso.replace("T", " ").replace("Z", "0");

interface CollectedTracks {
  /** As they first appeared, in that order; up to the limit of a notification. */
  readonly entries: TrackEntry[];
  count: number;
  message: DetectionMessage;
  dueMs: number;
}

/** Every track once, when it first appears. Tracks of the first message are new. */
export class NewTracksCollector implements Collector {
  readonly #rule: NotificationRule;
  readonly #seen: SeenIds;
  #nextMs: number;
  #collected: CollectedTracks | null = null;

  constructor(rule: NotificationRule, { nextMs, lastTrackId }: SentBefore) {
    this.#rule = rule;
    this.#nextMs = nextMs;
    this.#seen = new SeenIds(lastTrackId);
  }

  get dueMs(): number | null {
    return this.#collected?.dueMs ?? null;
  }

  get count(): number {
    return this.#collected?.count ?? 0;
  }

  see(message: DetectionMessage, nowMs: number): void {
    const { backoffMs } = this.#rule;
    for (const entry of message.active_tracks) {
      if (!this.#seen.add(entry.track_id)) continue;
      this.#collected ??= { entries: [], count: 0, message, dueMs: dueAfter(nowMs, this.#nextMs, backoffMs) };
      const collected = this.#collected;
      collected.count += 1;
      collected.message = message;
      collected.dueMs = Math.min(collected.dueMs, dueAfter(nowMs, Number.POSITIVE_INFINITY, backoffMs));
      if (collected.entries.length < MOST_LISTED) collected.entries.push(entry);
    }
  }

  peek(): NewTracksNotification | null {
    if (this.#collected === null) return null;
    const { entries, count, message } = this.#collected;
    return {
      process_uuid: message.process_uuid,
      timestamp: writeTimestamp(message.timestamp),
      type: "new-tracks",
      track_count: count,
      detections: entries.map(({ bbox: [topLeftX, topLeftY, width, height], track_id, class_id }) => ({
        ...{ topLeftX, topLeftY, height, width, id: track_id, class: class_id },
      })),
      ...(this.#rule.format === "full" && { tracks: [...entries] }),
    };
  }

  take(atMs: number): NewTracksNotification | null {
    const notification = this.peek();
    this.drop(this.count, atMs);
    return notification;
  }

  /** The first `count` tracks were sent, at this time. The others belong to the next notification. */
  drop(count: number, atMs: number): void {
    this.#nextMs = atMs + this.#rule.backoffMs;
    const collected = this.#collected;
    if (collected === null) return;
    collected.entries.splice(0, count);
    collected.count -= count;
    collected.dueMs = this.#nextMs;
    if (collected.count <= 0) this.#collected = null;
  }
}

/**
 * Ids of tracks that have appeared. Ids only grow, but an earlier id may appear later: remembers the newest ids below the
 * highest that have not appeared.
 */
export class SeenIds {
  readonly #maxMissing: number;
  #highest: number;
  /** In the order of ids. */
  readonly #missing = new Set<number>();

  /** Ids up to `highest` count as seen. */
  constructor(highest = 0, maxMissing = 256) {
    this.#highest = highest;
    this.#maxMissing = maxMissing;
  }

  /** True when it is new. 0 is the id of untracked objects, and never new. */
  add(id: number): boolean {
    if (id <= this.#highest) return this.#missing.delete(id);
    for (let missing = Math.max(this.#highest + 1, id - this.#maxMissing); missing < id; missing += 1)
      this.#missing.add(missing);
    this.#highest = id;
    for (const oldest of this.#missing) {
      if (this.#missing.size <= this.#maxMissing) break;
      this.#missing.delete(oldest);
    }
    return true;
  }
}

/** The shortest interval: counts of a wavering detector are not worth more notifications. */
export const MIN_COUNT_MS = 250;

/** The number of targets, when it differs from the last one sent. A change that is reverted within the interval is not sent. */
export class TargetCountCollector implements Collector {
  dueMs: number | null = null;
  readonly #rule: NotificationRule;
  readonly #backoffMs: number;
  #nextMs: number;
  #sentCount: number;
  /** The one sent before that. */
  #previousCount: number;
  #latest: DetectionMessage | null = null;

  constructor(rule: NotificationRule, { nextMs, count }: SentBefore) {
    this.#rule = rule;
    this.#backoffMs = Math.max(rule.backoffMs, MIN_COUNT_MS);
    this.#nextMs = nextMs;
    this.#sentCount = count;
    this.#previousCount = count;
  }

  see(message: DetectionMessage, nowMs: number): void {
    this.#latest = message;
    if (message.active_tracks.length === this.#sentCount) this.dueMs = null;
    else this.dueMs = Math.min(this.dueMs ?? Number.POSITIVE_INFINITY, dueAfter(nowMs, this.#nextMs, this.#backoffMs));
  }

  take(atMs: number): TargetCountNotification | null {
    if (this.#latest === null || this.dueMs === null) return null;
    const { process_uuid, timestamp, active_tracks: active } = this.#latest;
    const previous = this.#sentCount;
    this.#previousCount = previous;
    this.#sentCount = active.length;
    this.#nextMs = atMs + this.#backoffMs;
    this.dueMs = null;
    return {
      process_uuid,
      timestamp: writeTimestamp(timestamp),
      type: "target-count",
      track_count: active.length,
      previous_count: previous,
      ...(this.#rule.format === "full" && { active_tracks: active.slice(0, MOST_LISTED) }),
    };
  }

  /** The notification taken last was not sent. The next one is due no sooner than this. */
  putBack(nextMs: number): void {
    this.#sentCount = this.#previousCount;
    this.#nextMs = nextMs;
    this.dueMs = this.#latest?.active_tracks.length === this.#sentCount ? null : nextMs;
  }
}

const COLLECTORS: Readonly<Record<EventType, new (rule: NotificationRule, before: SentBefore) => Collector>> = {
  "new-tracks": NewTracksCollector,
  "target-count": TargetCountCollector,
};

export const createCollector = (rule: NotificationRule): Collector =>
  new COLLECTORS[rule.eventType](rule, NOTHING_SENT);

export interface TimedNotification {
  /** When it would be sent. */
  readonly timeMs: number;
  /** Without `id`, which names a delivery. */
  readonly body: WebhookNotification;
}

/**
 * A subscription over a recording: what it would have sent, and when, by times of frames that never decrease.
 *
 *     const subscription = new ReplayedSubscription({ eventType: "new-tracks", format: "simple", backoffMs: 5000 });
 *     for (const { message, timeMs } of clip) print(subscription.see(message, timeMs));
 *     print(subscription.end(lastTimeMs)); // the process ends: sends the rest at once
 */
export class ReplayedSubscription {
  readonly #collector: Collector;

  constructor(rule: NotificationRule) {
    this.#collector = createCollector(rule);
  }

  /** What was due before this message, and what it causes at once, in order. */
  see(message: DetectionMessage, timeMs: number): readonly TimedNotification[] {
    const before = this.#takeDue(timeMs);
    this.#collector.see(message, timeMs);
    return [...before, ...this.#takeDue(timeMs)];
  }

  end(timeMs: number): readonly TimedNotification[] {
    const before = this.#takeDue(timeMs);
    const last = this.#collector.take(timeMs);
    return last === null ? before : [...before, { timeMs, body: last }];
  }

  #takeDue(nowMs: number): readonly TimedNotification[] {
    const { dueMs } = this.#collector;
    if (dueMs === null || dueMs > nowMs) return [];
    const body = this.#collector.take(dueMs);
    return body === null ? [] : [{ timeMs: dueMs, body }];
  }
}
