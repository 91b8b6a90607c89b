/** What is gathered for all subscriptions of one process that this machine holds. Never waits, and keeps bounded amounts. */
import type { DetectionMessage } from "../../schemas/detection-message.ts";
import type { Claim } from "../store/processes.ts";
import type { SubscriptionRow } from "../store/subscriptions.ts";
import { beginDrafts, type Draft, type Drafts, type Outcome } from "./drafts.ts";

interface LiveSubscription {
  readonly drafts: Drafts;
  /** It has seen no picture yet: whatever is shown is new to it. */
  isFresh: boolean;
}

export interface SubscriptionDraft {
  readonly uuid: string;
  readonly draft: Draft;
}

const NOBODY: ReadonlySet<number> = new Set();

/** Of pictures that come before it is known who has subscribed. */
const MOST_EARLY = 250;

export class ProcessGathering {
  readonly claim: Claim;
  /** Ids up to this one were given in earlier runs, and told. */
  readonly #lastTrackId: number;
  readonly #live = new Map<string, LiveSubscription>();
  #shown: ReadonlySet<number> = NOBODY;
  /** Null once it is known who has subscribed. */
  #early: [message: DetectionMessage, nowMs: number][] | null;
  #isEnded = false;
  #isLeft = false;

  constructor(claim: Claim, { lastTrackId, isNew }: { readonly lastTrackId: number; readonly isNew: boolean }) {
    this.claim = claim;
    this.#lastTrackId = lastTrackId;
    this.#early = isNew ? null : [];
  }

  get isLoaded(): boolean {
    return this.#early === null;
  }

  get subscriptions(): readonly string[] {
    return [...this.#live.keys()];
  }

  /** The process is over: what is gathered goes out at once. */
  get isEnded(): boolean {
    return this.#isEnded;
  }

  /** It goes on elsewhere, or later: nothing more is gathered here. */
  get isLeft(): boolean {
    return this.#isLeft;
  }

  /** Those of an earlier holder. They go on where they were. */
  load(rows: readonly SubscriptionRow[]): void {
    for (const row of rows) this.add(row);
    const early = this.#early ?? [];
    this.#early = null;
    for (const [message, nowMs] of early) this.see(message, nowMs);
  }

  add(row: SubscriptionRow): void {
    if (this.#live.has(row.uuid) || this.#isEnded) return;
    const { eventType, format, policy, toldCount, nextAt } = row;
    const rule = { eventType, format, backoffMs: policy.backoff_seconds * 1000 };
    const before = {
      nextMs: nextAt?.getTime() ?? Number.NEGATIVE_INFINITY,
      lastTrackId: this.#lastTrackId,
      count: toldCount,
    };
    this.#live.set(row.uuid, { drafts: beginDrafts(rule, before), isFresh: true });
  }

  remove(uuid: string): void {
    this.#live.delete(uuid);
  }

  end(): void {
    this.#isEnded = true;
  }

  leave(): void {
    this.#isLeft = true;
  }

  see(message: DetectionMessage, nowMs: number): void {
    if (this.#early !== null) {
      if (this.#early.length < MOST_EARLY) this.#early.push([message, nowMs]);
      return;
    }
    if (this.#live.size === 0) {
      this.#shown = NOBODY;
      return;
    }
    const newcomers = this.#findNewcomers(message);
    for (const subscription of this.#live.values()) {
      subscription.drafts.see(message, subscription.isFresh ? message : newcomers, nowMs);
      subscription.isFresh = false;
    }
  }

  /** When there will be something to write; null while there is nothing. */
  get wakeMs(): number | null {
    let earliestMs: number | null = null;
    for (const { drafts } of this.#live.values()) {
      const { wakeMs } = drafts;
      if (wakeMs !== null && (earliestMs === null || wakeMs < earliestMs)) earliestMs = wakeMs;
    }
    return earliestMs;
  }

  drafts(nowMs: number): readonly SubscriptionDraft[] {
    const made: SubscriptionDraft[] = [];
    for (const [uuid, { drafts }] of this.#live) {
      const draft = this.#isEnded ? drafts.makeLast(nowMs) : drafts.make(nowMs);
      if (draft !== null) made.push({ uuid, draft });
    }
    return made;
  }

  settle(uuid: string, outcome: Outcome, nowMs: number): void {
    this.#live.get(uuid)?.drafts.settle(outcome, nowMs);
  }

  /** Tracks that the picture before did not show; null when there are none. Looked for once, however many have subscribed. */
  #findNewcomers(message: DetectionMessage): DetectionMessage | null {
    const before = this.#shown;
    this.#shown = new Set(message.active_tracks.map(({ track_id: id }) => id));
    const newcomers = message.active_tracks.filter(({ track_id: id }) => !before.has(id));
    return newcomers.length === 0 ? null : { ...message, active_tracks: newcomers };
  }
}
