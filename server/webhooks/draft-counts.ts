/**
 * A count is written when it is due, and not before: until then it may go back, and whoever gathers next sees for itself
 * how many there are and knows what was told.
 */
import type { DetectionMessage } from "../../schemas/detection-message.ts";
import { newUuid } from "../uuid.ts";
import type { Draft, Drafts } from "./drafts.ts";
import type { GatherRule, ToldBefore } from "./gather/gatherer.ts";
import { TargetCountGatherer } from "./gather/target-count.ts";

export class CountDrafts implements Drafts {
  readonly #rule: GatherRule;
  readonly #gatherer: TargetCountGatherer;
  #unwritten: Draft | null = null;

  constructor(rule: GatherRule, before: ToldBefore) {
    this.#rule = rule;
    this.#gatherer = new TargetCountGatherer(rule, before);
  }

  see(message: DetectionMessage, _: DetectionMessage | null, nowMs: number): void {
    this.#gatherer.see(message, nowMs);
  }

  get wakeMs(): number | null {
    return this.#unwritten === null ? this.#gatherer.dueMs : Number.NEGATIVE_INFINITY;
  }

  make(nowMs: number): Draft | null {
    const { wakeMs } = this;
    return wakeMs === null || wakeMs > nowMs ? null : this.makeLast(nowMs);
  }

  makeLast(nowMs: number): Draft | null {
    if (this.#unwritten !== null) return this.#unwritten;
    const body = this.#gatherer.take(nowMs);
    if (body === null) return null;
    const id = newUuid();
    this.#unwritten = {
      ...{ id, body: { id, ...body }, dueMs: nowMs, isAmended: false, trackCount: 0 },
      ...{ toldCount: body.track_count, nextMs: nowMs + this.#rule.backoffMs },
    };
    return this.#unwritten;
  }

  settle(): void {
    this.#unwritten = null;
  }
}
