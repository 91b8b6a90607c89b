import { MOST_LISTED, type TargetCountNotification } from "../../../schemas/api/webhooks.ts";
import type { DetectionMessage } from "../../../schemas/detection-message.ts";
import { dueAfter, type Gatherer, type GatherRule, type ToldBefore, writeTimestamp } from "./gatherer.ts";

/** Whatever the interval: a detector that wavers from picture to picture is no news to that degree. */
export const LEAST_COUNT_MS = 250;

/**
 * How many targets there are, when it is another number than was told last. Within the interval only the last number
 * counts: a change that went back meanwhile is none.
 */
export class TargetCountGatherer implements Gatherer {
  readonly #rule: GatherRule;
  readonly #backoffMs: number;
  #nextMs: number;
  #toldCount: number;
  /** Before that. */
  #previousCount: number;
  #latest: DetectionMessage | null = null;
  #dueMs: number | null = null;

  constructor(rule: GatherRule, { nextMs, count }: ToldBefore) {
    this.#rule = rule;
    this.#backoffMs = Math.max(rule.backoffMs, LEAST_COUNT_MS);
    this.#nextMs = nextMs;
    this.#toldCount = count;
    this.#previousCount = count;
  }

  get dueMs(): number | null {
    return this.#dueMs;
  }

  see(message: DetectionMessage, nowMs: number): void {
    this.#latest = message;
    if (message.active_tracks.length === this.#toldCount) this.#dueMs = null;
    else
      this.#dueMs = Math.min(this.#dueMs ?? Number.POSITIVE_INFINITY, dueAfter(nowMs, this.#nextMs, this.#backoffMs));
  }

  take(atMs: number): TargetCountNotification | null {
    if (this.#latest === null || this.#dueMs === null) return null;
    const { process_uuid, timestamp, active_tracks: active } = this.#latest;
    const previous = this.#toldCount;
    this.#previousCount = previous;
    this.#toldCount = active.length;
    this.#nextMs = atMs + this.#backoffMs;
    this.#dueMs = null;
    return {
      process_uuid,
      timestamp: writeTimestamp(timestamp),
      type: "target-count",
      track_count: active.length,
      previous_count: previous,
      ...(this.#rule.format === "full" && { active_tracks: active.slice(0, MOST_LISTED) }),
    };
  }

  /** What was taken last is not told after all. It, or what is then, is told no sooner than this. */
  putBack(nextMs: number): void {
    this.#toldCount = this.#previousCount;
    this.#nextMs = nextMs;
    this.#dueMs = this.#latest?.active_tracks.length === this.#toldCount ? null : nextMs;
  }
}
