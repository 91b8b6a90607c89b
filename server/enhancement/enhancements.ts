/** The enhancements that this machine owns: a limited number runs at once, the others wait. */
import type { Logger } from "pino";
import type { Config } from "../../schemas/config.ts";
import { Poller } from "../async/poller.ts";
import { Semaphore } from "../async/semaphore.ts";
import type { Confinement } from "../confinement/confinement.ts";
import { ServiceError } from "../service-error.ts";
import type { Sql } from "../store/client.ts";
import {
  claimEnhancements,
  type EnhancementRow,
  insertEnhancement,
  releaseEnhancement,
  renewEnhancements,
} from "../store/enhancements.ts";
import { NODE_LEASE } from "../store/nodes.ts";
import { expectMinutes } from "../store/users.ts";
import type { User } from "../user.ts";
import { EnhancementJob, type EnhancementLimits, LIMITS } from "./enhancement-job.ts";

export interface EnhancementDeps {
  readonly sql: Sql;
  readonly config: Pick<Config, "enhancement">;
  readonly log: Logger;
  readonly nodeUuid: string;
  /** There are no other machines. */
  readonly isAlone: boolean;
  /** The program of the child. */
  readonly entry: URL;
  readonly confinement: Confinement;
  /** For tests. */
  readonly limits?: Partial<EnhancementLimits>;
}

interface Held {
  readonly row: EnhancementRow;
  readonly job: EnhancementJob;
  readonly leaving: AbortController;
  readonly done: Promise<void>;
}

export class Enhancements {
  readonly #deps: EnhancementDeps;
  readonly #slots: Semaphore;
  readonly #held = new Map<string, Held>();
  readonly #renewing = new Poller(() => this.#renewAgain());
  #isClosing = false;

  constructor(deps: EnhancementDeps) {
    this.#deps = deps;
    this.#slots = new Semaphore(deps.config.enhancement.at_once);
    this.#renewing.start(NODE_LEASE.renewMs);
  }

  /** A running one continues, and one that has ended starts again. Resolves when it runs or is queued. Rejects with `ServiceError`. */
  async start(user: User, processUuid: string): Promise<void> {
    const { sql, nodeUuid, config } = this.#deps;
    if (this.#isClosing)
      throw new ServiceError("shutting_down", { detail: "the service is shutting down; try again in a moment" });
    await expectMinutes(sql, user.uuid);
    const { row, isNew } = await insertEnhancement(sql, {
      ...{ processUuid, userUuid: user.uuid, nodeUuid, leaseSeconds: NODE_LEASE.leaseSeconds },
      limit: user.limits.processes,
    });
    if (!isNew) return;
    const isNext = this.#held.size < config.enhancement.at_once;
    const { job } = this.#hold(row, isNext);
    const fault = isNext ? await job.started : null;
    if (fault !== null) throw new ServiceError("enhancement_failed", { detail: `${fault}; try again in a moment` });
  }

  /** Continues those of a stopped server or a lost machine. Resolves with their number. */
  async takeUp(): Promise<number> {
    const { sql, nodeUuid, config, isAlone } = this.#deps;
    const most = config.enhancement.at_once - this.#held.size;
    if (this.#isClosing || most <= 0) return 0;
    const rows = await claimEnhancements(sql, nodeUuid, NODE_LEASE.leaseSeconds, { isAlone, most });
    for (const row of rows) this.#hold(row, false);
    return rows.length;
  }

  /** Of its child, for tests. */
  pidOf(processUuid: string): number | undefined {
    return this.#held.get(processUuid)?.job.pid;
  }

  /** Resolves when all children have ended and the next server can continue. */
  async close(): Promise<void> {
    this.#isClosing = true;
    await this.#renewing.close();
    const held = [...this.#held.values()];
    for (const { leaving } of held) leaving.abort();
    await Promise.all(held.map(({ done }) => done));
    await Promise.allSettled(held.map(({ row }) => releaseEnhancement(this.#deps.sql, row)));
  }

  #hold(row: EnhancementRow, isAwaited: boolean): Held {
    const { sql, config, log, entry, confinement, limits } = this.#deps;
    const leaving = new AbortController();
    const job = new EnhancementJob(
      { sql, log, entry, confinement, config: config.enhancement, limits: { ...LIMITS, ...limits } },
      { row, isAwaited, signal: leaving.signal },
    );
    // After a lost lease was claimed again, the earlier job has to end first.
    const before = this.#held.get(row.processUuid)?.done ?? Promise.resolve();
    const done = before.then(() => this.#run(row, job, leaving.signal));
    const held = { row, job, leaving, done };
    this.#held.set(row.processUuid, held);
    if (this.#isClosing) leaving.abort();
    return held;
  }

  async #run({ processUuid }: EnhancementRow, job: EnhancementJob, signal: AbortSignal): Promise<void> {
    const leave = await this.#slots.acquire(signal);
    await job.run();
    leave();
    if (this.#held.get(processUuid)?.job === job) this.#held.delete(processUuid);
  }

  async #renewAgain(): Promise<number> {
    const { log } = this.#deps;
    try {
      if (this.#held.size > 0) await this.#renew([...this.#held.values()]);
      await this.takeUp();
    } catch (error) {
      log.warn({ err: error }, "enhancements could not be renewed; retrying");
    }
    return this.#held.size === 0 ? NODE_LEASE.idleMs : NODE_LEASE.renewMs;
  }

  async #renew(held: readonly Held[]): Promise<void> {
    const { sql } = this.#deps;
    const rows = held.map(({ row }) => row);
    const renewed = await renewEnhancements(sql, NODE_LEASE.leaseSeconds, rows);
    const owned = new Set(renewed.map(({ processUuid, fence }) => `${processUuid} ${fence}`));
    for (const { row, leaving } of held) if (!owned.has(`${row.processUuid} ${row.fence}`)) leaving.abort();
  }
}
