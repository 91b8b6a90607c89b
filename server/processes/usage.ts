/** Usage minutes: what processes used is written to the database, and users without minutes are found. */
import type { Logger } from "pino";
import { type BatchQueue, BatchWriter } from "../async/batch-writer.ts";
import { ServiceError } from "../service-error.ts";
import type { Sql } from "../store/client.ts";
import { readStandings, type Standing, type UsageEntry, writeUsage } from "../store/users.ts";
import type { ProcessError } from "./processes.ts";

const RETRY = { firstMs: 500, maxMs: 5_000 };

/** Writes the latest total of each claim; while the database is unreachable one entry per claim waits. */
export class UsageWriter {
  readonly #queue = new LatestEntries();
  /** Totals that were queued so far, of claims that have not ended. */
  readonly #queuedMs = new Map<string, number>();
  readonly #writer: BatchWriter<UsageEntry>;

  constructor(sql: Sql, log: Logger) {
    this.#writer = new BatchWriter({
      queue: this.#queue,
      retry: RETRY,
      write: (entries) => writeUsage(sql, entries),
      onRetry: (error) => log.warn({ err: error }, "usage could not be stored; retrying"),
      onRejected: (entry, error) => log.error({ err: error, entry }, "usage rejected by the database"),
    });
  }

  /** Claims of which anything is remembered. */
  get size(): number {
    return new Set([...this.#queue.entries.keys(), ...this.#queuedMs.keys()]).size;
  }

  add(entry: UsageEntry): void {
    const key = keyOf(entry);
    if (entry.runningMs <= (this.#queuedMs.get(key) ?? 0)) return;
    this.#queuedMs.set(key, entry.runningMs);
    this.#queue.entries.set(key, entry);
    this.#writer.wake();
  }

  /** The claim has ended. */
  addLast(entry: UsageEntry): void {
    this.add(entry);
    this.#queuedMs.delete(keyOf(entry));
  }

  /** Resolves when all is written; not while the database is unreachable. */
  idle(): Promise<void> {
    return this.#writer.idle();
  }

  /** Tries once more to write what waits. */
  close(): Promise<void> {
    return this.#writer.close();
  }
}

class LatestEntries implements BatchQueue<UsageEntry> {
  readonly entries = new Map<string, UsageEntry>();

  get isEmpty(): boolean {
    return this.entries.size === 0;
  }

  take(): readonly UsageEntry[] {
    const batch = [...this.entries.values()];
    this.entries.clear();
    return batch;
  }

  /** Newer totals that were added meanwhile win. */
  putBack(batch: readonly UsageEntry[]): void {
    for (const entry of batch) if (!this.entries.has(keyOf(entry))) this.entries.set(keyOf(entry), entry);
  }
}

const keyOf = ({ processUuid, fence }: UsageEntry): string => `${processUuid}/${fence}`;

/** Why this user's processes must stop; null when they may run. */
export function findLimit({ remainingMs, isExpired, isRevoked }: Omit<Standing, "userUuid">): ProcessError | null {
  if (isRevoked) return { code: "api_key_invalid", detail: "the key was revoked" };
  if (isExpired) return { code: "api_key_expired", detail: "the key has expired" };
  if (remainingMs !== null && remainingMs <= 0)
    return { code: "usage_limit_reached", detail: "the minutes of this key are used up" };
  return null;
}

/** Rejects with `usage_limit_reached`. */
export async function expectMinutes(sql: Sql, userUuid: string): Promise<void> {
  const [standing] = await readStandings(sql, [userUuid]);
  const error = standing === undefined ? null : findLimit(standing);
  if (error?.code === "usage_limit_reached")
    throw new ServiceError("usage_limit_reached", { detail: `${error.detail}; GET /user_info shows its minutes` });
}

export interface Consumption {
  readonly remainingMs: number | null;
  /** Processes of the user that use minutes now. */
  readonly running: number;
}

/** The earliest time at which the minutes of a user can be used up, between `minMs` and `maxMs`. */
export function nextCheckMs(users: readonly Consumption[], minMs: number, maxMs: number): number {
  const ends = users.flatMap(({ remainingMs, running }) =>
    remainingMs === null || running === 0 ? [] : [remainingMs / running],
  );
  return Math.max(minMs, Math.min(maxMs, ...ends));
}
