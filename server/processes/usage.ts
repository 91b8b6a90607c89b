/** Usage minutes: what processes used is written to the database, and processes of users without minutes are stopped. */
import { type BatchQueue, BatchWriter } from "../async/batch-writer.ts";
import { Poller } from "../async/poller.ts";
import { TIMED_OUT, withTimeout } from "../async/timing.ts";
import { saveProgress } from "../store/progress.ts";
import { findLimit, readStandings, type UsageEntry, writeUsage } from "../store/users.ts";
import type { Process, ProcessDeps } from "./process.ts";
import { storeView } from "./view.ts";

/** Minimum interval between checks of minutes that are nearly used up. */
const MIN_CHECK_MS = 200;
const RETRY = { firstMs: 500, maxMs: 5_000 };

type MeteredProcess = Pick<Process, "row" | "record">;
type MeteringDeps = Pick<ProcessDeps, "sql" | "log" | "config" | "limits" | "node">;

/** Meters the processes of this node. */
export class Metering {
  readonly #deps: MeteringDeps;
  readonly #list: () => readonly Process[];
  readonly #totals = new LatestTotals();
  readonly #writer: BatchWriter<UsageEntry>;
  readonly #poller = new Poller(() => this.#meter());

  constructor(deps: MeteringDeps, list: () => readonly Process[]) {
    const { sql, log } = deps;
    this.#deps = deps;
    this.#list = list;
    this.#writer = new BatchWriter({
      queue: this.#totals,
      retry: RETRY,
      write: (entries) => writeUsage(sql, entries),
      onRetry: (error) => log.warn({ err: error }, "usage could not be stored; retrying"),
      onRejected: (entry, error) => log.error({ err: error, entry }, "usage rejected by the database"),
    });
  }

  start(): void {
    this.#poller.start(this.#deps.limits.usageMs);
  }

  /** What the process has used so far. */
  add(process: MeteredProcess): void {
    this.#note(process);
    this.#writer.wake();
  }

  /** Resolves when what was used so far is stored, or after the time limit. */
  async flush(): Promise<void> {
    for (const process of this.#list()) this.#note(process);
    // Woken after the last one: all in one statement.
    this.#writer.wake();
    await withTimeout(this.#deps.limits.saveMs, this.#writer.idle());
  }

  /** Nothing is metered afterwards; `close` follows. */
  stop(): Promise<void> {
    return this.#poller.close();
  }

  /** Tries once more to write what waits. */
  async close(limitMs: number): Promise<void> {
    const isLate = (await withTimeout(limitMs, this.#writer.close())) === TIMED_OUT;
    if (isLate) this.#deps.log.warn("usage could not be stored before shutdown");
  }

  /** Stores progress and usage, and stops the processes of users who may not run any. */
  async #meter(): Promise<number> {
    const { log, limits } = this.#deps;
    const maxMs = limits.usageMs;
    try {
      await Promise.all([this.#saveProgress(), this.flush()]);
      return await this.#stopSpent(maxMs);
    } catch (error) {
      log.warn({ err: error }, "usage limits could not be read; retrying");
      return maxMs;
    }
  }

  #note({ row, record }: MeteredProcess): void {
    const { runningMs, claim } = record;
    if (runningMs <= record.meteredMs) return;
    record.meteredMs = runningMs;
    this.#totals.put({ processUuid: row.uuid, fence: claim.fence, runningMs });
  }

  async #saveProgress(): Promise<void> {
    const { sql, node } = this.#deps;
    const processes = this.#list().filter(({ state }) => state === "running" || state === "paused");
    const saved = await saveProgress(
      sql,
      processes.map(({ record, view }) => ({ ...record.progress, view: node.isAlone ? null : storeView(view) })),
    );
    // Ended meanwhile, or another node owns it.
    for (const process of processes) if (!saved.has(process.row.uuid) && process.isActive) void process.record.save();
  }

  async #stopSpent(maxMs: number): Promise<number> {
    const ofUser = (uuid: string) => this.#list().filter(({ row }) => row.userUuid === uuid);
    const users = [...new Set(this.#list().map(({ row }) => row.userUuid))];
    const standings = await readStandings(this.#deps.sql, users);
    for (const standing of standings) {
      const error = findLimit(standing);
      if (error !== null) for (const process of ofUser(standing.userUuid)) void process.stop(error);
    }
    const consumptions = standings.map(({ userUuid, remainingMs }) => ({
      remainingMs,
      running: ofUser(userUuid).filter(({ state }) => state === "running").length,
    }));
    return nextCheckMs(consumptions, MIN_CHECK_MS, maxMs);
  }
}

/** The latest total of each claim: while the database is unreachable one entry per claim waits. */
class LatestTotals implements BatchQueue<UsageEntry> {
  readonly #entries = new Map<string, UsageEntry>();

  get isEmpty(): boolean {
    return this.#entries.size === 0;
  }

  put(entry: UsageEntry): void {
    this.#entries.set(`${entry.processUuid}/${entry.fence}`, entry);
  }

  take(): readonly UsageEntry[] {
    const batch = [...this.#entries.values()];
    this.#entries.clear();
    return batch;
  }

  /** Newer totals that were added meanwhile win. */
  putBack(batch: readonly UsageEntry[]): void {
    const newer = this.take();
    for (const entry of [...batch, ...newer]) this.put(entry);
  }
}

interface Consumption {
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
