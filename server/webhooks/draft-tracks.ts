/**
 * Tracks are in the outbox as soon as they are gathered, in a parcel that is not due yet and grows: who falls over
 * meanwhile has forgotten none.
 */
import type { DetectionMessage } from "../../schemas/detection-message.ts";
import { newUuid } from "../uuid.ts";
import type { Draft, Drafts, Outcome } from "./drafts.ts";
import type { GatherRule, ToldBefore } from "./gather/gatherer.ts";
import { NewTracksGatherer } from "./gather/new-tracks.ts";

interface OpenParcel {
  readonly id: string;
  /** So many of the gathered tracks the outbox has, and since when. */
  written: number;
  writtenMs: number;
  dueMs: number;
}

export class TrackDrafts implements Drafts {
  readonly #rule: GatherRule;
  readonly #gatherer: NewTracksGatherer;
  #parcel: OpenParcel | null = null;
  #isEnding = false;

  constructor(rule: GatherRule, before: ToldBefore) {
    this.#rule = rule;
    this.#gatherer = new NewTracksGatherer(rule, before);
  }

  see(_: DetectionMessage, newcomers: DetectionMessage | null, nowMs: number): void {
    if (newcomers === null) return;
    this.#close(nowMs);
    this.#gatherer.see(newcomers, nowMs);
  }

  get wakeMs(): number | null {
    return this.#gatherer.count > (this.#parcel?.written ?? 0) ? Number.NEGATIVE_INFINITY : null;
  }

  make(nowMs: number): Draft | null {
    return this.wakeMs === null ? null : this.#describe(nowMs, this.#gatherer.dueMs ?? nowMs);
  }

  makeLast(nowMs: number): Draft | null {
    this.#isEnding = true;
    this.#close(nowMs);
    return this.#gatherer.count === 0 ? null : this.#describe(nowMs, nowMs);
  }

  settle({ kind, trackCount }: Outcome, nowMs: number): void {
    const parcel = this.#parcel;
    if (parcel === null) return;
    parcel.written = trackCount;
    parcel.writtenMs = nowMs;
    if (kind === "late" || this.#isEnding) this.#forget(parcel);
  }

  /** It is on its way by now: what comes is for the next. One that grew meanwhile may still be in time. */
  #close(nowMs: number): void {
    const parcel = this.#parcel;
    if (parcel !== null && parcel.dueMs <= nowMs && parcel.written === this.#gatherer.count) this.#forget(parcel);
  }

  #forget({ written, writtenMs, dueMs }: OpenParcel): void {
    this.#gatherer.drop(written, Math.max(writtenMs, dueMs));
    this.#parcel = null;
  }

  #describe(nowMs: number, dueMs: number): Draft | null {
    const body = this.#gatherer.peek();
    if (body === null) return null;
    this.#parcel ??= { id: newUuid(), written: 0, writtenMs: nowMs, dueMs };
    const parcel = this.#parcel;
    parcel.dueMs = dueMs;
    return {
      id: parcel.id,
      body: { id: parcel.id, ...body },
      dueMs,
      isAmended: parcel.written > 0,
      trackCount: body.track_count,
      toldCount: 0,
      nextMs: Math.max(nowMs, dueMs) + this.#rule.backoffMs,
    };
  }
}
