/**
 * Alerts at run time. The database says which alerts every process evaluates; a process gets them as rules before its first
 * frame and after every change, and its events go to the alert writer. Nothing here blocks a process.
 */
import {
  ALERT_CHANNEL,
  AlertEvent,
  type AlertRule,
  type AlertTypeDefinition,
  MOST_RULES,
} from "../../schemas/alerts.ts";
import type { Config } from "../../schemas/config.ts";
import type { Json, JsonRecord } from "../../schemas/json.ts";
import type { LiveValues } from "../../schemas/live-values.ts";
import { Poller } from "../async/poller.ts";
import { SerialQueue } from "../async/serial-queue.ts";
import { withTimeout } from "../async/timing.ts";
import type { AlertNode } from "../graphs/library.ts";
import type { SuppliedValues } from "../processes/attachments.ts";
import type { ProcessNotice } from "../processes/processes.ts";
import { type EndedProcess, findEnded, listRunning, type RunningAlert, releaseProcess } from "../store/alerts.ts";
import { closeDestination } from "../store/destinations.ts";
import type { ProcessRow } from "../store/processes.ts";
import { newUuid } from "../uuid.ts";
import { checkBy } from "../validation.ts";
import { AlertTypes } from "./alert-types.ts";
import { type AlertNumbers, AlertWriter, type AlertWriterDeps } from "./alert-writer.ts";

export interface AlertsDeps extends AlertWriterDeps {
  readonly config: Pick<Config, "network">;
  readonly alertTypes: readonly AlertTypeDefinition[];
  classNames(): Promise<readonly string[]>;
}

export interface AlertedProcess {
  readonly row: Pick<ProcessRow, "uuid" | "userUuid" | "sourceUuid">;
  readonly alertNode: AlertNode | null;
  readonly isActive: boolean;
  readonly ended: Promise<void>;
  supplyLive(values: SuppliedValues): void;
  syncSupply(): Promise<void>;
  follow(listener: (notice: ProcessNotice) => void): () => void;
  tell(notice: ProcessNotice): void;
}

/** The node of a process cleans up when it ends; others only after this time. */
const LEFT_SECONDS = 60;
/** For the last writes to the database. */
const CLOSE_MS = 3_000;
/** How long a restart waits for changed alerts. */
const RESTART_MS = 500;

/** Interval for loading changes of other machines. */
const REFRESH_MS = 1_000;
/** Time limit for applying a change to running processes. */
const APPLY_MS = 5_000;
/** Interval for cleaning up after ended processes. */
const SWEEP_MS = 30_000;

const checkEvent = checkBy(AlertEvent);

export class Alerts {
  readonly types: AlertTypes;
  readonly deps: AlertsDeps;
  /** Of this node, by uuid of the process. */
  readonly #processes = new Map<string, ProcessAlerts>();
  readonly #writer: AlertWriter;
  readonly #reads = new SerialQueue();
  readonly #refreshing = new Poller(async () => {
    await this.refresh().catch(() => {});
    return REFRESH_MS * (0.75 + Math.random() / 4);
  });
  readonly #sweeping = new Poller(() => this.#sweep());
  readonly #endings = new Set<Promise<void>>();

  constructor(deps: AlertsDeps) {
    const { alertTypes } = deps;
    this.deps = deps;
    this.types = new AlertTypes(alertTypes, () => deps.classNames());
    this.#writer = new AlertWriter(deps);
    this.#refreshing.start(REFRESH_MS);
    this.#sweeping.start(SWEEP_MS * Math.random());
  }

  get numbers(): AlertNumbers {
    return this.#writer.numbers;
  }

  follow(process: AlertedProcess): void {
    const { alertNode, row } = process;
    if (alertNode === null) return;
    const alerts = new ProcessAlerts(process, alertNode);
    this.#processes.set(row.uuid, alerts);
    process.supplyLive({
      prepare: () => this.#prepare(alerts),
      get live() {
        return alerts.rules;
      },
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
    await withTimeout(APPLY_MS, applied);
  }

  /** After the processes have ended: their last events are still stored. */
  async close(): Promise<void> {
    await withTimeout(CLOSE_MS, Promise.all([this.#refreshing.close(), this.#sweeping.close()]));
    await withTimeout(CLOSE_MS, Promise.all([this.#writer.idle(), ...this.#endings]));
    await withTimeout(CLOSE_MS, this.#writer.close());
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
    if (!alerts.has(event.alert)) return;
    this.#writer.add({ id: newUuid(), event, process, bytes: Buffer.byteLength(JSON.stringify(event)) });
  }

  async #forget(alerts: ProcessAlerts): Promise<void> {
    const { process } = alerts;
    const { uuid, userUuid } = process.row;
    if (this.#processes.get(uuid) === alerts) this.#processes.delete(uuid);
    // It continues on another node, or later.
    if (process.isActive) return;
    // Its last events are stored first.
    await this.#writer.idle();
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

  async #sweep(): Promise<number> {
    const { sql, log } = this.deps;
    try {
      for (const ended of await findEnded(sql, LEFT_SECONDS)) await this.#endProcess(ended);
    } catch (error) {
      log.warn({ err: error }, "alerts of ended processes not removed; retrying");
    }
    return SWEEP_MS * (0.75 + Math.random() / 2);
  }
}

/** The alerts of one process of this node, as rules of its runner. */
class ProcessAlerts {
  readonly process: AlertedProcess;
  readonly #node: AlertNode;
  #alerts: ReadonlyMap<string, RunningAlert> | null = null;
  #hadAlerts = false;

  constructor(process: AlertedProcess, node: AlertNode) {
    this.process = process;
    this.#node = node;
  }

  /** They have been read from the database. */
  get isKnown(): boolean {
    return this.#alerts !== null;
  }

  /** Other events belong to rules of the graph itself, or to alerts that were stopped a moment ago. */
  has(alertUuid: string): boolean {
    return this.#alerts?.has(alertUuid) ?? false;
  }

  apply(alerts: readonly RunningAlert[]): void {
    this.#alerts = new Map(alerts.map((alert) => [alert.uuid, alert]));
    this.#hadAlerts ||= alerts.length > 0;
  }

  /** Empty until there is a first alert: the graph keeps its own rules. */
  get rules(): LiveValues {
    if (!this.#hadAlerts) return {};
    const rules = [...(this.#alerts?.values() ?? [])].map(
      ({ uuid, type, configuration }): AlertRule => ({ alert: uuid, type, ...configuration }),
    );
    const all = [...this.#node.rules, ...rules].slice(0, MOST_RULES);
    return { [this.#node.name]: { rules: all as unknown as readonly Json[] } };
  }
}
