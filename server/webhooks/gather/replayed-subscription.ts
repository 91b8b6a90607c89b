/**
 * A subscription over a recording: what it would have sent, and when, by the same gatherers as the service's.
 *
 *     const subscription = new ReplayedSubscription({ eventType: "new-tracks", format: "simple", backoffMs: 5000 });
 *     for (const { message, timeMs } of clip) print(subscription.see(message, timeMs));
 *     print(subscription.end(lastTimeMs)); // the process ends: what is gathered goes out at once
 *
 * Times are those of the pictures, never going back. Bodies are as they are sent but for `id`, which names a delivery.
 */
import type { WebhookNotification } from "../../../schemas/api/webhooks.ts";
import type { DetectionMessage } from "../../../schemas/detection-message.ts";
import { beginGathering } from "./begin-gathering.ts";
import type { Gatherer, GatherRule } from "./gatherer.ts";

export interface TimedNotification {
  /** When it would be sent. */
  readonly timeMs: number;
  readonly body: WebhookNotification;
}

export class ReplayedSubscription {
  readonly #gatherer: Gatherer;

  constructor(rule: GatherRule) {
    this.#gatherer = beginGathering(rule);
  }

  /** In the order of their times: what fell due before this picture, and what it gives rise to at once. */
  see(message: DetectionMessage, timeMs: number): readonly TimedNotification[] {
    const before = this.#takeDue(timeMs);
    this.#gatherer.see(message, timeMs);
    return [...before, ...this.#takeDue(timeMs)];
  }

  end(timeMs: number): readonly TimedNotification[] {
    const before = this.#takeDue(timeMs);
    const last = this.#gatherer.take(timeMs);
    return last === null ? before : [...before, { timeMs, body: last }];
  }

  #takeDue(nowMs: number): readonly TimedNotification[] {
    const { dueMs } = this.#gatherer;
    if (dueMs === null || dueMs > nowMs) return [];
    const body = this.#gatherer.take(dueMs);
    return body === null ? [] : [{ timeMs: dueMs, body }];
  }
}
