/**
 * Makes notices durable: those that wait are written down together, each as a parcel for every output, in one transaction;
 * only then is anybody told. One after the other, so that the order stays. Nothing here makes a process wait.
 */
import type { Logger } from "pino";
import type { Config } from "../../schemas/config.ts";
import type { JsonRecord } from "../../schemas/json.ts";
import { backoff, sleep } from "../async/timing.ts";
import type { Delivery, Parcel } from "../delivery/delivery.ts";
import { findReceivers } from "../store/alert-pairs.ts";
import type { Sql } from "../store/client.ts";
import { nameNotice } from "./draft-notice.ts";
import { type WaitingNotice, WaitingNotices } from "./waiting-notices.ts";

export interface NoticeWriterNeeds {
  readonly sql: Sql;
  readonly config: Config["alerts"];
  readonly log: Logger;
  readonly delivery: Pick<Delivery, "enqueue" | "wake">;
}

export interface AlertNumbers {
  readonly written: number;
  /** Never written down: too many waited, or they cannot be kept. */
  readonly lost: number;
  readonly waiting: number;
}

/** At once: each is written once for every output, and more than the database takes in one would never be written. */
const BATCH_BYTES = 2 * 2 ** 20;

/** PostgreSQL's classes of faults that are the data's own: trying again mends none of them. */
const BAD_DATA = /^2[23]/;

export class NoticeWriter {
  readonly #needs: NoticeWriterNeeds;
  readonly #waiting: WaitingNotices;
  readonly #closing = new AbortController();
  /** While it writes. */
  #writing: Promise<void> | null = null;
  #failures = 0;
  /** So many are written one by one: some of them cannot be. */
  #alone = 0;
  #lost = 0;
  #written = 0;

  constructor(needs: NoticeWriterNeeds) {
    const { queued_notices: notices, queued_bytes: bytes } = needs.config;
    this.#needs = needs;
    this.#waiting = new WaitingNotices({ notices, bytes });
  }

  /** Since the start. */
  get numbers(): AlertNumbers {
    return { written: this.#written, lost: this.#lost, waiting: this.#waiting.size };
  }

  add(notice: WaitingNotice): void {
    this.#waiting.add(notice);
    this.#writing ??= this.#writeAll();
  }

  /** Resolves when all that was added so far is written down or lost; while the database is away, not. */
  async idle(): Promise<void> {
    await this.#writing;
  }

  /** What cannot be written down at once any more is lost. */
  close(): void {
    this.#closing.abort();
  }

  async #writeAll(): Promise<void> {
    const { config } = this.#needs;
    while (!this.#waiting.isEmpty) {
      const taken = this.#waiting.take({ notices: this.#alone > 0 ? 1 : config.batch_notices, bytes: BATCH_BYTES });
      try {
        await this.#commit(taken);
        this.#alone = Math.max(0, this.#alone - 1);
        this.#failures = 0;
      } catch (error) {
        if (BAD_DATA.test(String((error as { code?: unknown }).code))) this.#separate(taken, error);
        else if (!(await this.#waitAfter(taken, error))) break;
      }
      this.#countLosses();
    }
    this.#writing = null;
  }

  /** One that cannot be written must not keep the others from it. */
  #separate(taken: readonly WaitingNotice[], error: unknown): void {
    if (taken.length > 1) {
      this.#alone = taken.length;
      this.#waiting.putBack(taken);
      return;
    }
    this.#alone = Math.max(0, this.#alone - 1);
    this.#waiting.lose();
    this.#needs.log.error({ err: error, alert: taken[0]?.draft.alert_uuid }, "a notice could not be kept");
  }

  /** False: it is closed, and what waits is lost. */
  async #waitAfter(taken: readonly WaitingNotice[], error: unknown): Promise<boolean> {
    const { config, log } = this.#needs;
    this.#waiting.putBack(taken);
    this.#failures += 1;
    log.warn({ err: error }, "notices of alerts could not be written down; it is tried again");
    if (this.#closing.signal.aborted) return false;
    const rule = { firstMs: config.retry_first_seconds * 1000, maxMs: config.retry_most_seconds * 1000 };
    await sleep(backoff(this.#failures, rule), this.#closing.signal);
    return true;
  }

  #countLosses(): void {
    const lost = this.#waiting.takeLosses();
    if (lost === 0) return;
    this.#lost += lost;
    this.#needs.log.error({ lost }, "so many notices of alerts are lost: too many waited, or they cannot be kept");
  }

  async #commit(batch: readonly WaitingNotice[]): Promise<void> {
    const { sql, delivery } = this.#needs;
    const written = await sql.begin(async (transaction) => {
      const receivers = await findReceivers(
        transaction,
        batch.map(({ draft }) => keyOf(draft)),
      );
      const notices = batch.flatMap(({ draft, tell }) => {
        const found = receivers.get(`${draft.process_uuid} ${draft.alert_uuid}`);
        // Of an alert that is gone nobody wants to hear.
        return found === undefined ? [] : [{ notice: nameNotice(draft, found.alias), output: found.output, tell }];
      });
      const parcels = notices.flatMap(({ notice, output }) =>
        output.map(
          ({ uuid }): Parcel => ({ id: notice.id, destinationUuid: uuid, body: notice as unknown as JsonRecord }),
        ),
      );
      if (parcels.length > 0) await delivery.enqueue(transaction, parcels);
      return notices;
    });
    this.#written += written.length;
    delivery.wake();
    for (const { notice, tell } of written) tell(notice);
  }
}

const keyOf = (draft: WaitingNotice["draft"]) => ({ processUuid: draft.process_uuid, alertUuid: draft.alert_uuid });
