/**
 * The claims of this node: it runs a process as long as it renews the claim in the database. Processes that no node runs
 * are claimed and resumed; those whose claim was not renewed in time are given up.
 */
import { Poller } from "../async/poller.ts";
import { Semaphore } from "../async/semaphore.ts";
import { ServiceError } from "../service-error.ts";
import { listAttached, listBranches } from "../store/outputs.ts";
import {
  type Claim,
  claimFree,
  deleteProcess,
  type ProcessRow,
  type RenewedClaim,
  releaseClaim,
  renewClaims,
  saveSnapshot,
  stopUnheld,
  type UnheldClaim,
} from "../store/processes.ts";
import { findHasRecording } from "../store/users.ts";
import type { ProcessDeps, ProcessOptions } from "./process.ts";
import type { ProcessError } from "./processes.ts";
import type { ProcessRegistry } from "./registry.ts";

/** Resuming takes several queries and a compilation: all at once would slow down requests of clients. */
const RESUMED_AT_ONCE = 4;

/** Worth another attempt. */
const TRANSIENT = new Set(["database_unavailable", "rate_limited", "shutting_down", "internal_error"]);

export class Claims {
  readonly #deps: ProcessDeps;
  readonly #registry: ProcessRegistry;
  /** Claimed, and not resumed yet. */
  readonly #orphans = new Map<string, ProcessRow>();
  readonly #resuming = new Map<string, Promise<void>>();
  readonly #slots = new Semaphore(RESUMED_AT_ONCE);
  /** Failed starts that are still in the database, with their fences. */
  readonly #failedStarts = new Map<string, number>();
  readonly #renewing = new Poller(() => this.#renewAll());
  /** Null when no other node could claim anything. */
  readonly #lease: Lease | null;
  readonly #closing = new AbortController();

  constructor(deps: ProcessDeps, registry: ProcessRegistry) {
    this.#deps = deps;
    this.#registry = registry;
    this.#lease = deps.isAlone ? null : new Lease(deps.limits.leaseSeconds * 1000, () => this.#loseAll());
  }

  /** Resumes what should run and no node runs, now and whenever it becomes free. Resolves with how many run. */
  async open(): Promise<number> {
    const { limits, isAlone } = this.#deps;
    this.#lease?.renew(performance.now());
    await this.#claimFree(isAlone);
    // Renewed meanwhile: resuming many takes long.
    this.#renewing.start(limits.renewMs);
    await this.#resumeAll();
    return this.#registry.all.length;
  }

  /** Nothing is claimed, renewed or resumed afterwards. */
  async close(): Promise<void> {
    this.#closing.abort();
    this.#lease?.close();
    await Promise.all([this.#renewing.close(), ...this.#resuming.values()]);
  }

  /** After `close`: other nodes can claim at once what was not resumed. */
  async releaseOrphans(): Promise<void> {
    const { sql, log } = this.#deps;
    const rows = [...this.#orphans.values()];
    this.#orphans.clear();
    await Promise.all(
      rows.map((row) => releaseClaim(sql, row).catch((error) => log.warn({ err: error }, "claim not released"))),
    );
  }

  /**
   * Stops one process, or all, of a user that this node does not run. Those that no node runs have ended then; for others
   * the wish is stored, and their nodes stop them with their next renewal.
   */
  async stopUnheld(userUuid: string, uuid: string | null): Promise<readonly UnheldClaim[]> {
    const { sql, nodeUuid } = this.#deps;
    const held = this.#registry.ofUser(userUuid).map(({ row }) => row.uuid);
    const claims = await stopUnheld(sql, { userUuid, uuid, nodeUuid, held });
    for (const claim of claims.filter(({ isEnded }) => isEnded)) {
      this.#orphans.delete(claim.uuid);
      // Resumed while the query ran.
      const process = this.#registry.get(claim.uuid);
      if (process !== null && process.record.claim.fence < claim.fence) process.lose();
    }
    return claims;
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

  async #claimFree(isAlone: boolean): Promise<void> {
    const { sql, nodeUuid, limits } = this.#deps;
    while (!this.#closing.signal.aborted) {
      const rows = await claimFree(sql, nodeUuid, limits.leaseSeconds, isAlone);
      for (const row of rows) this.#orphans.set(row.uuid, row);
      if (rows.length === 0) return;
    }
  }

  async #renewAll(): Promise<number> {
    const { limits, log } = this.#deps;
    try {
      await this.#renew();
      await this.#removeFailedStarts();
      await this.#claimFree(false);
      // In the background: the next renewal must not be late.
      void this.#resumeAll();
    } catch (error) {
      log.warn({ err: error }, "claims could not be renewed; retrying");
    }
    return limits.renewMs * (0.75 + Math.random() / 4);
  }

  async #renew(): Promise<void> {
    const { sql, nodeUuid, limits } = this.#deps;
    // Listed before the query: what is claimed while it runs is not in its result.
    const processes = this.#registry.all;
    const orphans = [...this.#orphans.values()];
    const askedMs = performance.now();
    const claims: readonly Claim[] = [...processes.map(({ record }) => record.claim), ...orphans];
    const result = await renewClaims(sql, nodeUuid, limits.leaseSeconds, claims);
    this.#lease?.renew(askedMs);
    const renewed = new Map(result.map((claim) => [claim.uuid, claim]));
    for (const process of processes) {
      const claim = renewed.get(process.row.uuid);
      if (claim === undefined) process.lose();
      else if (claim.desired === "stopped") void process.stop();
    }
    for (const row of orphans) this.#updateOrphan(row, renewed.get(row.uuid));
  }

  #updateOrphan(row: ProcessRow, claim: RenewedClaim | undefined): void {
    if (this.#orphans.get(row.uuid) !== row) return;
    if (claim === undefined) this.#orphans.delete(row.uuid);
    else if (claim.desired !== row.desired) this.#orphans.set(row.uuid, { ...row, desired: claim.desired });
  }

  /** The database was unreachable for so long that another node may have claimed them: they must not run twice. */
  #loseAll(): void {
    const { all } = this.#registry;
    this.#deps.log.warn({ processes: all.length }, "lease expired; processes are given up");
    for (const process of all) process.lose();
    this.#orphans.clear();
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
      this.#registry.hold(options).resume();
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
      } = await this.#deps.prepare({
        ...{ ...row, sourceUri: input.uri, sourceLoops: input.loops ?? false, given: {} },
      });
      const hasRecording = await findHasRecording(sql, userUuid);
      const outputs = await listAttached(sql, uuid);
      const branches = await listBranches(sql, uuid);
      return { row, input, offers, slots, alertNode, outputs, branches, hasRecording };
    } catch (error) {
      if (!(error instanceof ServiceError) || TRANSIENT.has(error.code)) throw error;
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

/** How long this node owns what it claimed without a reply from the database. Afterwards another node may have claimed it. */
export class Lease {
  readonly #ms: number;
  readonly #onExpired: () => void;
  #timer: NodeJS.Timeout | undefined;
  #isClosed = false;

  constructor(ms: number, onExpired: () => void) {
    this.#ms = ms;
    this.#onExpired = onExpired;
  }

  /** `askedMs`: when the renewal was sent, by `performance.now()`. */
  renew(askedMs: number): void {
    clearTimeout(this.#timer);
    if (this.#isClosed) return;
    this.#timer = setTimeout(
      () => {
        this.#onExpired();
        // For what is claimed before the next renewal.
        this.renew(performance.now());
      },
      Math.max(0, askedMs + this.#ms - performance.now()),
    );
  }

  close(): void {
    this.#isClosed = true;
    clearTimeout(this.#timer);
  }
}
