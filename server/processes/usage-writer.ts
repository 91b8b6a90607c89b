/** Brings what was used to the database. What could not be written yet waits, one number for every claim. */
import type { Sql } from "../store/client.ts";
import { type UsageEntry, writeUsage } from "../store/usage.ts";

export class UsageWriter {
  readonly #sql: Sql;
  readonly #waiting = new Map<string, UsageEntry>();
  readonly #writtenMs = new Map<string, number>();
  #turn: Promise<void> = Promise.resolve();

  constructor(sql: Sql) {
    this.#sql = sql;
  }

  note(entry: UsageEntry): void {
    if (entry.runningMs > (this.#writtenMs.get(keyOf(entry)) ?? 0)) this.#waiting.set(keyOf(entry), entry);
  }

  /** It has ended: after this `note` nothing more comes of that claim. */
  close(entry: UsageEntry): void {
    this.note(entry);
    this.#writtenMs.delete(keyOf(entry));
  }

  /** Rejects when the database is away: then all of it waits for the next time. */
  flush(): Promise<void> {
    const done = this.#turn.then(() => this.#write());
    this.#turn = done.catch(() => {});
    return done;
  }

  async #write(): Promise<void> {
    const entries = [...this.#waiting];
    await writeUsage(
      this.#sql,
      entries.map(([, entry]) => entry),
    );
    for (const [key, entry] of entries) {
      if (this.#waiting.get(key) === entry) this.#waiting.delete(key);
      this.#writtenMs.set(key, entry.runningMs);
    }
  }
}

const keyOf = ({ processUuid, fence }: UsageEntry): string => `${processUuid}/${fence}`;
