/**
 * The event logs of this service: numbers events soon after they are committed, wakes those who read them here, queues them
 * for their subscriptions, and removes old ones. Every node does all of it; the database decides who is first.
 */
import type { Logger } from "pino";
import type { Config } from "../../schemas/config.ts";
import { Poller, sweepEvery } from "../async/poller.ts";
import { backoff } from "../async/timing.ts";
import type { Outbox } from "../delivery/outbox.ts";
import type { Sql } from "../store/client.ts";
import type { NewDelivery } from "../store/deliveries.ts";
import {
  type EventSubscriptionRow,
  findDueSubscriptions,
  lockSubscription,
  saveSent,
} from "../store/event-subscriptions.ts";
import {
  type EventFilter,
  type EventRow,
  numberEvents,
  readEvents,
  readLastNumbers,
  trimEvents,
} from "../store/events.ts";
import { describeEvent } from "./describe-event.ts";

interface EventLogDeps {
  readonly sql: Sql;
  readonly config: Pick<Config, "events">;
  readonly log: Logger;
  readonly delivery: Pick<Outbox, "enqueue" | "wake">;
  /** For tests. */
  readonly pollMs?: number;
  readonly sweepMs?: number;
}

const POLL_MS = 300;
/** While the database is unreachable. */
const RETRY = { firstMs: 500, maxMs: 5_000 };
const SWEEP_MS = 300_000;
const DAY_MS = 86_400_000;
/** Events of one subscription in one transaction. */
const BATCH = 200;

interface Watcher {
  readonly userUuid: string;
  /** Of the last event that it was woken for. */
  lastSeq: number;
  readonly wake: () => void;
}

export class EventLog {
  readonly #deps: EventLogDeps;
  readonly #watchers = new Set<Watcher>();
  readonly #polling: Poller;
  readonly #sweeping: Poller;
  #failures = 0;

  constructor(deps: EventLogDeps) {
    const { sql, config, log } = deps;
    this.#deps = deps;
    this.#polling = new Poller(() => this.#poll());
    this.#polling.start(0);
    this.#sweeping = sweepEvery(
      deps.sweepMs ?? SWEEP_MS,
      async () => {
        const { retention_days: days, per_key: perKey } = config.events;
        await trimEvents(sql, new Date(Date.now() - days * DAY_MS), perKey);
      },
      (error) => log.warn({ err: error }, "old events not removed; retrying"),
    );
  }

  /** Calls `wake` when the user may have more events. Returns a function that ends it. */
  watch(userUuid: string, wake: () => void): () => void {
    const watcher = { userUuid, lastSeq: 0, wake };
    this.#watchers.add(watcher);
    return () => void this.#watchers.delete(watcher);
  }

  /** Resolves when everything that has happened before is in the log. Rejects while the database is unreachable. */
  async catchUp(): Promise<void> {
    while (await numberEvents(this.#deps.sql, { waits: true }));
  }

  /** Oldest first. Rejects while the database is unreachable. */
  read(userUuid: string, filter: EventFilter, after: number, limit: number): Promise<readonly EventRow[]> {
    return readEvents(this.#deps.sql, userUuid, filter, { after, limit });
  }

  async close(): Promise<void> {
    await Promise.all([this.#polling.close(), this.#sweeping.close()]);
  }

  async #poll(): Promise<number> {
    const { sql, log, pollMs = POLL_MS } = this.#deps;
    try {
      while (await numberEvents(sql));
      await this.#wakeWatchers();
      await this.#queueDue();
      this.#failures = 0;
      return pollMs;
    } catch (error) {
      this.#failures += 1;
      log.warn({ err: error }, "events not numbered; retrying");
      return backoff(this.#failures, RETRY);
    }
  }

  /** Also for events that another node has numbered. */
  async #wakeWatchers(): Promise<void> {
    const users = new Set([...this.#watchers].map(({ userUuid }) => userUuid));
    const numbers = await readLastNumbers(this.#deps.sql, [...users]);
    for (const watcher of this.#watchers) {
      const lastSeq = numbers.get(watcher.userUuid) ?? 0;
      if (lastSeq === watcher.lastSeq) continue;
      watcher.lastSeq = lastSeq;
      watcher.wake();
    }
  }

  async #queueDue(): Promise<void> {
    const { sql, delivery } = this.#deps;
    for (;;) {
      const due = await findDueSubscriptions(sql);
      let queued = 0;
      for (const uuid of due) queued += await this.#queue(uuid);
      if (queued > 0) delivery.wake();
      // The rest belongs to subscriptions that another node works on.
      if (queued === 0) return;
    }
  }

  /** Resolves with the number of events that were read for it. */
  #queue(uuid: string): Promise<number> {
    const { sql, delivery } = this.#deps;
    return sql.begin(async (transaction) => {
      const subscription = await lockSubscription(transaction, uuid);
      if (subscription === null) return 0;
      const { userUuid, sentSeq, output } = subscription;
      const rows = await readEvents(transaction, userUuid, {}, { after: sentSeq, limit: BATCH });
      const last = rows.at(-1);
      if (last === undefined) return 0;
      const wanted = rows.filter((row) => isWanted(row, subscription));
      const deliveries = wanted.flatMap((row): readonly NewDelivery[] => {
        const body = JSON.stringify(describeEvent(row));
        return output.map(({ uuid: destinationUuid }) => ({ id: row.uuid, destinationUuid, body }));
      });
      if (deliveries.length > 0) await delivery.enqueue(transaction, deliveries);
      await saveSent(transaction, uuid, last.seq);
      return rows.length;
    });
  }
}

function isWanted({ type, sourceUuid }: EventRow, subscription: EventSubscriptionRow): boolean {
  const { types, sourceUuid: only, sourceUuids } = subscription;
  if (types.length > 0 && !types.includes(type)) return false;
  if (only !== null) return sourceUuid === only;
  // Events of no source, such as those of quotas, are not for a key that is limited to sources.
  return sourceUuids === null || (sourceUuid !== null && sourceUuids.includes(sourceUuid));
}
