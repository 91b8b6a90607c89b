/**
 * What of one subscription is to be written to the outbox. A draft is written, perhaps several times while the database
 * is away, and then settled; until then no other of the same subscription is made.
 */
import type { EventType, WebhookNotification } from "../../schemas/api/webhooks.ts";
import type { DetectionMessage } from "../../schemas/detection-message.ts";
import { CountDrafts } from "./draft-counts.ts";
import { TrackDrafts } from "./draft-tracks.ts";
import type { GatherRule, ToldBefore } from "./gather/gatherer.ts";

export interface Draft {
  readonly id: string;
  readonly body: WebhookNotification;
  readonly dueMs: number;
  /** It is in the outbox already, and changes. */
  readonly isAmended: boolean;
  /** So many new tracks are in it. */
  readonly trackCount: number;
  /** Of target-count: what it tells. */
  readonly toldCount: number;
  /** The next notification comes no sooner. */
  readonly nextMs: number;
}

/** `written`: the outbox has it, with so many tracks. `late`: it was on its way before it could change, with so many. */
export interface Outcome {
  readonly kind: "written" | "late";
  readonly trackCount: number;
}

export interface Drafts {
  /** `newcomers`: the same with those tracks alone that this subscription may not know yet; null when there are none. */
  see(message: DetectionMessage, newcomers: DetectionMessage | null, nowMs: number): void;
  /** When there will be something to write; null while there is nothing. */
  readonly wakeMs: number | null;
  /** Null: there is nothing to write now. */
  make(nowMs: number): Draft | null;
  /** As `make`, when the process has ended: all that is left goes out at once. */
  makeLast(nowMs: number): Draft | null;
  settle(outcome: Outcome, nowMs: number): void;
}

const KINDS: Readonly<Record<EventType, new (rule: GatherRule, before: ToldBefore) => Drafts>> = {
  "new-tracks": TrackDrafts,
  "target-count": CountDrafts,
};

export const beginDrafts = (rule: GatherRule, before: ToldBefore): Drafts => new KINDS[rule.eventType](rule, before);
