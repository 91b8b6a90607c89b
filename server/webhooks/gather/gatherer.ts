/**
 * What gathers the notifications of one subscription out of what pictures show. Pure: no clock and no timer, so that the
 * service drives it with the time of now and a replay with the time of its clip.
 */
import type { EventType, NotificationFormat, WebhookNotification } from "../../../schemas/api/webhooks.ts";
import type { DetectionMessage } from "../../../schemas/detection-message.ts";

export interface GatherRule {
  readonly eventType: EventType;
  readonly format: NotificationFormat;
  /** The least time between two notifications. */
  readonly backoffMs: number;
}

/** What was told before, by whoever gathered for this subscription then. */
export interface ToldBefore {
  /** The next notification comes no sooner. */
  readonly nextMs: number;
  /** Of new-tracks: ids up to this one are not new. */
  readonly lastTrackId: number;
  /** Of target-count: so many were told last. */
  readonly count: number;
}

export const NOTHING_TOLD: ToldBefore = { nextMs: Number.NEGATIVE_INFINITY, lastTrackId: 0, count: 0 };

export interface Gatherer {
  see(message: DetectionMessage, nowMs: number): void;
  /** When what is gathered is to be told; null while there is nothing. */
  readonly dueMs: number | null;
  /** It is told at this time, be it due or not: what comes later belongs to the next notification. Null: there is nothing. */
  take(atMs: number): WebhookNotification | null;
}

/**
 * Never further away than a notification that waits for its own time allows: a clock that is set back must silence nobody.
 */
export const dueAfter = (nowMs: number, nextMs: number, backoffMs: number): number =>
  Math.min(Math.max(nowMs, nextMs), nowMs + 2 * backoffMs);

/** `2026-11-15T17:40:33.123Z` as `2026-11-15 17:40:33.1230`: pictures are timed to the millisecond. */
export const writeTimestamp = (iso: string): string => iso.replace("T", " ").replace("Z", "0");
