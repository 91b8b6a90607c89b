/**
 * Alerts at run time. The database says which alerts every process evaluates; a process gets them as rules before its first
 * frame and after every change. Its events are stored as deliveries, one for every output of the alert, and published to its
 * subscribers; so are those of rules of its graph, which have the outputs of alerts for them, if there are any. Nothing
 * here blocks a process.
 */
import type { Logger } from "pino";
import {
  ALERT_CHANNEL,
  AlertEvent,
  type AlertRule,
  type AlertTypeDefinition,
  GRAPH_RULE,
  MOST_RULES,
} from "../../schemas/alerts.ts";
import type { AlertNotice } from "../../schemas/api/events.ts";
import type { Config } from "../../schemas/config.ts";
import type { Json, JsonRecord } from "../../schemas/json.ts";
import type { LiveValues } from "../../schemas/live-values.ts";
import { Opening } from "../../schemas/schedule.ts";
import { BatchWriter } from "../async/batch-writer.ts";
import { BoundedQueue, type SizedItem } from "../async/bounded-queue.ts";
import { Poller, sweepEvery } from "../async/poller.ts";
import { SerialQueue } from "../async/serial-queue.ts";
import { withTimeout } from "../async/timing.ts";
import type { Outbox } from "../delivery/outbox.ts";
import type { AlertNode } from "../graphs/library.ts";
import type { Process } from "../processes/process.ts";
import {
  type EndedProcess,
  findClaimed,
  findEnded,
  findReceivers,
  listRunning,
  type RunningAlert,
  releaseProcess,
} from "../store/alerts.ts";
import type { Queries, Sql } from "../store/client.ts";
import { closeDestination } from "../store/destinations.ts";
import { type EvidenceRow, insertEvidence } from "../store/evidence.ts";
import { insertNotices, removeOldNotices, trimNotices } from "../store/notices.ts";
import { recordOnAlert } from "../store/rings.ts";
import { findPlayedOnce } from "../store/sources.ts";
import { newUuid, uuidOf } from "../uuid.ts";
import { checkBy } from "../validation.ts";
import { type EvidenceFields, needsEvidence, toEvidence } from "./alert-evidence.ts";
import { writeBody } from "./outgoing.ts";

export interface AlertsDeps extends AlertWriterDeps {
  readonly config: Pick<Config, "network" | "evidence" | "smtp">;
  readonly alertTypes: readonly AlertTypeDefinition[];
  classNames(): Promise<readonly string[]>;
}

/** The node of a process cleans up when it ends; others only after this time. */
const LEFT_SECONDS = 60;
/** For the last writes to the database. */
const CLOSE_MS = 3_000;
/** How long a restart waits for changed alerts. */
const RESTART_MS = 500;

/** Interval for loading changes of which this node was not notified; others are applied at once. */
const REFRESH_MS = 8_000;
/** Time limit for applying a change to running processes. */
const APPLY_MS = 5_000;
/** Interval for cleaning up after ended processes. */
const SWEEP_MS = 30_000;
const DAY_MS = 86_400_000;
/** Of notices in one statement. */
const MOST_REMOVED = 5_000;
/** Notices of one user, however short their retention; checked at this interval. */
const MOST_PER_USER = 1_000_000;
const TRIM_MS = 600_000;

/** Rules of alerts have their UUIDs as names; others are those of the graph itself. */
const UUID = /^[0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12}$/;

const checkEvent = checkBy(AlertEvent);

export class Alerts {
  readonly deps: AlertsDeps;
  /** Of this node, by uuid of the process. */
  readonly #processes = new Map<string, ProcessAlerts>();
  readonly #writer: AlertWriter;
  readonly #reads = new SerialQueue();
  readonly #refreshing = new Poller(async () => {
    await this.refresh().catch(() => {});
    return REFRESH_MS * (0.75 + Math.random() / 4);
  });
  readonly #sweeping: Poller;
  readonly #endings = new Set<Promise<void>>();
  #trimmedMs = Number.NEGATIVE_INFINITY;

  constructor(deps: AlertsDeps) {
    const { log } = deps;
    this.deps = deps;
    this.#writer = new AlertWriter(deps);
    this.#refreshing.start(REFRESH_MS);
    this.#sweeping = sweepEvery(
      SWEEP_MS,
      () => this.#sweep(),
      (error) => log.warn({ err: error }, "alerts of ended processes not removed; retrying"),
    );
  }

  /** Where other nodes run processes, too: resolves when they have read a change. Never rejects. */
  onChanged: () => Promise<unknown> = async () => {};

  get numbers(): AlertNumbers {
    return this.#writer.numbers;
  }

  follow(process: Process): void {
    const { record, row } = process;
    if (record.graph.alertNode == null) return;
    const alerts = new ProcessAlerts(process);
    this.#processes.set(row.uuid, alerts);
    process.supplyLive({
      prepare: () => this.#prepare(alerts),
      live: (node) => alerts.rulesAt(node),
    });
    process.follow((notice) => {
      if (notice.type === "message" && notice.channel === ALERT_CHANNEL) this.#handleEvent(alerts, notice.message);
    });
    const ending = process.ended.then(() => this.#forget(alerts));
    this.#endings.add(ending);
    void ending.finally(() => this.#endings.delete(ending));
  }

  /** Resolves when the processes of this node run with the alerts of the database. Rejects when that is unreachable. */
  async refresh(): Promise<void> {
    const all = [...this.#processes.values()];
    await this.#read(all);
    await Promise.all(
      all.map(({ process }) =>
        // A process that ends, or is killed for not answering, gets them with its next run.
        process.syncSupply().catch((error: unknown) => {
          if (process.isActive)
            this.deps.log.warn({ err: error, process: process.row.uuid }, "alerts of process not changed yet");
        }),
      ),
    );
  }

  /** After a committed change: resolves when it is in effect, or after the time limit; then it follows by itself. */
  async apply(): Promise<void> {
    const { log } = this.deps;
    const applied = this.refresh().catch((error: unknown) => log.warn({ err: error }, "alerts not read; retrying"));
    await withTimeout(APPLY_MS, Promise.all([applied, this.onChanged()]));
  }

  /** Resolves when all events are stored. */
  flush(): Promise<void> {
    return this.#writer.batches.idle();
  }

  /** After the processes have ended: their last events are still stored. */
  async close(): Promise<void> {
    await withTimeout(CLOSE_MS, Promise.all([this.#refreshing.close(), this.#sweeping.close()]));
    await withTimeout(CLOSE_MS, Promise.all([this.#writer.batches.idle(), ...this.#endings]));
    await withTimeout(CLOSE_MS, this.#writer.batches.close());
  }

  /** Never rejects: a restarted process keeps its alerts, and any other gets them when they can be read. */
  async #prepare(alerts: ProcessAlerts): Promise<void> {
    const { log } = this.deps;
    const read = this.#read([alerts]).catch((error: unknown) =>
      log.warn({ err: error, process: alerts.process.row.uuid }, "alerts of process not read; retrying"),
    );
    await withTimeout(alerts.isKnown ? RESTART_MS : APPLY_MS, read);
  }

  /** Serially: what was read later is applied later. */
  async #read(all: readonly ProcessAlerts[]): Promise<void> {
    if (all.length === 0) return;
    await this.#reads.run(async () => {
      const uuids = all.map(({ process }) => process.row.uuid);
      const running = await listRunning(this.deps.sql, uuids);
      for (const [at, alerts] of all.entries())
        alerts.apply(running.filter(({ processUuid }) => processUuid === uuids[at]));
    });
  }

  #handleEvent(alerts: ProcessAlerts, message: JsonRecord): void {
    const { process } = alerts;
    const [fault] = checkEvent(message);
    if (fault !== undefined) {
      this.deps.log.error({ process: process.row.uuid, fault }, "invalid alert event dropped");
      return;
    }
    const event = message as unknown as AlertEvent;
    const isOwn = !UUID.test(event.alert);
    if (!isOwn && !alerts.has(event.alert)) return;
    const bytes = Buffer.byteLength(JSON.stringify(event));
    const queued = { process, owner: process.row.uuid, bytes };
    const receivers = isOwn ? alerts.findReceivers(event) : [];
    for (const alert of receivers) this.#writer.add({ ...queued, id: newUuid(), event: { ...event, alert } });
    if (receivers.length === 0) this.#writer.add({ ...queued, id: newUuid(), event, isOwn });
  }

  async #forget(alerts: ProcessAlerts): Promise<void> {
    const { process } = alerts;
    const { uuid, userUuid } = process.row;
    if (this.#processes.get(uuid) === alerts) this.#processes.delete(uuid);
    // It continues on another node, or later.
    if (process.isActive) return;
    // Its last events are stored first.
    await this.#writer.batches.idle();
    await this.#endProcess({ uuid, userUuid }).catch((error: unknown) =>
      this.deps.log.warn({ err: error, process: uuid }, "alerts of ended process not removed yet"),
    );
  }

  /** Removes the alerts that only this process had. Waiting deliveries are still sent. */
  async #endProcess(ended: EndedProcess): Promise<void> {
    const { sql, delivery } = this.deps;
    await sql.begin(async (transaction) => {
      for (const uuid of await releaseProcess(transaction, ended)) await closeDestination(transaction, uuid);
    });
    delivery.wake();
  }

  async #sweep(): Promise<void> {
    const { sql, config } = this.deps;
    for (const ended of await findEnded(sql, LEFT_SECONDS)) await this.#endProcess(ended);
    const before = new Date(Date.now() - config.evidence.retention_days * DAY_MS);
    while ((await removeOldNotices(sql, before, MOST_REMOVED)) === MOST_REMOVED);
    if (performance.now() - this.#trimmedMs < TRIM_MS) return;
    this.#trimmedMs = performance.now();
    await trimNotices(sql, MOST_PER_USER);
  }
}

/** The alerts of one process of this node, as rules of its runner. */
class ProcessAlerts {
  readonly process: Process;
  #alerts: ReadonlyMap<string, RunningAlert> | null = null;
  #hadAlerts = false;

  constructor(process: Process) {
    this.process = process;
  }

  /** They have been read from the database. */
  get isKnown(): boolean {
    return this.#alerts !== null;
  }

  /** Others were stopped a moment ago. */
  has(alertUuid: string): boolean {
    return this.#alerts?.has(alertUuid) ?? false;
  }

  /** Alerts for this rule of the graph. */
  findReceivers({ alert: rule, timeMs }: AlertEvent): readonly string[] {
    return [...(this.#alerts?.values() ?? [])].flatMap(({ uuid, type, configuration, schedule }) => {
      if (type !== GRAPH_RULE || configuration.parameters?.rule !== rule) return [];
      return schedule === null || new Opening(schedule).isOpen(timeMs) ? [uuid] : [];
    });
  }

  apply(alerts: readonly RunningAlert[]): void {
    this.#alerts = new Map(alerts.map((alert) => [alert.uuid, alert]));
    this.#hadAlerts ||= alerts.length > 0;
  }

  /** For this node of the graph. Empty until there is a first alert: the graph keeps its own rules. */
  rulesAt(node: AlertNode | null): LiveValues {
    if (!this.#hadAlerts || node === null) return {};
    const rules = [...(this.#alerts?.values() ?? [])]
      // These get events of the rules that are there.
      .filter(({ type }) => type !== GRAPH_RULE)
      .map(
        ({ uuid, type, configuration: { evidence, ...parts }, schedule }): AlertRule => ({
          ...{ alert: uuid, type, ...parts },
          ...(schedule !== null && { schedule }),
          ...(evidence?.snapshot === true && { snapshot: true }),
        }),
      );
    const all = [...node.rules, ...rules].slice(0, MOST_RULES);
    return { [node.name]: { rules: all as unknown as readonly Json[] } };
  }
}

interface EvidenceDeps {
  readonly config: Pick<Config, "evidence" | "recordings">;
  readonly nodeUuid: string;
  /** The fields of a notice for its evidence. */
  describe(uuid: string, row: EvidenceRow): EvidenceFields;
  /** Notices were stored: a source may have to be recorded. */
  onStored(): void;
}

export interface AlertWriterDeps {
  readonly sql: Sql;
  readonly log: Logger;
  readonly delivery: Pick<Outbox, "enqueue" | "wake">;
  /** Absent: no evidence is kept, and no source is recorded on alert. */
  readonly evidence?: EvidenceDeps;
  /** For tests. */
  readonly limits?: Partial<typeof LIMITS>;
}

/** An event that is not stored yet; its process is the owner. */
export interface QueuedEvent extends SizedItem {
  readonly id: string;
  readonly event: AlertEvent;
  /** Of a rule of the graph itself, for which there is no alert: it has no outputs. */
  readonly isOwn?: boolean;
  readonly process: Pick<Process, "row" | "fence" | "notify">;
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
/** While the database is unavailable. */
const RETRY = { firstMs: 100, maxMs: 5_000 };
/** Of one transaction. Each event is stored once for every output. */
const BATCH_BYTES = 2 * 2 ** 20;

interface FoundNotice {
  readonly notice: AlertNotice;
  readonly event: AlertEvent;
  readonly process: QueuedEvent["process"];
  readonly receiver: Pick<RunningAlert, "output" | "configuration">;
}

/** A batch of events becomes one delivery for every output of their alerts, in one transaction. Keeps the order. */
export class AlertWriter {
  readonly batches: BatchWriter<QueuedEvent>;
  readonly #deps: AlertWriterDeps;
  readonly #queue: BoundedQueue<QueuedEvent>;
  #written = 0;
  #rejected = 0;
  #reportedLost = 0;

  constructor(deps: AlertWriterDeps) {
    const { log } = deps;
    const limits = { ...LIMITS, ...deps.limits };
    this.#deps = deps;
    this.#queue = new BoundedQueue<QueuedEvent>({
      ...{ count: limits.queuedNotices, bytes: limits.queuedBytes },
      batch: { count: limits.batchNotices, bytes: BATCH_BYTES },
    });
    this.batches = new BatchWriter<QueuedEvent>({
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
    this.batches.wake();
  }

  async #write(batch: readonly QueuedEvent[]): Promise<void> {
    const { sql, delivery, evidence } = this.#deps;
    const stored = await sql.begin(async (transaction) => {
      const pairs = batch.map(({ event, isOwn = false, process: { row, fence } }) => ({
        ...{ process: { uuid: row.uuid, fence }, alertUuid: event.alert, isOwn },
      }));
      const receivers = await findReceivers(
        transaction,
        pairs.filter(({ isOwn }) => !isOwn),
      );
      const owned = await findClaimed(
        transaction,
        pairs.flatMap(({ isOwn, process }) => (isOwn ? [process] : [])),
      );
      const found = batch.flatMap(({ id, event, isOwn = false, process }) => {
        const { uuid: processUuid, sourceUuid, userUuid, graph } = process.row;
        const own = isOwn && owned.has(processUuid) ? { alias: event.alert, output: [], configuration: {} } : undefined;
        const receiver = own ?? receivers.get(`${processUuid} ${event.alert}`);
        // The alert has been deleted, or another node has the process.
        if (receiver === undefined) return [];
        const alert = isOwn ? uuidOf(userUuid, graph, event.alert) : event.alert;
        const notice = describeEvent({ ...event, alert }, { id, alias: receiver.alias, processUuid, sourceUuid });
        return [{ notice, event, process, receiver }];
      });
      await insertNotices(
        transaction,
        found.map(({ notice, process: { row } }) => ({ userUuid: row.userUuid, notice })),
      );
      const states = evidence === undefined ? null : await this.#storeEvidence(transaction, found, evidence);
      const notices = found.map(({ notice, process, receiver }) => {
        const state = states?.get(notice.id);
        const fields = state === undefined ? {} : evidence?.describe(notice.id, state);
        return { notice: { ...notice, ...fields }, process, output: receiver.output };
      });
      const deliveries = notices.flatMap(({ notice, output }) =>
        output.map((each) => ({ id: notice.id, destinationUuid: each.uuid, body: writeBody(each, notice) })),
      );
      if (deliveries.length > 0) await delivery.enqueue(transaction, deliveries);
      return notices;
    });
    this.#written += stored.length;
    delivery.wake();
    if (stored.length > 0) evidence?.onStored();
    for (const { notice, process } of stored) process.notify({ type: "alert", notice });
    this.#reportLost();
  }

  async #storeEvidence(
    sql: Queries,
    found: readonly FoundNotice[],
    { config, nodeUuid }: EvidenceDeps,
  ): Promise<ReadonlyMap<string, EvidenceRow>> {
    const places = found.map(({ notice }) => ({ sourceUuid: notice.source_uuid, processUuid: notice.process_uuid }));
    await recordOnAlert(sql, places, config.recordings.on_alert_seconds);
    const sources = places.map(({ sourceUuid }) => sourceUuid);
    const files = await findPlayedOnce(sql, sources);
    const wanted = found.flatMap(({ notice, event, process, receiver }) => {
      const setting = receiver.configuration.evidence;
      if (setting === undefined || !needsEvidence(event)) return [];
      const place = {
        ...{ noticeUuid: notice.id, processUuid: notice.process_uuid, sourceUuid: notice.source_uuid },
        ...{ userUuid: process.row.userUuid, nodeUuid, destinations: receiver.output.map(({ uuid }) => uuid) },
        isFile: files.has(notice.source_uuid),
      };
      return [toEvidence(event, setting, place)];
    });
    const { pending_per_key: pending, bytes_per_key: bytes } = config.evidence;
    return insertEvidence(sql, wanted, { pending, bytes });
  }

  #reportLost(): void {
    const { lost } = this.numbers;
    if (lost === this.#reportedLost) return;
    this.#deps.log.error({ lost: lost - this.#reportedLost }, "alert events lost: queue full or rejected");
    this.#reportedLost = lost;
  }
}

/** The JSON that receivers get. Pure: `windhover replay` writes the same. */
export const describeEvent = (
  { alert, type, timeMs, event, tracks, data }: AlertEvent,
  { id, alias, processUuid, sourceUuid }: Readonly<Record<"id" | "alias" | "processUuid" | "sourceUuid", string>>,
): AlertNotice => ({
  ...{ id, alert_uuid: alert, alias, type, process_uuid: processUuid, source_uuid: sourceUuid },
  ...{ timestamp: new Date(timeMs).toISOString(), event, tracks, data },
});
