/** The processes that this node runs: held from their start or resumption until they end, and metered. */
import type { RunnerStats } from "../../schemas/runner.ts";
import { Poller } from "../async/poller.ts";
import { TIMED_OUT, withTimeout } from "../async/timing.ts";
import { readStandings } from "../store/users.ts";
import type { TelemetryNumbers } from "../telemetry/status.ts";
import { Process, type ProcessDeps, type ProcessOptions } from "./process.ts";
import { findLimit, nextCheckMs, UsageWriter } from "./usage.ts";
import { countProcesses, type EndState, isEnd, type LiveProcess, type ProcessNumbers } from "./view.ts";

/** Follows every process of this node from its beginning: tracks, alerts, webhooks. */
export interface ProcessListener {
  follow(process: Process): void;
}

export interface ProcessMetrics {
  observeProcess(uuid: string, stats: RunnerStats & { readonly restarts: number }): void;
  observeTelemetry(uuid: string, numbers: TelemetryNumbers): void;
  forgetProcess(uuid: string): void;
  countEnd(state: EndState): void;
}

export interface RegistryDeps extends ProcessDeps {
  readonly metrics: ProcessMetrics | null;
  readonly listeners?: readonly ProcessListener[] | undefined;
}

/** Minimum interval between checks of minutes that are nearly used up. */
const MIN_CHECK_MS = 200;
/** Ended processes whose last numbers are kept. */
const MAX_ENDED = 256;
/** For the last writes at shutdown. */
export const LAST_WRITE_MS = 2_000;

export class ProcessRegistry {
  readonly #deps: RegistryDeps;
  readonly #usage: UsageWriter;
  readonly #processes = new Map<string, Process>();
  /** Oldest first. */
  readonly #ended = new Map<string, LiveProcess>();
  readonly #metering = new Poller(() => this.#meter());

  constructor(deps: RegistryDeps) {
    this.#deps = deps;
    this.#usage = new UsageWriter(deps.sql, deps.log);
  }

  get all(): readonly Process[] {
    return [...this.#processes.values()];
  }

  get(uuid: string): Process | null {
    return this.#processes.get(uuid) ?? null;
  }

  ofUser(userUuid: string): readonly Process[] {
    return this.all.filter(({ row }) => row.userUuid === userUuid);
  }

  /** Also of a process that ended here recently. */
  view(uuid: string): LiveProcess | null {
    return this.#processes.get(uuid)?.view ?? this.#ended.get(uuid) ?? null;
  }

  get numbers(): ProcessNumbers {
    return countProcesses(this.all.map(({ view }) => view));
  }

  /** The caller starts or resumes it. */
  hold(options: ProcessOptions): Process {
    const { metrics, listeners = [] } = this.#deps;
    const process = new Process(options, this.#deps);
    const { uuid } = options.row;
    this.#processes.set(uuid, process);
    if (metrics !== null)
      process.follow((notice) => {
        if (notice.type !== "stats") return;
        metrics.observeProcess(uuid, notice.stats);
        const { telemetry } = process.reports;
        if (telemetry !== null) metrics.observeTelemetry(uuid, telemetry.numbers);
      });
    for (const listener of listeners) listener.follow(process);
    void process.ended.then(() => this.#remove(process));
    return process;
  }

  startMetering(): void {
    this.#metering.start(this.#deps.config.usage.flush_seconds * 1000);
  }

  stopMetering(): Promise<void> {
    return this.#metering.close();
  }

  /** Resolves when what was used so far is stored, or after the time limit. */
  async flushUsage(limitMs: number): Promise<void> {
    for (const process of this.all) this.#usage.add(usageOf(process));
    await withTimeout(limitMs, this.#usage.idle());
  }

  /** Runners end; the processes stay wanted in the database. */
  async haltAll(): Promise<void> {
    await Promise.all(this.all.map((process) => process.halt()));
  }

  /** After `haltAll`. */
  async close(): Promise<void> {
    for (const process of this.all) process.record.close();
    const isLate = (await withTimeout(LAST_WRITE_MS, this.#usage.close())) === TIMED_OUT;
    if (isLate) this.#deps.log.warn("usage could not be stored before shutdown");
  }

  #remove(process: Process): void {
    const { metrics } = this.#deps;
    const { uuid } = process.row;
    const { view } = process;
    if (this.#processes.get(uuid) === process) this.#processes.delete(uuid);
    metrics?.forgetProcess(uuid);
    this.#usage.addLast(usageOf(process));
    if (!isEnd(view.state)) return;
    metrics?.countEnd(view.state);
    this.#ended.set(uuid, { ...view, outputs: [] });
    const [oldest] = this.#ended.keys();
    if (this.#ended.size > MAX_ENDED && oldest !== undefined) this.#ended.delete(oldest);
  }

  /** Stores progress and usage, and stops the processes of users who may not run any. */
  async #meter(): Promise<number> {
    const { config, log, limits } = this.#deps;
    const maxMs = config.usage.flush_seconds * 1000;
    try {
      for (const process of this.all)
        if (process.state === "running" || process.state === "paused") void process.record.save();
      await this.flushUsage(limits.saveMs);
      return await this.#stopSpent(maxMs);
    } catch (error) {
      log.warn({ err: error }, "usage limits could not be read; retrying");
      return maxMs;
    }
  }

  async #stopSpent(maxMs: number): Promise<number> {
    const users = [...new Set(this.all.map(({ row }) => row.userUuid))];
    const standings = await readStandings(this.#deps.sql, users);
    for (const standing of standings) {
      const error = findLimit(standing);
      if (error !== null) for (const process of this.ofUser(standing.userUuid)) void process.stop(error);
    }
    const consumptions = standings.map(({ userUuid, remainingMs }) => ({
      remainingMs,
      running: this.ofUser(userUuid).filter(({ state }) => state === "running").length,
    }));
    return nextCheckMs(consumptions, MIN_CHECK_MS, maxMs);
  }
}

const usageOf = ({ row, record, runningMs }: Process) => ({
  ...{ processUuid: row.uuid, fence: record.claim.fence, runningMs },
});
