/** The processes that this machine holds: claimed, renewed, metered, and given up in the end. */
import type { Logger } from "pino";
import type { Config } from "../../schemas/config.ts";
import type { RunnerStats } from "../../schemas/runner.ts";
import { Poller } from "../async/poller.ts";
import { Semaphore } from "../async/semaphore.ts";
import { withTimeout } from "../async/timing.ts";
import type { RouteOutput } from "../outputs/route-output.ts";
import type { Sql } from "../store/client.ts";
import { type Claim, claimFree, deleteProcess, renewClaims, stopUnheld, type UnheldClaim } from "../store/processes.ts";
import { readStandings } from "../store/standing.ts";
import type { TelemetryNumbers } from "../telemetry/standing.ts";
import type { AdoptionNeeds } from "./adoption.ts";
import type { LiveProcess } from "./describe-process.ts";
import { Lease } from "./lease.ts";
import { Orphans } from "./orphans.ts";
import { countProcesses, type EndState, isEnd, type ProcessNumbers } from "./process-numbers.ts";
import type { ProcessLimits, ProcessParts, RecordingPlace } from "./process-parts.ts";
import type { SpareRunners } from "./spare.ts";
import { judgeStanding, nextLookMs } from "./standings.ts";
import { SupervisedProcess } from "./supervised-process.ts";
import { UsageWriter } from "./usage-writer.ts";

export interface ProcessMetrics {
  observeProcess(uuid: string, stats: RunnerStats & { readonly restarts: number }): void;
  observeTelemetry(uuid: string, numbers: TelemetryNumbers): void;
  forgetProcess(uuid: string): void;
  countEnd(state: EndState): void;
}

export interface HoldingNeeds extends AdoptionNeeds {
  readonly sql: Sql;
  readonly config: Config;
  readonly log: Logger;
  readonly nodeUuid: string;
  readonly isAlone: boolean;
  readonly limits: ProcessLimits;
  readonly routeOutput: RouteOutput;
  readonly recordings: RecordingPlace;
  readonly spares: SpareRunners;
  readonly metrics: ProcessMetrics | null;
  /** Those who hear of every process that is held here, from its first moment: its tracks, its alerts, its webhooks. */
  readonly listeners?: readonly ProcessListener[] | undefined;
}

export interface ProcessListener {
  follow(process: SupervisedProcess): void;
}

/** Minutes that are about to run out are looked at more often, but not more often than this. */
const LEAST_LOOK_MS = 200;

/** Their last numbers are remembered. */
const MOST_ENDED = 256;

export class Holdings {
  readonly #needs: HoldingNeeds;
  readonly #usage: UsageWriter;
  readonly #slots: Semaphore;
  readonly #held = new Map<string, SupervisedProcess>();
  /** Oldest first. */
  readonly #ended = new Map<string, LiveProcess>();
  readonly #orphans: Orphans;
  /** Starts that came to nothing and are still in the database, with their fences. */
  readonly #remains = new Map<string, number>();
  readonly #renewing = new Poller(() => this.#renewAll());
  readonly #metering = new Poller(() => this.#meterAll());
  /** Null when nobody else could claim anything. */
  readonly #lease: Lease | null;
  #isClosing = false;

  constructor(needs: HoldingNeeds) {
    const leaseMs = needs.config.node.lease_seconds * 1000;
    this.#needs = needs;
    this.#lease = needs.isAlone ? null : new Lease(leaseMs, () => this.#loseAll());
    this.#orphans = new Orphans({ ...needs, take: (parts) => this.hold(parts).resume() });
    this.#usage = new UsageWriter(needs.sql);
    this.#slots = new Semaphore(needs.config.runners.parallel);
  }

  /** Of one that ended here not long ago: what it was in the end. */
  lastView(uuid: string): LiveProcess | null {
    return this.#ended.get(uuid) ?? null;
  }

  get(uuid: string): SupervisedProcess | null {
    return this.#held.get(uuid) ?? null;
  }

  get numbers(): ProcessNumbers {
    return countProcesses([...this.#held.values()].map(({ view }) => view));
  }

  of(userUuid: string): readonly SupervisedProcess[] {
    return [...this.#held.values()].filter(({ row }) => row.userUuid === userUuid);
  }

  /** Takes up what should run, and from now on whatever becomes free. Resolves with how many run again. */
  async open(): Promise<number> {
    const { config, isAlone } = this.#needs;
    this.#lease?.renew(performance.now());
    await this.#claim(isAlone);
    this.#renewing.start(config.node.renew_seconds * 1000);
    this.#metering.start(config.usage.flush_seconds * 1000);
    // Renewed meanwhile: many take their time.
    await this.#orphans.adoptAll();
    return this.#held.size;
  }

  hold(parts: ProcessParts): SupervisedProcess {
    const { limits, spares, sql, log, config, metrics, routeOutput, recordings } = this.#needs;
    const process = new SupervisedProcess(parts, {
      ...{ sql, log, config, limits, slots: this.#slots, routeOutput, recordings },
      prepare: (order) => this.#needs.prepare(order),
      takeRunner: (signal) => spares.take(signal),
      replaceRunner: () => spares.fill(),
    });
    const { uuid } = parts.row;
    this.#held.set(uuid, process);
    if (metrics !== null)
      process.follow((notice) => {
        if (notice.type !== "stats") return;
        metrics.observeProcess(uuid, notice.stats);
        if (process.telemetryNumbers !== null) metrics.observeTelemetry(uuid, process.telemetryNumbers);
      });
    for (const listener of this.#needs.listeners ?? []) listener.follow(process);
    void process.ended.then(() => this.#letGo(process));
    return process;
  }

  /**
   * What this machine does not run, of one user, this process or all, is to stop: it has ended where nobody runs it, and
   * otherwise whoever does hears of it with the next renewal.
   */
  async stopUnheld(userUuid: string, uuid: string | null): Promise<readonly UnheldClaim[]> {
    const { sql, nodeUuid } = this.#needs;
    const held = this.of(userUuid).map(({ row }) => row.uuid);
    const stopped = await stopUnheld(sql, { userUuid, uuid, nodeUuid, held });
    for (const claim of stopped.filter(({ isEnded }) => isEnded)) {
      this.#orphans.forget(claim.uuid);
      // Taken up in this very moment.
      const held = this.#held.get(claim.uuid);
      if (held !== undefined && held.fence < claim.fence) held.lose();
    }
    return stopped;
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
    this.#isClosing = true;
    this.#lease?.close();
    // The runners first: whatever is under way may be waiting for a database that is away.
    const halted = this.#haltAll();
    const underWay = Promise.all([this.#renewing.close(), this.#metering.close(), this.#orphans.close()]);
    const released = underWay.then(() => Promise.all([this.#haltAll(), this.#orphans.release()]));
    // By then the runners are gone.
    await withTimeout(this.#needs.limits.stopMs + WRITE_MS, Promise.all([halted, released]));
    for (const process of this.#held.values()) process.closeLedger();
    const written = this.#usage.flush();
    written.catch((error) => this.#needs.log.warn({ err: error }, "the last minutes are not written"));
    await withTimeout(WRITE_MS, written).catch(() => {});
  }

  async #haltAll(): Promise<void> {
    await Promise.all([...this.#held.values()].map((process) => process.halt()));
  }

  #noteEnd(uuid: string, view: LiveProcess): void {
    this.#ended.set(uuid, { ...view, outputs: [] });
    const [oldest] = this.#ended.keys();
    if (this.#ended.size > MOST_ENDED && oldest !== undefined) this.#ended.delete(oldest);
  }

  #letGo(process: SupervisedProcess): void {
    const { uuid } = process.row;
    if (this.#held.get(uuid) === process) this.#held.delete(uuid);
    if (!process.isActive) this.#noteEnd(uuid, process.view);
    this.#needs.metrics?.forgetProcess(uuid);
    if (isEnd(process.view.state)) this.#needs.metrics?.countEnd(process.view.state);
    this.#usage.close(usageOf(process));
    void this.#usage.flush().catch(() => {});
  }

  async #claim(isAlone: boolean): Promise<void> {
    const { sql, nodeUuid, config } = this.#needs;
    while (!this.#isClosing) {
      const rows = await claimFree(sql, nodeUuid, config.node.lease_seconds, isAlone);
      for (const row of rows) this.#orphans.add(row);
      if (rows.length === 0) return;
    }
  }

  async #renewAll(): Promise<number> {
    const { config, log } = this.#needs;
    try {
      await this.#renew();
      await this.#removeRemains();
      await this.#claim(false);
      // Not waited for: the next renewal must not be late.
      void this.#orphans.adoptAll();
    } catch (error) {
      log.warn({ err: error }, "claims could not be renewed; it is tried again");
    }
    return config.node.renew_seconds * 1000 * (0.75 + Math.random() / 4);
  }

  async #renew(): Promise<void> {
    const { sql, nodeUuid, config } = this.#needs;
    // As it was before the question: what is claimed while it is answered is not in the answer.
    const held = [...this.#held.values()];
    const orphans = this.#orphans.claims;
    const askedMs = performance.now();
    const claims = [...held.map(claimOf), ...orphans];
    const answer = await renewClaims(sql, nodeUuid, config.node.lease_seconds, claims);
    this.#lease?.renew(askedMs);
    const renewed = new Map(answer.map((claim) => [claim.uuid, claim]));
    for (const process of held) {
      const claim = renewed.get(process.row.uuid);
      if (claim === undefined) process.lose();
      else if (claim.desired === "stopped") void process.stop();
    }
    this.#orphans.heed(orphans, renewed);
  }

  /** The database was away for so long that whoever reaches it may have claimed them: what runs twice does harm. */
  #loseAll(): void {
    this.#needs.log.warn({ processes: this.#held.size }, "claims could not be renewed in time; they are given up");
    for (const process of this.#held.values()) process.lose();
    for (const { uuid } of this.#orphans.claims) this.#orphans.forget(uuid);
  }

  async #meterAll(): Promise<number> {
    const { config, log } = this.#needs;
    const maxMs = config.usage.flush_seconds * 1000;
    try {
      for (const process of this.#held.values()) process.saveProgress();
      await this.flushUsage();
      return await this.#stopSpent(maxMs);
    } catch (error) {
      log.warn({ err: error }, "minutes could not be written down; it is tried again");
      return maxMs;
    }
  }

  async #stopSpent(maxMs: number): Promise<number> {
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
    return nextLookMs(consumptions, LEAST_LOOK_MS, maxMs);
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

const claimOf = ({ row: { uuid }, fence }: SupervisedProcess): Claim => ({ uuid, fence });

const usageOf = (process: SupervisedProcess) => ({
  processUuid: process.row.uuid,
  fence: process.fence,
  runningMs: process.runningMs,
});
