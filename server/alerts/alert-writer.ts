/**
 * Stores what processes find: a batch of events becomes one delivery for every output of their alerts, in one transaction;
 * then subscribers of the process are notified. Keeps the order, and never blocks a process.
 */
import type { Logger } from "pino";
import type { AlertEvent } from "../../schemas/alerts.ts";
import type { AlertNotice } from "../../schemas/api/events.ts";
import { type BatchQueue, BatchWriter } from "../async/batch-writer.ts";
import type { Outbox } from "../delivery/outbox.ts";
import type { ProcessNotice } from "../processes/processes.ts";
import { findReceivers } from "../store/alerts.ts";
import type { Sql } from "../store/client.ts";
import type { ProcessRow } from "../store/processes.ts";

export interface AlertWriterDeps {
  readonly sql: Sql;
  readonly log: Logger;
  readonly delivery: Pick<Outbox, "enqueue" | "wake">;
  /** For tests. */
  readonly limits?: Partial<typeof LIMITS>;
}

/** An event that is not stored yet. */
export interface QueuedEvent {
  readonly id: string;
  readonly event: AlertEvent;
  readonly process: {
    readonly row: Pick<ProcessRow, "uuid" | "sourceUuid">;
    tell(notice: ProcessNotice): void;
  };
  readonly bytes: number;
}

export interface AlertNumbers {
  readonly written: number;
  /** Never stored: the queue was full, or the database rejected them. */
  readonly lost: number;
  readonly waiting: number;
}

const LIMITS = {
  /** Maximum queue for the database in notifications; the oldest are dropped. */
  queuedNotices: 10_000,
  /** Maximum queue for the database in bytes. */
  queuedBytes: 64 * 2 ** 20,
  /** Maximum number of notifications that are stored in one batch. */
  batchNotices: 100,
};
/** Of one transaction. Each event is stored once for every output. */
const BATCH_BYTES = 2 * 2 ** 20;
/** While the database is unavailable. */
const RETRY = { firstMs: 100, maxMs: 5_000 };

export class AlertWriter {
  readonly #deps: AlertWriterDeps;
  readonly #queue: EventQueue;
  readonly #writer: BatchWriter<QueuedEvent>;
  #written = 0;
  #rejected = 0;
  #reportedLost = 0;

  constructor(deps: AlertWriterDeps) {
    const { log } = deps;
    const limits = { ...LIMITS, ...deps.limits };
    this.#deps = deps;
    this.#queue = new EventQueue({
      ...{ count: limits.queuedNotices, bytes: limits.queuedBytes },
      batch: { count: limits.batchNotices, bytes: BATCH_BYTES },
    });
    this.#writer = new BatchWriter<QueuedEvent>({
      queue: this.#queue,
      retry: RETRY,
      write: (batch) => this.#write(batch),
      onRetry: (error) => {
        log.warn({ err: error }, "alert events not stored; retrying");
        this.#reportLost();
      },
      onRejected: ({ event }, error) => {
        this.#rejected += 1;
        log.error({ err: error, alert: event.alert }, "alert event rejected by the database");
      },
    });
  }

  get numbers(): AlertNumbers {
    return { written: this.#written, lost: this.#queue.dropped + this.#rejected, waiting: this.#queue.size };
  }

  add(event: QueuedEvent): void {
    this.#queue.add(event);
    this.#writer.wake();
  }

  /** Resolves when everything queued is stored or lost; not while the database is unreachable. */
  idle(): Promise<void> {
    return this.#writer.idle();
  }

  /** Tries once more; events that cannot be stored then are lost. */
  close(): Promise<void> {
    return this.#writer.close();
  }

  async #write(batch: readonly QueuedEvent[]): Promise<void> {
    const { sql, delivery } = this.#deps;
    const stored = await sql.begin(async (transaction) => {
      const pairs = batch.map(({ event, process }) => ({ processUuid: process.row.uuid, alertUuid: event.alert }));
      const receivers = await findReceivers(transaction, pairs);
      const notices = batch.flatMap(({ id, event, process }) => {
        const { uuid: processUuid, sourceUuid } = process.row;
        const found = receivers.get(`${processUuid} ${event.alert}`);
        // The alert has been deleted.
        if (found === undefined) return [];
        const notice = describeEvent(event, { id, alias: found.alias, processUuid, sourceUuid });
        return [{ notice, process, output: found.output }];
      });
      const deliveries = notices.flatMap(({ notice, output }) => {
        const body = JSON.stringify(notice);
        return output.map(({ uuid: destinationUuid }) => ({ id: notice.id, destinationUuid, body }));
      });
      if (deliveries.length > 0) await delivery.enqueue(transaction, deliveries);
      return notices;
    });
    this.#written += stored.length;
    delivery.wake();
    for (const { notice, process } of stored) process.tell({ type: "alert", notice });
    this.#reportLost();
  }

  #reportLost(): void {
    const { lost } = this.numbers;
    if (lost === this.#reportedLost) return;
    this.#deps.log.error({ lost: lost - this.#reportedLost }, "alert events lost: queue full or rejected");
    this.#reportedLost = lost;
  }
}

interface EventOrigin {
  readonly id: string;
  readonly alias: string;
  readonly processUuid: string;
  readonly sourceUuid: string;
}

/** The JSON that receivers get. Pure: `windhover replay` writes the same. */
export const describeEvent = (
  { alert, type, timeMs, event, tracks, data }: AlertEvent,
  { id, alias, processUuid, sourceUuid }: EventOrigin,
): AlertNotice => ({
  ...{ id, alert_uuid: alert, alias, type, process_uuid: processUuid, source_uuid: sourceUuid },
  ...{ timestamp: new Date(timeMs).toISOString(), event, tracks, data },
});

interface Bounds {
  readonly count: number;
  readonly bytes: number;
}

/** Bounded: drops the oldest events of the process that has the most bytes queued, so that it costs no other process any. */
export class EventQueue implements BatchQueue<QueuedEvent> {
  dropped = 0;
  readonly #limits: Bounds & { readonly batch: Bounds };
  #events: QueuedEvent[] = [];
  #bytes = 0;
  readonly #bytesByProcess = new Map<string, number>();

  constructor(limits: Bounds & { readonly batch: Bounds }) {
    this.#limits = limits;
  }

  get size(): number {
    return this.#events.length;
  }

  get isEmpty(): boolean {
    return this.#events.length === 0;
  }

  add(event: QueuedEvent): void {
    this.#events.push(event);
    this.#count(event, 1);
    this.#trim();
  }

  /** At least one, however large. */
  take(): readonly QueuedEvent[] {
    const { count, bytes } = this.#limits.batch;
    let [taken, takenBytes] = [0, 0];
    for (const event of this.#events) {
      if (taken > 0 && (taken >= count || takenBytes + event.bytes > bytes)) break;
      taken += 1;
      takenBytes += event.bytes;
    }
    const batch = this.#events.splice(0, taken);
    for (const event of batch) this.#count(event, -1);
    return batch;
  }

  putBack(batch: readonly QueuedEvent[]): void {
    this.#events = [...batch, ...this.#events];
    for (const event of batch) this.#count(event, 1);
    this.#trim();
  }

  #count({ process, bytes }: QueuedEvent, sign: 1 | -1): void {
    this.#bytes += sign * bytes;
    const left = (this.#bytesByProcess.get(process.row.uuid) ?? 0) + sign * bytes;
    if (left > 0) this.#bytesByProcess.set(process.row.uuid, left);
    else this.#bytesByProcess.delete(process.row.uuid);
  }

  /** Keeps at least one, however large. */
  #trim(): void {
    const { count, bytes } = this.#limits;
    while (this.#events.length > 1 && (this.#events.length > count || this.#bytes > bytes)) {
      const [heaviest] = [...this.#bytesByProcess].reduce((most, each) => (each[1] > most[1] ? each : most), ["", 0]);
      const at = this.#events.findIndex(({ process }) => process.row.uuid === heaviest);
      const [dropped] = this.#events.splice(Math.max(0, at), 1);
      if (dropped !== undefined) this.#count(dropped, -1);
      this.dropped += 1;
    }
  }
}
