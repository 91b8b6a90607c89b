/** The processes that this machine holds: claimed, renewed, metered, and given up in the end. */
import type { Logger } from "pino";
import type { Config } from "../../schemas/config.ts";
import type { RunnerStats } from "../../schemas/runner.ts";
import { claimFree, endFree, renewClaims } from "../store/claims.ts";
import type { Sql } from "../store/client.ts";
import { deleteProcess, type ProcessRow } from "../store/processes.ts";
import { readStandings } from "../store/standing.ts";
import { type AdoptionNeeds, adopt } from "./adoption.ts";
import { Again } from "./again.ts";
import type { PictureSockets } from "./picture-sockets.ts";
import type { ProcessLimits, ProcessParts } from "./process-parts.ts";
import { sleep } from "./sleep.ts";
import { Slots } from "./slots.ts";
import type { SpareRunners } from "./spare.ts";
import { judgeStanding, nextLookMs } from "./standings.ts";
import { SupervisedProcess } from "./supervised-process.ts";
import { UsageWriter } from "./usage-writer.ts";

export interface ProcessMetrics {
  observeProcess(uuid: string, stats: RunnerStats & { readonly restarts: number }): void;
  forgetProcess(uuid: string): void;
}

export interface HoldingNeeds extends AdoptionNeeds {
  readonly sql: Sql;
  readonly config: Config;
  readonly log: Logger;
  readonly nodeUuid: string;
  readonly isAlone: boolean;
  readonly limits: ProcessLimits;
  readonly pictures: PictureSockets;
  readonly spares: SpareRunners;
  readonly metrics: ProcessMetrics | null;
}

/** Minutes that are about to run out are looked at more often, but not more often than this. */
const LEAST_LOOK_MS = 200;

export class Holdings {
  readonly #needs: HoldingNeeds;
  readonly #usage: UsageWriter;
  readonly #slots: Slots;
  readonly #held = new Map<string, SupervisedProcess>();
  /** Claimed, and not to be had yet. */
  readonly #orphans = new Map<string, ProcessRow>();
  /** Starts that came to nothing and are still in the database, with their fences. */
  readonly #remains = new Map<string, number>();
  readonly #renewing = new Again(() => this.#renewAll());
  readonly #metering = new Again(() => this.#meterAll());

  constructor(needs: HoldingNeeds) {
    this.#needs = needs;
    this.#usage = new UsageWriter(needs.sql);
    this.#slots = new Slots(needs.config.runners.parallel);
  }

  get(uuid: string): SupervisedProcess | null {
    return this.#held.get(uuid) ?? null;
  }

  of(userUuid: string): readonly SupervisedProcess[] {
    return [...this.#held.values()].filter(({ row }) => row.userUuid === userUuid);
  }

  /** Takes up what should run, and from now on whatever becomes free. Resolves with how many run again. */
  async open(): Promise<number> {
    await this.#claim(this.#needs.isAlone);
    this.#renewing.begin(this.#needs.config.node.renew_seconds * 1000);
    this.#metering.begin(this.#needs.config.usage.flush_seconds * 1000);
    return this.#held.size;
  }

  hold(parts: ProcessParts): SupervisedProcess {
    const { limits, pictures, spares, sql, log, metrics } = this.#needs;
    const process = new SupervisedProcess(parts, {
      ...{ sql, log, limits, pictures, slots: this.#slots },
      takeRunner: (signal) => spares.take(signal),
      replaceRunner: () => spares.fill(),
    });
    const { uuid } = parts.row;
    this.#held.set(uuid, process);
    if (metrics !== null)
      process.follow((notice) => {
        if (notice.type === "stats") metrics.observeProcess(uuid, notice.stats);
      });
    void process.ended.then(() => this.#letGo(process));
    return process;
  }

  /** Ends what waits to be taken up, of one user: this process, or all. Resolves with the uuids of those that were. */
  async endWaiting(userUuid: string, uuid: string | null): Promise<readonly string[]> {
    const { sql, nodeUuid } = this.#needs;
    const ended = await endFree(sql, { userUuid, uuid, nodeUuid, held: this.of(userUuid).map(({ row }) => row.uuid) });
    for (const claim of ended) {
      this.#orphans.delete(claim.uuid);
      // Taken up in this very moment.
      const held = this.#held.get(claim.uuid);
      if (held !== undefined && held.fence < claim.fence) held.lose();
    }
    return ended.map((claim) => claim.uuid);
  }

  /** A start that came to nothing leaves nothing, as soon as the database lets it. */
  async removeRow(uuid: string, fence: number): Promise<void> {
    this.#remains.set(uuid, fence);
    await this.#removeRemains().catch((error) =>
      this.#needs.log.warn({ err: error }, "a failed start is not removed yet"),
    );
  }

  /** Brings what was used so far to the database. */
  async flushUsage(): Promise<void> {
    for (const process of this.#held.values()) this.#usage.note(usageOf(process));
    await this.#usage.flush();
  }

  /** Runners are stopped, and what should run stays so in the database: the next server takes it up. */
  async close(): Promise<void> {
    await Promise.all([this.#renewing.close(), this.#metering.close()]);
    const processes = [...this.#held.values()];
    const halted = Promise.all(processes.map((process) => process.halt()));
    const { stopMs } = this.#needs.limits;
    const waiting = new AbortController();
    // By then the runners are gone; what is left waits for a database that is away.
    await Promise.race([halted, sleep(stopMs + WRITE_MS, waiting.signal)]);
    waiting.abort();
    for (const process of processes) process.closeLedger();
    await this.#usage
      .flush()
      .catch((error) => this.#needs.log.warn({ err: error }, "the last minutes are not written"));
  }

  #letGo(process: SupervisedProcess): void {
    const { uuid } = process.row;
    if (this.#held.get(uuid) === process) this.#held.delete(uuid);
    this.#needs.metrics?.forgetProcess(uuid);
    this.#usage.close(usageOf(process));
    void this.#usage.flush().catch(() => {});
  }

  async #claim(isAlone: boolean): Promise<void> {
    const { sql, nodeUuid, config, log } = this.#needs;
    for (;;) {
      const rows = await claimFree(sql, nodeUuid, config.node.lease_seconds, isAlone);
      for (const row of rows) this.#orphans.set(row.uuid, row);
      if (rows.length === 0) break;
    }
    for (const [uuid, row] of [...this.#orphans]) {
      try {
        const parts = await adopt(row, this.#needs);
        // Ended in the meantime.
        if (this.#orphans.get(uuid) !== row) continue;
        this.#orphans.delete(uuid);
        if (parts === null) continue;
        log.info({ process: uuid }, "a process that should run is taken up");
        this.hold(parts).resume();
      } catch (error) {
        log.warn({ err: error, process: uuid }, "a process could not be taken up; it is tried again");
      }
    }
  }

  async #renewAll(): Promise<number> {
    const { sql, nodeUuid, config, log } = this.#needs;
    // As it was before the question: what is claimed while it is answered is not in the answer.
    const held = [...this.#held.values()];
    try {
      const claims = new Map(
        (await renewClaims(sql, nodeUuid, config.node.lease_seconds)).map(({ uuid, fence }) => [uuid, fence]),
      );
      for (const process of held) if (claims.get(process.row.uuid) !== process.fence) process.lose();
      for (const [uuid, { fence }] of [...this.#orphans]) if (claims.get(uuid) !== fence) this.#orphans.delete(uuid);
      await this.#removeRemains();
      await this.#claim(false);
    } catch (error) {
      // What runs goes on: nobody else can claim it while the database is away, and who does later raises the fence.
      log.warn({ err: error }, "claims could not be renewed; it is tried again");
    }
    return config.node.renew_seconds * 1000 * (0.75 + Math.random() / 4);
  }

  async #meterAll(): Promise<number> {
    const { config, log } = this.#needs;
    const mostMs = config.usage.flush_seconds * 1000;
    try {
      for (const process of this.#held.values()) process.saveProgress();
      await this.flushUsage();
      return await this.#stopSpent(mostMs);
    } catch (error) {
      log.warn({ err: error }, "minutes could not be written down; it is tried again");
      return mostMs;
    }
  }

  async #stopSpent(mostMs: number): Promise<number> {
    const users = [...new Set([...this.#held.values()].map(({ row }) => row.userUuid))];
    const standings = await readStandings(this.#needs.sql, users);
    for (const standing of standings) {
      const error = judgeStanding(standing);
      if (error !== null) for (const process of this.of(standing.userUuid)) void process.stop(error);
    }
    const consumptions = standings.map(({ userUuid, remainingMs }) => ({
      remainingMs,
      running: this.of(userUuid).filter(({ state }) => state === "running").length,
    }));
    return nextLookMs(consumptions, LEAST_LOOK_MS, mostMs);
  }

  async #removeRemains(): Promise<void> {
    for (const [uuid, fence] of [...this.#remains]) {
      await deleteProcess(this.#needs.sql, uuid, fence);
      this.#remains.delete(uuid);
    }
  }
}

/** For the last words to the database. */
const WRITE_MS = 2_000;

const usageOf = (process: SupervisedProcess) => ({
  processUuid: process.row.uuid,
  fence: process.fence,
  runningMs: process.runningMs,
});
