/**
 * Brings what is gathered to the outbox: as soon as there is something, but not more often than the pace says, and again
 * and again while the database is away.
 */
import type { Logger } from "pino";
import type { Config } from "../../schemas/config.ts";
import { backoff } from "../async/timing.ts";
import type { Delivery } from "../delivery/delivery.ts";
import type { Sql } from "../store/client.ts";
import { listSubscriptions } from "../store/subscriptions.ts";
import { closeSubscriptions } from "./close-subscriptions.ts";
import type { ProcessGathering, SubscriptionDraft } from "./process-gathering.ts";
import { writeDrafts } from "./write-drafts.ts";

export interface WriterNeeds {
  readonly sql: Sql;
  readonly delivery: Pick<Delivery, "enqueue" | "amend" | "closeDestination" | "wake">;
  readonly config: Config["webhooks"];
  readonly log: Logger;
}

/** In one transaction: others need the rows too. */
const BATCH = 100;
/** PostgreSQL's classes of faults that are the data's own: trying again mends none of them. */
const BAD_DATA = /^2[23]/;
/** A clock that is set must not let it sleep for long. */
const MOST_WAIT_MS = 60_000;
/** What was on its way before it could change leaves a rest, which is written at once. */
const ROUNDS = 2;
/** Of a process that has ended. */
const LAST_ROUNDS = 3;

export class GatheringWriter {
  readonly #needs: WriterNeeds;
  readonly #gatherings = new Set<ProcessGathering>();
  #timer: NodeJS.Timeout | undefined;
  /** By `performance.now()`, as the next: when it will look, and no sooner. */
  #timerMs = Number.POSITIVE_INFINITY;
  #notBeforeMs = 0;
  #writing: Promise<void> | null = null;
  #failures = 0;
  #isClosed = false;

  constructor(needs: WriterNeeds) {
    this.#needs = needs;
  }

  add(gathering: ProcessGathering): void {
    this.#gatherings.add(gathering);
    this.look();
  }

  /** Something may have been gathered. */
  look(): void {
    if (this.#writing !== null || this.#isClosed) return;
    const waitMs = this.#findWaitMs();
    const atMs = performance.now() + waitMs;
    if (waitMs === Number.POSITIVE_INFINITY || atMs >= this.#timerMs) return;
    clearTimeout(this.#timer);
    this.#timerMs = atMs;
    this.#timer = setTimeout(() => void this.flush(), waitMs);
  }

  /** Resolves when all that is to be written now was tried. */
  async flush(): Promise<void> {
    // What is under way may have begun before the last was gathered.
    while (this.#writing !== null) await this.#writing;
    this.#writing = this.#write().finally(() => {
      this.#writing = null;
      this.look();
    });
    await this.#writing;
  }

  /** After a last attempt. */
  async close(): Promise<void> {
    await this.flush();
    this.#isClosed = true;
    clearTimeout(this.#timer);
  }

  #findWaitMs(): number {
    const nowMs = Date.now();
    let waitMs = Number.POSITIVE_INFINITY;
    for (const { isLoaded, isEnded, isLeft, wakeMs } of this.#gatherings) {
      if (!isLoaded || isEnded || isLeft) waitMs = 0;
      else if (wakeMs !== null) waitMs = Math.min(waitMs, wakeMs - nowMs);
    }
    if (waitMs === Number.POSITIVE_INFINITY) return waitMs;
    return Math.min(Math.max(waitMs, this.#notBeforeMs - performance.now(), 0), MOST_WAIT_MS);
  }

  async #write(): Promise<void> {
    clearTimeout(this.#timer);
    this.#timerMs = Number.POSITIVE_INFINITY;
    const { config, log } = this.#needs;
    let hasFailed = false;
    for (const gathering of this.#gatherings)
      await this.#writeGathering(gathering).catch((error: unknown) => {
        hasFailed = true;
        const { uuid } = gathering.claim;
        log.warn({ process: uuid, err: error }, "notifications could not be written down; it is tried again");
      });
    this.#failures = hasFailed ? this.#failures + 1 : 0;
    const rule = { firstMs: config.retry_first_seconds * 1000, maxMs: config.retry_most_seconds * 1000 };
    const waitMs = hasFailed ? backoff(this.#failures, rule) : config.gather_seconds * 1000;
    this.#notBeforeMs = performance.now() + waitMs;
  }

  async #writeGathering(gathering: ProcessGathering): Promise<void> {
    const { sql } = this.#needs;
    if (!gathering.isLoaded) gathering.load((await listSubscriptions(sql, gathering.claim.uuid)).rows);
    // As they are now: one that ends meanwhile is written once more.
    const { isEnded, isLeft } = gathering;
    for (let round = 0; round < (isEnded ? LAST_ROUNDS : ROUNDS); round += 1) {
      const drafts = gathering.drafts(Date.now());
      await this.#writeAll(
        gathering,
        drafts.filter(({ draft }) => !draft.isAmended),
      );
      await this.#writeAll(
        gathering,
        drafts.filter(({ draft }) => draft.isAmended),
      );
    }
    if (isEnded) await this.#closeAll(gathering.subscriptions);
    if (isEnded || isLeft) this.#gatherings.delete(gathering);
  }

  async #writeAll(gathering: ProcessGathering, drafts: readonly SubscriptionDraft[]): Promise<void> {
    for (let at = 0; at < drafts.length; at += BATCH) {
      await this.#writeBatch(gathering, drafts.slice(at, at + BATCH));
      this.#needs.delivery.wake();
    }
  }

  /** One that cannot be written must not keep the others from it. */
  async #writeBatch(gathering: ProcessGathering, drafts: readonly SubscriptionDraft[]): Promise<void> {
    const { sql, delivery, log } = this.#needs;
    try {
      const outcomes = await writeDrafts(sql, delivery, gathering.claim, drafts);
      for (const [uuid, outcome] of outcomes) {
        if (outcome === null) gathering.remove(uuid);
        else gathering.settle(uuid, outcome, Date.now());
      }
    } catch (error) {
      const [first] = drafts;
      if (first === undefined || !BAD_DATA.test(String((error as { code?: unknown }).code))) throw error;
      if (drafts.length > 1) {
        for (const one of drafts) await this.#writeBatch(gathering, [one]);
        return;
      }
      log.error({ subscription: first.uuid, err: error }, "a notification cannot be written down and is lost");
      gathering.settle(first.uuid, { kind: "late", trackCount: first.draft.trackCount }, Date.now());
    }
  }

  async #closeAll(uuids: readonly string[]): Promise<void> {
    const { sql, delivery } = this.#needs;
    for (let at = 0; at < uuids.length; at += BATCH)
      await closeSubscriptions(sql, delivery, uuids.slice(at, at + BATCH));
    delivery.wake();
  }
}
