/**
 * The processes that this node runs: held from their start or resumption until they end, or another node has claimed them.
 * With every renewal of the node's lease, processes that no node runs are claimed and resumed.
 */
import { setTimeout as wait } from "node:timers/promises";
import type { RunnerStats } from "../../schemas/runner.ts";
import { Semaphore } from "../async/semaphore.ts";
import type { NodeRenewal } from "../cluster/node.ts";
import { ServiceError } from "../service-error.ts";
import { claimFree, declineProcess, releaseClaim, stopUnheld } from "../store/claims.ts";
import type { OwnedProcess } from "../store/nodes.ts";
import { listAttached, listBranches } from "../store/outputs.ts";
import { type Claim, deleteProcess, type ProcessRow, saveSnapshot } from "../store/processes.ts";
import { findHasRecording } from "../store/users.ts";
import type { TelemetryNumbers } from "../telemetry/status.ts";
import { stopsSlowly } from "./errors.ts";
import { Process, type ProcessDeps, type ProcessOptions } from "./process.ts";
import type { ProcessError } from "./processes.ts";
import { Metering } from "./usage.ts";
import { type EndState, isEnd, type LiveProcess } from "./view.ts";

interface ProcessMetrics {
  observeProcess(uuid: string, stats: RunnerStats & { readonly restarts: number }): void;
  observeTelemetry(uuid: string, numbers: TelemetryNumbers): void;
  forgetProcess(uuid: string): void;
  countEnd(state: EndState): void;
}

export interface RegistryDeps extends ProcessDeps {
  readonly metrics: ProcessMetrics | null;
}

/** Resuming takes several queries and a compilation: all at once would slow down requests of clients. */
const RESUMED_AT_ONCE = 4;

/** This node lacks what the process needs; another one may have it. */
const DECLINED = new Set(["source_file_missing", "graph_not_found"]);

/** Worth another attempt. */
const TRANSIENT = new Set([
  "database_unavailable",
  "storage_unavailable",
  "rate_limited",
  "shutting_down",
  "internal_error",
]);

/** Ended processes whose last numbers are kept. */
const MAX_ENDED = 256;
/** For the last writes at shutdown. */
export const LAST_WRITE_MS = 2_000;
/** Interval of checks whether another node has stopped a process. */
const CHECK_MS = 200;

export class ProcessRegistry {
  readonly metering: Metering;
  readonly #deps: RegistryDeps;
  readonly #processes = new Map<string, Process>();
  /** Oldest first. */
  readonly #ended = new Map<string, LiveProcess>();
  /** Claimed, and not resumed yet. */
  readonly #orphans = new Map<string, ProcessRow>();
  readonly #resuming = new Map<string, Promise<void>>();
  readonly #slots = new Semaphore(RESUMED_AT_ONCE);
  /** Failed starts that are still in the database, with their fences. */
  readonly #failedStarts = new Map<string, number>();
  readonly #closing = new AbortController();
  /** Since when processes have been free; null: none were at the last renewal. */
  #freeSinceMs: number | null = null;

  constructor(deps: RegistryDeps) {
    this.#deps = deps;
    this.metering = new Metering(deps, () => this.all);
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
        const { telemetry } = process.record;
        if (telemetry !== null) metrics.observeTelemetry(uuid, telemetry.numbers);
      });
    for (const listener of listeners) listener.follow(process);
    void process.ended.then(() => this.#remove(process));
    return process;
  }

  #remove(process: Process): void {
    const { metrics } = this.#deps;
    const { uuid } = process.row;
    const { view } = process;
    if (this.#processes.get(uuid) === process) this.#processes.delete(uuid);
    metrics?.forgetProcess(uuid);
    this.metering.add(process);
    if (!isEnd(view.state)) return;
    metrics?.countEnd(view.state);
    this.#ended.set(uuid, { ...view, outputs: [] });
    const [oldest] = this.#ended.keys();
    if (this.#ended.size > MAX_ENDED && oldest !== undefined) this.#ended.delete(oldest);
  }

  /** Resumes what should run and no node runs, now and whenever it becomes free. Resolves with how many run. */
  async open(): Promise<number> {
    this.metering.start();
    this.#deps.node.follow(this);
    await this.#claimFree();
    await this.#resumeAll();
    return this.all.length;
  }

  /** Runners end; the processes stay wanted in the database. Resolves when they, and what was not resumed, are released. */
  async release(): Promise<void> {
    // Runners first: tasks that are still running may be waiting for an unreachable database.
    const halted = this.#haltAll();
    this.#closing.abort();
    await Promise.all([this.metering.stop(), ...this.#resuming.values()]);
    // Those that were resumed meanwhile, too.
    await Promise.all([halted, this.#haltAll(), this.#releaseOrphans()]);
  }

  /** After `release`, or when that takes too long: nothing is stored from now on. */
  async close(): Promise<void> {
    for (const process of this.all) process.record.close();
    await this.metering.close(LAST_WRITE_MS);
  }

  async #haltAll(): Promise<void> {
    await Promise.all(this.all.map((process) => process.halt()));
  }

  /** Other nodes can claim at once what was not resumed. */
  async #releaseOrphans(): Promise<void> {
    const { sql, log } = this.#deps;
    const rows = [...this.#orphans.values()];
    this.#orphans.clear();
    await Promise.all(
      rows.map((row) => releaseClaim(sql, row).catch((error) => log.warn({ err: error }, "claim not released"))),
    );
  }

  /**
   * Stops one process, or all, of a user that this node does not run: those that no node runs end at once, and other nodes
   * stop theirs with their next renewal. Resolves with those that have ended, when all have.
   */
  async stopElsewhere(userUuid: string, uuid: string | null): Promise<readonly string[]> {
    const { sql, node, limits } = this.#deps;
    const untilMs = performance.now() + node.limits.renewMs + limits.stopMs + limits.saveMs;
    const stopped = new Set<string>();
    for (;;) {
      const held = this.ofUser(userUuid).map(({ row }) => row.uuid);
      const claims = await stopUnheld(sql, { userUuid, uuid, nodeUuid: node.uuid, held });
      for (const claim of claims) {
        stopped.add(claim.uuid);
        if (!claim.isEnded) continue;
        this.#orphans.delete(claim.uuid);
        // Resumed while the query ran.
        const process = this.get(claim.uuid);
        if (process !== null && process.fence < claim.fence) process.lose();
      }
      if (claims.every(({ isEnded }) => isEnded)) return [...stopped];
      if (performance.now() > untilMs) throw stopsSlowly();
      await wait(CHECK_MS);
    }
  }

  /** A failed start leaves no row, as soon as the database is reachable. */
  async removeFailedStart(uuid: string, fence: number): Promise<void> {
    this.#failedStarts.set(uuid, fence);
    await this.#removeFailedStarts().catch((error) =>
      this.#deps.log.warn({ err: error }, "row of a failed start not deleted yet"),
    );
  }

  async #removeFailedStarts(): Promise<void> {
    for (const [uuid, fence] of [...this.#failedStarts]) {
      await deleteProcess(this.#deps.sql, uuid, fence);
      this.#failedStarts.delete(uuid);
    }
  }

  /** Another node hands it over. False: it is not free, or there is no room for it. */
  async claimNow(uuid: string): Promise<boolean> {
    await this.#claimFree(uuid);
    void this.#resumeAll();
    return this.#orphans.has(uuid) || this.#processes.has(uuid);
  }

  async #claimFree(only?: string): Promise<void> {
    const { sql, node } = this.#deps;
    while (!this.#closing.signal.aborted) {
      const { uuid: nodeUuid, isAlone, canTakeOver } = node;
      const { labels } = node.facts;
      const rows = await claimFree(sql, {
        nodeUuid,
        isAlone,
        canTakeOver,
        labels,
        listHeld: () => this.claims.map(({ uuid }) => uuid),
        isPatient: this.#hadAllTheirTurn,
        ...(only !== undefined && { only }),
      });
      for (const row of rows) this.#orphans.set(row.uuid, row);
      // The share of this node; the others claim theirs.
      if (rows.length === 0 || !isAlone) return;
    }
  }

  /** Every live node has renewed its lease, and claimed its share, since processes are free. */
  get #hadAllTheirTurn(): boolean {
    const { leaseSeconds } = this.#deps.node.limits;
    return this.#freeSinceMs !== null && performance.now() - this.#freeSinceMs > leaseSeconds * 1000;
  }

  /** What it holds, also what is not resumed yet. */
  get claims(): readonly Claim[] {
    return [...this.all.map(({ record }) => record.claim), ...this.#orphans.values()];
  }

  /** The lease of this node was renewed, and with it every claim that no other node has taken. */
  async onRenewed({ asked, owned, free }: NodeRenewal): Promise<void> {
    if (this.#closing.signal.aborted) return;
    const { node } = this.#deps;
    for (const { uuid, fence } of asked) {
      const claim = owned.get(uuid);
      const isOwned = claim?.fence === fence;
      const process = this.get(uuid);
      const orphan = this.#orphans.get(uuid);
      if (process?.fence === fence) {
        if (!isOwned) process.lose();
        else if (claim.desired === "stopped") void process.stop();
        else process.extendLease(node.validUntilMs);
      }
      if (orphan?.fence === fence) this.#updateOrphan(orphan, isOwned ? claim : undefined);
    }
    await this.#removeFailedStarts();
    if (free > 0 || owned.size > asked.length) await this.#claimFree();
    this.#freeSinceMs = free > 0 && node.canTakeOver ? (this.#freeSinceMs ?? performance.now()) : null;
    // In the background: the next renewal must not be late.
    void this.#resumeAll();
  }

  /** The database was unreachable for so long that they are left to other nodes, or to the next renewal. */
  onGivenUp(): void {
    for (const process of this.all) process.lose();
    this.#orphans.clear();
  }

  #updateOrphan(row: ProcessRow, claim: OwnedProcess | undefined): void {
    if (claim === undefined) this.#orphans.delete(row.uuid);
    else if (claim.desired !== row.desired) this.#orphans.set(row.uuid, { ...row, desired: claim.desired });
  }

  /** Resolves when each has been tried; those that cannot be resumed yet stay. */
  async #resumeAll(): Promise<void> {
    await Promise.all(
      [...this.#orphans.values()].map((row) => {
        const resuming = this.#resuming.get(row.uuid) ?? this.#resume(row);
        this.#resuming.set(row.uuid, resuming);
        return resuming;
      }),
    );
  }

  async #resume(row: ProcessRow): Promise<void> {
    const log = this.#deps.log.child({ process: row.uuid });
    const isOurs = (): boolean => !this.#closing.signal.aborted && this.#orphans.get(row.uuid) === row;
    const release = await this.#slots.acquire(this.#closing.signal);
    try {
      if (!isOurs()) return;
      const options = await this.#readOptions(row);
      // Stopped or lost meanwhile.
      if (!isOurs()) return options?.input.release?.();
      this.#orphans.delete(row.uuid);
      if (options === null) return;
      log.info("process resumed");
      this.hold(options).resume();
    } catch (error) {
      log.warn({ err: error }, "process could not be resumed; retrying");
    } finally {
      release();
      this.#resuming.delete(row.uuid);
    }
  }

  /**
   * Null when it need not run: a start without a response is deleted, a process that should have stopped has finished, and
   * one that cannot run has failed. Rejects while the database is unreachable.
   */
  async #readOptions(row: ProcessRow): Promise<ProcessOptions | null> {
    const { sql } = this.#deps;
    const { uuid, userUuid, sourceUuid, endsAt } = row;
    if (row.startedAt === null) {
      await deleteProcess(sql, uuid, row.fence);
      return null;
    }
    const isOver = endsAt !== null && endsAt.getTime() <= Date.now();
    if (row.desired === "stopped" || isOver) {
      const { errorCode: code, errorDetail: detail } = row;
      await this.#end(row, "finished", code === null ? null : { code, detail: detail ?? "" });
      return null;
    }
    try {
      const input = await this.#deps.resolveInput(userUuid, sourceUuid, { isResumed: true });
      const {
        offers,
        slots,
        alertNode = null,
        models = [],
      } = await this.#deps.prepare({
        ...{ ...row, sourceUri: input.uri, sourceLoops: input.loops ?? false, given: {} },
      });
      const hasRecording = await findHasRecording(sql, userUuid);
      const outputs = await listAttached(sql, uuid);
      const branches = await listBranches(sql, uuid);
      return { row, input, offers, slots, alertNode, models, outputs, branches, hasRecording };
    } catch (error) {
      if (!(error instanceof ServiceError) || TRANSIENT.has(error.code)) throw error;
      const { node, log } = this.#deps;
      if (DECLINED.has(error.code) && !node.isAlone && (await declineProcess(sql, row, node.uuid))) {
        log.info({ process: uuid, reason: error.message }, "process left to another node");
        return null;
      }
      await this.#end(row, "failed", { code: error.code, detail: error.message });
      return null;
    }
  }

  async #end(row: ProcessRow, state: "finished" | "failed", error: ProcessError | null): Promise<void> {
    await saveSnapshot(this.#deps.sql, row, {
      ...{ ...row, desired: "stopped", state, finishedAt: new Date() },
      errorCode: error?.code ?? null,
      errorDetail: error?.detail ?? null,
    });
  }
}
