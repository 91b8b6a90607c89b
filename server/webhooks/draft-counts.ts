/**
 * A count is written when it is due and the one before has arrived, and not sooner: until then it may go back, and
 * whoever gathers next sees for itself how many there are and knows what was told.
 */
import type { DetectionMessage } from "../../schemas/detection-message.ts";
import { newUuid } from "../uuid.ts";
import type { Draft, Drafts, Outcome } from "./drafts.ts";
import type { GatherRule, ToldBefore } from "./gather/gatherer.ts";
import { TargetCountGatherer } from "./gather/target-count.ts";

/** Then it is looked again whether the one before has arrived; later where the interval is longer. */
const LOOK_MS = 1_000;

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
    return wakeMs === null || wakeMs > nowMs ? null : this.#describe(nowMs, true);
  }

  makeLast(nowMs: number): Draft | null {
    return this.#describe(nowMs, false);
  }

  settle({ kind }: Outcome, nowMs: number): void {
    if (kind === "waits") this.#gatherer.putBack(nowMs + Math.max(this.#rule.backoffMs, LOOK_MS));
    this.#unwritten = null;
  }

  #describe(nowMs: number, isPatient: boolean): Draft | null {
    if (this.#unwritten !== null) return { ...this.#unwritten, isPatient };
    const body = this.#gatherer.take(nowMs);
    if (body === null) return null;
    const id = newUuid();
    this.#unwritten = {
      ...{ id, body: { id, ...body }, dueMs: nowMs, isAmended: false, isPatient, trackCount: 0 },
      ...{ toldCount: body.track_count, nextMs: nowMs + this.#rule.backoffMs },
    };
    return this.#unwritten;
  }
}
