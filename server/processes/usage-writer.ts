/** Brings what was used to the database. What could not be written yet waits, one number for every claim. */
import type { Sql } from "../store/client.ts";
import { type UsageEntry, writeUsage } from "../store/users.ts";

export class UsageWriter {
  readonly #sql: Sql;
  readonly #waiting = new Map<string, UsageEntry>();
  readonly #writtenMs = new Map<string, number>();
  /** Of claims that have ended, until their last number is written. */
  readonly #closed = new Set<string>();
  #turn: Promise<void> = Promise.resolve();

  constructor(sql: Sql) {
    this.#sql = sql;
  }

  note(entry: UsageEntry): void {
    if (entry.runningMs > (this.#writtenMs.get(keyOf(entry)) ?? 0)) this.#waiting.set(keyOf(entry), entry);
  }

  /** It has ended: after this `note` nothing more comes of that claim. */
  close(entry: UsageEntry): void {
    const key = keyOf(entry);
    this.note(entry);
    if (this.#waiting.has(key)) this.#closed.add(key);
    else this.#writtenMs.delete(key);
  }

  /** Claims of which something is kept. */
  get size(): number {
    return new Set([...this.#waiting.keys(), ...this.#writtenMs.keys(), ...this.#closed]).size;
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
      this.#writtenMs.set(key, entry.runningMs);
      if (this.#waiting.get(key) !== entry) continue;
      this.#waiting.delete(key);
      if (this.#closed.delete(key)) this.#writtenMs.delete(key);
    }
  }
}

const keyOf = ({ processUuid, fence }: UsageEntry): string => `${processUuid}/${fence}`;
