/**
 * The subscriptions to one process of this node, and the drafts of their notifications. A draft is stored, perhaps after
 * retries, and then settled; until then its subscription makes no other. Never waits, and keeps bounded amounts.
 */
import type { EventType } from "../../schemas/api/webhooks.ts";
import type { DetectionMessage } from "../../schemas/detection-message.ts";
import type { NewDelivery } from "../store/deliveries.ts";
import type { Claim } from "../store/processes.ts";
import type { SubscriptionRow } from "../store/subscriptions.ts";
import { newUuid } from "../uuid.ts";
import { NewTracksCollector, type NotificationRule, type SentBefore, TargetCountCollector } from "./collectors.ts";

/** A delivery that is not stored yet, or not as it is now. Its destination is the subscription. */
export interface Draft extends NewDelivery {
  /** It is stored already, and changes. */
  readonly isAmended: boolean;
  /** It is not stored while an earlier delivery waits for the receiver. */
  readonly waitsForEarlier: boolean;
  /** Of new-tracks: the tracks in it. */
  readonly trackCount: number;
  /** Of target-count: the count in it. */
  readonly sentCount: number;
  /** The next notification is sent no sooner. */
  readonly nextMs: number;
}

/**
 * `stored`: with this number of tracks. `late`: it was being sent before it could be amended, with this number of tracks.
 * `waits`: it is not stored, because an earlier delivery waits.
 */
export interface Outcome {
  readonly kind: "stored" | "late" | "waits";
  readonly trackCount: number;
}

interface Drafter {
  /** `newcomers`: the message with only the tracks that may be new to this subscription; null when there are none. */
  see(message: DetectionMessage, newcomers: DetectionMessage | null, nowMs: number): void;
  /** When there will be a draft; null while there is none to expect. */
  readonly wakeMs: number | null;
  /** Null: nothing to store now. `isLast`: the process has ended, and everything is sent at once. */
  make(nowMs: number, isLast: boolean): Draft | null;
  settle(outcome: Outcome, nowMs: number): void;
}

/** Until it is checked again whether the earlier count was delivered; longer with a longer interval. */
const CHECK_MS = 1_000;

/**
 * Stores a count only when it is due and the one before was delivered: until then the count may change back, and the next
 * node counts for itself.
 */
class CountDrafter implements Drafter {
  readonly #uuid: string;
  readonly #rule: NotificationRule;
  readonly #collector: TargetCountCollector;
  #unsettled: Draft | null = null;

  constructor(uuid: string, rule: NotificationRule, before: SentBefore) {
    this.#uuid = uuid;
    this.#rule = rule;
    this.#collector = new TargetCountCollector(rule, before);
  }

  see(message: DetectionMessage, _: DetectionMessage | null, nowMs: number): void {
    this.#collector.see(message, nowMs);
  }

  get wakeMs(): number | null {
    return this.#unsettled === null ? this.#collector.dueMs : Number.NEGATIVE_INFINITY;
  }

  make(nowMs: number, isLast: boolean): Draft | null {
    const { wakeMs } = this;
    if (!isLast && (wakeMs === null || wakeMs > nowMs)) return null;
    if (this.#unsettled !== null) return { ...this.#unsettled, waitsForEarlier: !isLast };
    const body = this.#collector.take(nowMs);
    if (body === null) return null;
    const id = newUuid();
    this.#unsettled = {
      ...{ id, destinationUuid: this.#uuid, body: JSON.stringify({ id, ...body }), dueAt: new Date(nowMs) },
      ...{ isAmended: false, waitsForEarlier: !isLast, trackCount: 0 },
      ...{ sentCount: body.track_count, nextMs: nowMs + this.#rule.backoffMs },
    };
    return this.#unsettled;
  }

  settle({ kind }: Outcome, nowMs: number): void {
    if (kind === "waits") this.#collector.putBack(nowMs + Math.max(this.#rule.backoffMs, CHECK_MS));
    this.#unsettled = null;
  }
}

/**
 * Stores tracks as soon as they appear, in a delivery that is amended until it is sent: a crash loses none, and a receiver
 * that was offline gets them all at once.
 */
class TrackDrafter implements Drafter {
  readonly #uuid: string;
  readonly #rule: NotificationRule;
  readonly #collector: NewTracksCollector;
  /** The delivery that can still be amended: how many tracks are stored, since when. */
  #open: { readonly id: string; stored: number; storedMs: number; dueMs: number } | null = null;
  #isEnding = false;

  constructor(uuid: string, rule: NotificationRule, before: SentBefore) {
    this.#uuid = uuid;
    this.#rule = rule;
    this.#collector = new NewTracksCollector(rule, before);
  }

  see(_: DetectionMessage, newcomers: DetectionMessage | null, nowMs: number): void {
    if (newcomers === null) return;
    this.#closeSent(nowMs);
    this.#collector.see(newcomers, nowMs);
  }

  get wakeMs(): number | null {
    return this.#collector.count > (this.#open?.stored ?? 0) ? Number.NEGATIVE_INFINITY : null;
  }

  make(nowMs: number, isLast: boolean): Draft | null {
    if (isLast) {
      this.#isEnding = true;
      this.#closeSent(nowMs);
    } else if (this.wakeMs === null) return null;
    const body = this.#collector.peek();
    if (body === null) return null;
    const dueMs = isLast ? nowMs : (this.#collector.dueMs ?? nowMs);
    this.#open ??= { id: newUuid(), stored: 0, storedMs: nowMs, dueMs };
    this.#open.dueMs = dueMs;
    const { id, stored } = this.#open;
    return {
      ...{ id, destinationUuid: this.#uuid, body: JSON.stringify({ id, ...body }), dueAt: new Date(dueMs) },
      ...{ isAmended: stored > 0, waitsForEarlier: false },
      ...{ trackCount: body.track_count, sentCount: 0, nextMs: Math.max(nowMs, dueMs) + this.#rule.backoffMs },
    };
  }

  settle({ kind, trackCount }: Outcome, nowMs: number): void {
    if (this.#open === null) return;
    this.#open.stored = trackCount;
    this.#open.storedMs = nowMs;
    if (kind === "late" || this.#isEnding) this.#close();
  }

  /**
   * Without an interval a stored delivery that is due is being sent by now; one with tracks to store may still be amended.
   * With an interval only the outbox knows: the delivery may wait behind another.
   */
  #closeSent(nowMs: number): void {
    if (this.#open === null || this.#rule.backoffMs > 0) return;
    if (this.#open.dueMs <= nowMs && this.#open.stored === this.#collector.count) this.#close();
  }

  #close(): void {
    if (this.#open === null) return;
    const { stored, storedMs, dueMs } = this.#open;
    this.#collector.drop(stored, Math.max(storedMs, dueMs));
    this.#open = null;
  }
}

const DRAFTERS: Readonly<Record<EventType, new (uuid: string, rule: NotificationRule, before: SentBefore) => Drafter>> =
  {
    "new-tracks": TrackDrafter,
    "target-count": CountDrafter,
  };

/** Messages kept until the subscriptions are loaded. */
const MAX_EARLY = 250;

export class ProcessSubscriptions {
  readonly claim: Claim;
  /** The process has ended: everything collected is sent at once. */
  isEnded = false;
  /** The process continues on another node, or later. */
  isLeft = false;
  /** Ids up to this one were given in earlier runs, and sent. */
  readonly #lastTrackId: number;
  /** `isFresh`: it has seen no message, so that all tracks are new to it. */
  readonly #live = new Map<string, { readonly drafter: Drafter; isFresh: boolean }>();
  #lastIds: ReadonlySet<number> = new Set();
  /** Null once the subscriptions are loaded. */
  #early: [message: DetectionMessage, nowMs: number][] | null;

  /** `isNew`: it has no subscriptions yet. */
  constructor(claim: Claim, { lastTrackId, isNew }: { readonly lastTrackId: number; readonly isNew: boolean }) {
    this.claim = claim;
    this.#lastTrackId = lastTrackId;
    this.#early = isNew ? null : [];
  }

  get isLoaded(): boolean {
    return this.#early === null;
  }

  get uuids(): readonly string[] {
    return [...this.#live.keys()];
  }

  /** The subscriptions that the process had on an earlier node resume. */
  load(rows: readonly SubscriptionRow[]): void {
    for (const row of rows) this.add(row);
    const early = this.#early ?? [];
    this.#early = null;
    for (const [message, nowMs] of early) this.see(message, nowMs);
  }

  add({ uuid, eventType, format, policy, sentCount, nextAt }: SubscriptionRow): void {
    if (this.#live.has(uuid) || this.isEnded) return;
    const rule = { eventType, format, backoffMs: policy.backoff_seconds * 1000 };
    const nextMs = nextAt?.getTime() ?? Number.NEGATIVE_INFINITY;
    const before = { nextMs, lastTrackId: this.#lastTrackId, count: sentCount };
    this.#live.set(uuid, { drafter: new DRAFTERS[eventType](uuid, rule, before), isFresh: true });
  }

  remove(uuid: string): void {
    this.#live.delete(uuid);
  }

  see(message: DetectionMessage, nowMs: number): void {
    if (this.#early !== null) {
      if (this.#early.length < MAX_EARLY) this.#early.push([message, nowMs]);
      return;
    }
    const newcomers = this.#live.size === 0 ? null : this.#findNewcomers(message);
    for (const subscription of this.#live.values()) {
      subscription.drafter.see(message, subscription.isFresh ? message : newcomers, nowMs);
      subscription.isFresh = false;
    }
  }

  /** When there will be a draft; null while there is none to expect. */
  get wakeMs(): number | null {
    let earliestMs: number | null = null;
    for (const { drafter } of this.#live.values()) {
      const { wakeMs } = drafter;
      if (wakeMs !== null && (earliestMs === null || wakeMs < earliestMs)) earliestMs = wakeMs;
    }
    return earliestMs;
  }

  makeDrafts(nowMs: number): readonly Draft[] {
    return [...this.#live.values()].flatMap(({ drafter }) => drafter.make(nowMs, this.isEnded) ?? []);
  }

  settle(uuid: string, outcome: Outcome, nowMs: number): void {
    this.#live.get(uuid)?.drafter.settle(outcome, nowMs);
  }

  /** Tracks that the message before did not have, found once for all subscriptions; null when there are none. */
  #findNewcomers(message: DetectionMessage): DetectionMessage | null {
    const before = this.#lastIds;
    this.#lastIds = new Set(message.active_tracks.map(({ track_id: id }) => id));
    const newcomers = message.active_tracks.filter(({ track_id: id }) => !before.has(id));
    return newcomers.length === 0 ? null : { ...message, active_tracks: newcomers };
  }
}
