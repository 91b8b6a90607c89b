/**
 * Subscriptions of webhooks to processes: one listener for each process, however many subscriptions. Drafts of notifications
 * are stored as deliveries: as soon as there are any, at most every `gather_seconds`, and with retries. Not by a BatchWriter:
 * drafts become due at a time, and each attempt makes them again from what was collected. Never blocks a process.
 */
import type { Logger } from "pino";
import type { NewSubscription, SubscriptionChoice } from "../../schemas/api/webhooks.ts";
import type { Config } from "../../schemas/config.ts";
import type { DetectionMessage } from "../../schemas/detection-message.ts";
import type { JsonRecord } from "../../schemas/json.ts";
import { writeSome } from "../async/batch-writer.ts";
import { type Poller, sweepEvery } from "../async/poller.ts";
import { backoff, withTimeout } from "../async/timing.ts";
import type { Outbox } from "../delivery/outbox.ts";
import type { Processes, ProcessNotice } from "../processes/processes.ts";
import type { Sql } from "../store/client.ts";
import { removeDestination, saveDestination } from "../store/destinations.ts";
import type { ProcessRow } from "../store/processes.ts";
import {
  closeSubscriptions,
  deleteSubscriptions,
  findLeftSubscriptions,
  insertSubscription,
  listSubscriptions,
  lockProgress,
  type SubscriptionRow,
  saveProgress,
} from "../store/subscriptions.ts";
import type { User } from "../user.ts";
import { type Draft, type Outcome, ProcessSubscriptions } from "./process-subscriptions.ts";
import { checkAddresses, destinationOf, prepareSubscription, selectSubscriptions } from "./subscriptions.ts";

export interface WebhooksDeps {
  readonly sql: Sql;
  readonly delivery: Pick<Outbox, "enqueue" | "amend" | "wake">;
  readonly config: Pick<Config, "network">;
  readonly log: Logger;
  /** Minimum interval for storing the events of subscriptions; set in tests. */
  readonly gatherMs?: number;
  /** Interval for removing subscriptions of ended processes; set in tests. */
  readonly sweepMs?: number;
}

export interface ObservedProcess {
  readonly row: Pick<ProcessRow, "uuid" | "nextTrackId">;
  /** 1 on its first node. */
  readonly fence: number;
  follow(listener: (notice: ProcessNotice) => void): () => void;
}

/** For the last writes to the database. */
const CLOSE_MS = 3_000;
/** The node of a process cleans up when it ends; others only after this time. */
const GRACE_SECONDS = 60;
const SWEEP_MS = 60_000;
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

export class Webhooks {
  readonly #deps: WebhooksDeps;
  /** Those that run here, by uuid. */
  readonly #processes = new Map<string, ProcessSubscriptions>();
  /** With those that have ended, until everything of theirs is stored. */
  readonly #unwritten = new Set<ProcessSubscriptions>();
  readonly #sweeping: Poller;
  #timer: NodeJS.Timeout | undefined;
  /** By `performance.now()`, like the next: when the timer fires. */
  #timerMs = Number.POSITIVE_INFINITY;
  #notBeforeMs = 0;
  #writing: Promise<void> | null = null;
  #failures = 0;
  #isClosed = false;

  constructor(deps: WebhooksDeps) {
    this.#deps = deps;
    this.#sweeping = sweepEvery(
      deps.sweepMs ?? SWEEP_MS,
      () => this.sweep(),
      (error) => deps.log.warn({ err: error }, "subscriptions of ended processes not closed; retrying"),
    );
  }

  follow(process: ObservedProcess): void {
    const { uuid, nextTrackId } = process.row;
    const { fence } = process;
    const subscriptions = new ProcessSubscriptions(
      { uuid, fence },
      { lastTrackId: nextTrackId - 1, isNew: fence === 1 },
    );
    this.#processes.set(uuid, subscriptions);
    this.#unwritten.add(subscriptions);
    this.#schedule();
    process.follow((notice) => {
      if (notice.type === "message" && notice.channel === "detection_data") this.#see(subscriptions, notice.message);
      else if (notice.type === "state" && (notice.state === "finished" || notice.state === "failed"))
        subscriptions.isEnded = true;
      else if (notice.type === "ended") {
        subscriptions.isLeft = true;
        if (this.#processes.get(uuid) === subscriptions) this.#processes.delete(uuid);
        this.#schedule();
      }
    });
  }

  /** Rejects with `ServiceError`. */
  async subscribe(
    processes: Pick<Processes, "expectOffer">,
    { user, processUuid, wish }: { readonly user: User; readonly processUuid: string; readonly wish: NewSubscription },
  ): Promise<SubscriptionRow> {
    const { sql, config } = this.#deps;
    checkAddresses(wish);
    await processes.expectOffer(user, processUuid, "detections");
    const row = await prepareSubscription(wish, user, processUuid, config.network);
    const inserted = await sql.begin(async (transaction) => {
      const subscription = await insertSubscription(transaction, row, user.limits.subscriptions);
      await saveDestination(transaction, destinationOf(row));
      return subscription;
    });
    this.#processes.get(processUuid)?.add(inserted);
    return inserted;
  }

  /** With their queues. Resolves with their uuids; rejects with `subscription_not_found`. */
  async unsubscribe(processUuid: string, choice: SubscriptionChoice): Promise<readonly string[]> {
    const deleted = await this.#deps.sql.begin(async (transaction) => {
      const selected = await selectSubscriptions(transaction, processUuid, choice);
      const uuids = await deleteSubscriptions(
        transaction,
        selected.map(({ uuid }) => uuid),
      );
      // Pipelined: sent together, executed in this order.
      await Promise.all(uuids.map((uuid) => removeDestination(transaction, uuid)));
      return uuids;
    });
    for (const uuid of deleted) this.#processes.get(processUuid)?.remove(uuid);
    return deleted;
  }

  /** Resolves after one attempt to store everything that is due. */
  async flush(): Promise<void> {
    // The current attempt may have begun before the last draft.
    while (this.#writing !== null) await this.#writing;
    this.#writing = this.#write().finally(() => {
      this.#writing = null;
      this.#schedule();
    });
    await this.#writing;
  }

  /** Closes subscriptions of processes that ended without a node that noticed it. */
  async sweep(graceSeconds = GRACE_SECONDS): Promise<void> {
    const { sql, delivery } = this.#deps;
    for (;;) {
      const left = await findLeftSubscriptions(sql, graceSeconds, BATCH);
      await closeSubscriptions(sql, left);
      if (left.length > 0) delivery.wake();
      if (left.length < BATCH) return;
    }
  }

  async close(): Promise<void> {
    await withTimeout(CLOSE_MS, this.#sweeping.close());
    await withTimeout(CLOSE_MS, this.flush());
    this.#isClosed = true;
    clearTimeout(this.#timer);
  }

  #see(subscriptions: ProcessSubscriptions, message: JsonRecord): void {
    if (!Array.isArray(message.active_tracks)) return;
    subscriptions.see(message as unknown as DetectionMessage, Date.now());
    this.#schedule();
  }

  /** Something may have been collected. */
  #schedule(): void {
    if (this.#writing !== null || this.#isClosed) return;
    const waitMs = this.#findWaitMs();
    const atMs = performance.now() + waitMs;
    if (waitMs === Number.POSITIVE_INFINITY || atMs >= this.#timerMs) return;
    clearTimeout(this.#timer);
    this.#timerMs = atMs;
    this.#timer = setTimeout(() => void this.flush(), waitMs);
  }

  #findWaitMs(): number {
    const nowMs = Date.now();
    let waitMs = Number.POSITIVE_INFINITY;
    for (const { isLoaded, isEnded, isLeft, wakeMs } of this.#unwritten) {
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
    for (const subscriptions of this.#unwritten)
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
    if (isEnded || isLeft) this.#unwritten.delete(subscriptions);
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
      await saveProgress(
        transaction,
        stored.map(({ id, destinationUuid: uuid, trackCount, sentCount, nextMs }) => ({
          ...{ uuid, parcelId: id, parcelCount: trackCount, sentCount, nextMs },
        })),
      );
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
