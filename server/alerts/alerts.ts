/**
 * Alerts: what is kept of them in the database is what every process is to evaluate, and what processes find becomes
 * notices. Processes get their rules before their first frame and follow every change; nothing here makes one wait.
 */
import type { Logger } from "pino";
import { ALERT_CHANNEL, AlertFinding, type AlertTypeDefinition } from "../../schemas/alerts.ts";
import type { Config } from "../../schemas/config.ts";
import type { JsonRecord } from "../../schemas/json.ts";
import { Poller } from "../async/poller.ts";
import { withTimeout } from "../async/timing.ts";
import type { Delivery } from "../delivery/delivery.ts";
import type { AlertNode } from "../graphs/library.ts";
import type { ProcessNotice } from "../processes/processes.ts";
import type { SuppliedValues } from "../processes/runner.ts";
import { findEnded, listRunning } from "../store/alert-pairs.ts";
import type { Sql } from "../store/client.ts";
import type { ProcessRow } from "../store/processes.ts";
import { newUuid } from "../uuid.ts";
import { checkBy } from "../validation.ts";
import { AlertTypes } from "./configuration.ts";
import { draftNotice } from "./draft-notice.ts";
import { endProcess } from "./end-process.ts";
import { type AlertNumbers, NoticeWriter } from "./notice-writer.ts";
import { ProcessAlerts } from "./process-alerts.ts";

export interface AlertNeeds {
  readonly sql: Sql;
  readonly config: Pick<Config, "alerts" | "network">;
  readonly log: Logger;
  readonly delivery: Delivery;
  readonly alertTypes: readonly AlertTypeDefinition[];
  /** Of all installed models. */
  classNames(): Promise<readonly string[]>;
}

/** A process, as far as it matters here. */
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

interface Held {
  readonly process: AlertedProcess;
  readonly alerts: ProcessAlerts;
}

/** Whoever holds a process looks after its end; others only after what was left. */
const LEFT_SECONDS = 60;
/** For the last words to the database. */
const CLOSE_MS = 3_000;
/** What is started again does not wait longer for news. */
const AGAIN_MS = 500;

const check = checkBy(AlertFinding);

export class Alerts {
  readonly types: AlertTypes;
  readonly needs: AlertNeeds;
  readonly #held = new Map<string, Held>();
  readonly #writer: NoticeWriter;
  readonly #refreshing = new Poller(() => this.#refreshAgain());
  readonly #sweeping = new Poller(() => this.#sweepAgain());
  readonly #endings = new Set<Promise<void>>();
  #turn: Promise<void> = Promise.resolve();

  constructor(needs: AlertNeeds) {
    const { alertTypes, config } = needs;
    this.needs = needs;
    this.types = new AlertTypes(alertTypes, () => needs.classNames());
    this.#writer = new NoticeWriter({ ...needs, config: config.alerts });
    this.#refreshing.start(config.alerts.refresh_seconds * 1000);
    this.#sweeping.start(config.alerts.sweep_seconds * 1000 * Math.random());
  }

  get numbers(): AlertNumbers {
    return this.#writer.numbers;
  }

  follow(process: AlertedProcess): void {
    const { alertNode, row } = process;
    if (alertNode === null) return;
    const alerts = new ProcessAlerts(alertNode);
    const held: Held = { process, alerts };
    this.#held.set(row.uuid, held);
    process.supplyLive({
      prepare: () => this.#prepare(held),
      get live() {
        return alerts.live;
      },
    });
    process.follow((notice) => {
      if (notice.type === "message" && notice.channel === ALERT_CHANNEL) this.#hear(held, notice.message);
    });
    const ending = process.ended.then(() => this.#letGo(held));
    this.#endings.add(ending);
    void ending.finally(() => this.#endings.delete(ending));
  }

  /** Resolves when the processes that are held here run with what is in the database. Rejects when that is away. */
  async refresh(): Promise<void> {
    const uuids = [...this.#held.keys()];
    await this.#read(uuids);
    await Promise.all(uuids.map((uuid) => this.#sync(uuid)));
  }

  /** After a change that is written down: within the limit, or later by itself. */
  async apply(): Promise<void> {
    const { config, log } = this.needs;
    const applied = this.refresh().catch((error: unknown) =>
      log.warn({ err: error }, "alerts could not be read; it is tried again"),
    );
    await withTimeout(config.alerts.apply_seconds * 1000, applied);
  }

  /** When the processes have ended: what they told last is still written down. */
  async close(): Promise<void> {
    await withTimeout(CLOSE_MS, Promise.all([this.#refreshing.close(), this.#sweeping.close()]));
    await withTimeout(CLOSE_MS, Promise.all([this.#writer.idle(), ...this.#endings]));
    this.#writer.close();
    await withTimeout(CLOSE_MS, this.#writer.idle());
  }

  /** Never rejects: a process that is started again has what it had, and any other gets its rules when they can be read. */
  async #prepare(held: Held): Promise<void> {
    const { config, log } = this.needs;
    const { uuid } = held.process.row;
    const read = this.#read([uuid]).catch((error: unknown) =>
      log.warn({ err: error, process: uuid }, "its alerts could not be read; it is tried again"),
    );
    await withTimeout(held.alerts.isKnown ? AGAIN_MS : config.alerts.apply_seconds * 1000, read);
  }

  /** One after the other: what was read later is applied later. */
  #read(uuids: readonly string[]): Promise<void> {
    if (uuids.length === 0) return Promise.resolve();
    const done = this.#turn.then(async () => {
      const running = await listRunning(this.needs.sql, uuids);
      for (const uuid of uuids)
        this.#held.get(uuid)?.alerts.apply(running.filter(({ processUuid }) => processUuid === uuid));
    });
    this.#turn = done.catch(() => {});
    return done;
  }

  async #sync(uuid: string): Promise<void> {
    const { process } = this.#held.get(uuid) ?? {};
    // It ends, or is ended for not answering: then the next run has them.
    await process?.syncSupply().catch((error: unknown) => {
      if (process.isActive) this.needs.log.warn({ err: error, process: uuid }, "its alerts could not be changed yet");
    });
  }

  #hear({ process, alerts }: Held, message: JsonRecord): void {
    const { uuid: processUuid, sourceUuid } = process.row;
    const [fault] = check(message);
    if (fault !== undefined) {
      this.needs.log.error({ process: processUuid, fault }, "a finding of an alert that is none was not told");
      return;
    }
    const finding = message as unknown as AlertFinding;
    if (!alerts.has(finding.alert)) return;
    const draft = draftNotice(finding, { id: newUuid(), processUuid, sourceUuid });
    const bytes = Buffer.byteLength(JSON.stringify(draft));
    this.#writer.add({ draft, bytes, tell: (notice) => process.tell({ type: "alert", notice }) });
  }

  async #letGo({ process }: Held): Promise<void> {
    const { sql, delivery, log } = this.needs;
    const { uuid, userUuid } = process.row;
    if (this.#held.get(uuid)?.process === process) this.#held.delete(uuid);
    // It goes on elsewhere, or later.
    if (process.isActive) return;
    // What it found last is written down first.
    await this.#writer.idle();
    await endProcess({ sql, delivery }, { uuid, userUuid }).catch((error: unknown) =>
      log.warn({ err: error, process: uuid }, "alerts of a process that has ended are still to be removed"),
    );
  }

  async #refreshAgain(): Promise<number> {
    await this.refresh().catch(() => {});
    return this.needs.config.alerts.refresh_seconds * 1000 * (0.75 + Math.random() / 4);
  }

  async #sweepAgain(): Promise<number> {
    const { sql, delivery, log, config } = this.needs;
    try {
      for (const ended of await findEnded(sql, LEFT_SECONDS)) await endProcess({ sql, delivery }, ended);
    } catch (error) {
      log.warn({ err: error }, "alerts of processes that have ended could not be removed; it is tried again");
    }
    return config.alerts.sweep_seconds * 1000 * (0.75 + Math.random() / 2);
  }
}
