/**
 * Stores the drafts of subscriptions as deliveries: as soon as there are any, at most every `gatherMs`, and with
 * retries. Not by a BatchWriter: drafts become due at a time, and each attempt makes them again from what was collected.
 */
import type { Logger } from "pino";
import { writeSome } from "../async/batch-writer.ts";
import { backoff } from "../async/timing.ts";
import type { Outbox } from "../delivery/outbox.ts";
import type { Sql } from "../store/client.ts";
import {
  closeSubscriptions,
  listSubscriptions,
  lockProgress,
  type NewProgress,
  saveProgress,
} from "../store/subscriptions.ts";
import type { Draft, Outcome, ProcessSubscriptions } from "./process-subscriptions.ts";

export interface NotificationWriterDeps {
  readonly sql: Sql;
  readonly delivery: Pick<Outbox, "enqueue" | "amend" | "wake">;
  readonly log: Logger;
  /** Minimum interval for storing the events of subscriptions; set in tests. */
  readonly gatherMs?: number;
}

const GATHER_MS = 100;
/** While the database is unavailable. */
const RETRY = { firstMs: 200, maxMs: 5_000 };

/** Subscriptions in one transaction, which locks their rows. */
const BATCH = 100;
/** A clock that is set must not delay it for long. */
const MAX_WAIT_MS = 60_000;
/** Drafts that were too late to amend a delivery leave tracks, which are stored in the next round. */
const ROUNDS = 2;
/** Of a process that has ended. */
const LAST_ROUNDS = 3;

export class NotificationWriter {
  readonly #deps: NotificationWriterDeps;
  readonly #processes = new Set<ProcessSubscriptions>();
  #timer: NodeJS.Timeout | undefined;
  /** By `performance.now()`, like the next: when the timer fires. */
  #timerMs = Number.POSITIVE_INFINITY;
  #notBeforeMs = 0;
  #writing: Promise<void> | null = null;
  #failures = 0;
  #isClosed = false;

  constructor(deps: NotificationWriterDeps) {
    this.#deps = deps;
  }

  add(subscriptions: ProcessSubscriptions): void {
    this.#processes.add(subscriptions);
    this.schedule();
  }

  /** Something may have been collected. */
  schedule(): void {
    if (this.#writing !== null || this.#isClosed) return;
    const waitMs = this.#findWaitMs();
    const atMs = performance.now() + waitMs;
    if (waitMs === Number.POSITIVE_INFINITY || atMs >= this.#timerMs) return;
    clearTimeout(this.#timer);
    this.#timerMs = atMs;
    this.#timer = setTimeout(() => void this.flush(), waitMs);
  }

  /** Resolves after one attempt to store everything that is due. */
  async flush(): Promise<void> {
    // The current attempt may have begun before the last draft.
    while (this.#writing !== null) await this.#writing;
    this.#writing = this.#write().finally(() => {
      this.#writing = null;
      this.schedule();
    });
    await this.#writing;
  }

  async close(): Promise<void> {
    await this.flush();
    this.#isClosed = true;
    clearTimeout(this.#timer);
  }

  #findWaitMs(): number {
    const nowMs = Date.now();
    let waitMs = Number.POSITIVE_INFINITY;
    for (const { isLoaded, isEnded, isLeft, wakeMs } of this.#processes) {
      if (!isLoaded || isEnded || isLeft) waitMs = 0;
      else if (wakeMs !== null) waitMs = Math.min(waitMs, wakeMs - nowMs);
    }
    if (waitMs === Number.POSITIVE_INFINITY) return waitMs;
    return Math.min(Math.max(waitMs, this.#notBeforeMs - performance.now(), 0), MAX_WAIT_MS);
  }

  async #write(): Promise<void> {
    clearTimeout(this.#timer);
    this.#timerMs = Number.POSITIVE_INFINITY;
    const { log, gatherMs = GATHER_MS } = this.#deps;
    let hasFailed = false;
    for (const subscriptions of this.#processes)
      await this.#writeProcess(subscriptions).catch((error: unknown) => {
        hasFailed = true;
        log.warn({ process: subscriptions.claim.uuid, err: error }, "notifications not stored; retrying");
      });
    this.#failures = hasFailed ? this.#failures + 1 : 0;
    const waitMs = hasFailed ? backoff(this.#failures, RETRY) : gatherMs;
    this.#notBeforeMs = performance.now() + waitMs;
  }

  async #writeProcess(subscriptions: ProcessSubscriptions): Promise<void> {
    const { sql, delivery } = this.#deps;
    if (!subscriptions.isLoaded) subscriptions.load((await listSubscriptions(sql, subscriptions.claim.uuid)).rows);
    // As they are now: a process that ends meanwhile is written once more.
    const { isEnded, isLeft } = subscriptions;
    for (let round = 0; round < (isEnded ? LAST_ROUNDS : ROUNDS); round += 1) {
      const drafts = subscriptions.makeDrafts(Date.now());
      // Apart, so that each transaction locks destinations in the order of their uuids.
      for (const isAmended of [false, true])
        await this.#writeDrafts(
          subscriptions,
          drafts.filter((draft) => draft.isAmended === isAmended),
        );
    }
    if (isEnded) {
      const { uuids } = subscriptions;
      for (let at = 0; at < uuids.length; at += BATCH) await closeSubscriptions(sql, uuids.slice(at, at + BATCH));
      delivery.wake();
    }
    if (isEnded || isLeft) this.#processes.delete(subscriptions);
  }

  async #writeDrafts(subscriptions: ProcessSubscriptions, drafts: readonly Draft[]): Promise<void> {
    const { delivery, log } = this.#deps;
    for (let at = 0; at < drafts.length; ) {
      at += await writeSome(drafts.slice(at, at + BATCH), {
        write: (batch) => this.#store(subscriptions, batch),
        onRejected: ({ destinationUuid: uuid, trackCount }, error) => {
          log.error({ subscription: uuid, err: error }, "notification rejected by the database");
          subscriptions.settle(uuid, { kind: "late", trackCount }, Date.now());
        },
      });
      delivery.wake();
    }
  }

  /** All new, or all amended. Stores deliveries, and what subscriptions have sent, in one transaction. */
  async #store(subscriptions: ProcessSubscriptions, drafts: readonly Draft[]): Promise<void> {
    const { sql, delivery } = this.#deps;
    const ordered = [...drafts].sort((a, b) => (a.destinationUuid < b.destinationUuid ? -1 : 1));
    const isAmended = ordered.some((draft) => draft.isAmended);
    const uuids = ordered.map(({ destinationUuid }) => destinationUuid);
    const outcomes = await sql.begin(async (transaction) => {
      const rows = await lockProgress(transaction, subscriptions.claim, uuids);
      const outcomes = new Map<string, Outcome>();
      const pending: Draft[] = [];
      for (const draft of ordered) {
        const { destinationUuid: uuid, id, waitsForEarlier } = draft;
        const row = rows.get(uuid);
        if (row === undefined) continue;
        const isKnown = row.parcelId === id;
        const waits = waitsForEarlier && row.isWaiting;
        // A known draft that is new was committed by an attempt whose answer was lost. Late unless stored below.
        const kind = isKnown && !isAmended ? "stored" : waits ? "waits" : "late";
        outcomes.set(uuid, { kind, trackCount: isKnown ? row.parcelCount : 0 });
        if (kind === "late") pending.push(draft);
      }
      // Amended in a pipeline: sent together, executed in this order.
      const answers = isAmended
        ? await Promise.all(pending.map((draft) => delivery.amend(transaction, draft)))
        : await delivery.enqueue(transaction, pending).then(() => pending.map(() => true));
      const stored = pending.filter((_, at) => answers[at] === true);
      for (const { destinationUuid, trackCount } of stored)
        outcomes.set(destinationUuid, { kind: "stored", trackCount });
      await saveProgress(transaction, stored.map(toProgress));
      return outcomes;
    });
    for (const uuid of uuids) {
      const outcome = outcomes.get(uuid);
      // It was deleted, or another node has the process.
      if (outcome === undefined) subscriptions.remove(uuid);
      else subscriptions.settle(uuid, outcome, Date.now());
    }
  }
}

const toProgress = ({ id, destinationUuid, trackCount, sentCount, nextMs }: Draft): NewProgress => ({
  ...{ uuid: destinationUuid, parcelId: id, parcelCount: trackCount, sentCount, nextMs },
});
