/** What has arrived, on its way to the database: gathered while a write is under way, so that many share one. */
import type { Logger } from "pino";
import { backoff, sleep } from "../async/timing.ts";
import type { Sql } from "../store/client.ts";
import { type Receipt, removeDelivered } from "../store/parcels.ts";

const RETRY = { firstMs: 50, maxMs: 2_000 };

export class Receipts {
  readonly #sql: Sql;
  readonly #log: Logger;
  readonly #closing = new AbortController();
  #gathered: Receipt[] = [];
  #current: Promise<void> = Promise.resolve();
  #next: Promise<void> | null = null;

  constructor(sql: Sql, log: Logger) {
    this.#sql = sql;
    this.#log = log;
  }

  add(receipt: Receipt): void {
    this.#gathered.push(receipt);
    this.#next ??= this.#current.then(() => {
      this.#next = null;
      this.#current = this.#write();
      return this.#current;
    });
  }

  /** Resolves when all that was added so far is written; never rejects. */
  settle(): Promise<void> {
    return this.#next ?? this.#current;
  }

  /** Tried once more. What is still not written will be sent again, under the same ids. */
  async close(): Promise<void> {
    this.#closing.abort();
    await this.settle();
  }

  async #write(): Promise<void> {
    const receipts = this.#gathered;
    this.#gathered = [];
    for (let attempt = 1; ; attempt++) {
      try {
        return await removeDelivered(this.#sql, receipts);
      } catch (error) {
        const about = { err: error, parcels: receipts.length };
        this.#log.warn(about, "what was delivered could not be written down; it is tried again");
        if (this.#closing.signal.aborted) return;
        await sleep(backoff(attempt, RETRY), this.#closing.signal);
      }
    }
  }
}
