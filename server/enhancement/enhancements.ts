/** Reports that are being enhanced on this machine: so many at once, the others wait. What it claimed it renews. */
import type { Logger } from "pino";
import type { Config } from "../../schemas/config.ts";
import { Poller } from "../async/poller.ts";
import { Semaphore } from "../async/semaphore.ts";
import type { Confinement } from "../confinement/confinement.ts";
import { findLimit } from "../processes/usage.ts";
import { ServiceError } from "../service-error.ts";
import type { Sql } from "../store/client.ts";
import {
  claimEnhancements,
  type EnhancementRow,
  insertEnhancement,
  releaseEnhancement,
  renewEnhancements,
} from "../store/enhancements.ts";
import { readStandings } from "../store/standing.ts";
import type { User } from "../user.ts";
import { EnhancementJob } from "./enhancement-job.ts";

export interface EnhancementNeeds {
  readonly sql: Sql;
  readonly config: Pick<Config, "enhancement" | "node">;
  readonly log: Logger;
  readonly nodeUuid: string;
  /** Nobody else can be there. */
  readonly isAlone: boolean;
  /** The program of the child. */
  readonly entry: URL;
  readonly confinement: Confinement;
}

interface Held {
  readonly row: EnhancementRow;
  readonly job: EnhancementJob;
  readonly leaving: AbortController;
  readonly done: Promise<void>;
}

export class Enhancements {
  readonly #needs: EnhancementNeeds;
  readonly #slots: Semaphore;
  readonly #held = new Map<string, Held>();
  readonly #renewing = new Poller(() => this.#renewAgain());
  #isClosing = false;

  constructor(needs: EnhancementNeeds) {
    this.#needs = needs;
    this.#slots = new Semaphore(needs.config.enhancement.at_once);
    this.#renewing.start(needs.config.node.renew_seconds * 1000);
  }

  /**
   * One that is under way goes on, and one that has ended begins again. Resolves when it is under way, or waits for its
   * turn; rejects with `ServiceError`.
   */
  async start(user: User, processUuid: string): Promise<void> {
    const { sql, nodeUuid, config } = this.#needs;
    this.#expectOpen();
    await expectMinutes(sql, user);
    const { row, isNew } = await insertEnhancement(sql, {
      ...{ processUuid, userUuid: user.uuid, nodeUuid, leaseSeconds: config.node.lease_seconds },
      limit: user.limits.processes,
    });
    if (!isNew) return;
    const isTurn = this.#held.size < config.enhancement.at_once;
    const { job } = this.#hold(row, isTurn);
    const fault = isTurn ? await job.started : null;
    if (fault !== null) throw new ServiceError("enhancement_failed", { detail: `${fault}; try again in a moment` });
  }

  /** What was under way when the server stopped, or another machine died, goes on. Says how many. */
  async takeUp(): Promise<number> {
    const { sql, nodeUuid, config, isAlone } = this.#needs;
    const most = config.enhancement.at_once - this.#held.size;
    if (this.#isClosing || most <= 0) return 0;
    const rows = await claimEnhancements(sql, nodeUuid, config.node.lease_seconds, { isAlone, most });
    for (const row of rows) this.#hold(row, false);
    return rows.length;
  }

  /** Of the child that works on it, for tests. */
  pidOf(processUuid: string): number | undefined {
    return this.#held.get(processUuid)?.job.pid;
  }

  /** Resolves when no child is left, and the next server may go on. */
  async close(): Promise<void> {
    this.#isClosing = true;
    await this.#renewing.close();
    const held = [...this.#held.values()];
    for (const { leaving } of held) leaving.abort();
    await Promise.all(held.map(({ done }) => done));
    await Promise.allSettled(held.map(({ row }) => releaseEnhancement(this.#needs.sql, row)));
  }

  #hold(row: EnhancementRow, isAwaited: boolean): Held {
    const { sql, config, log, entry, confinement } = this.#needs;
    const leaving = new AbortController();
    const job = new EnhancementJob(
      { sql, log, entry, confinement, config: config.enhancement },
      {
        ...{ row, isAwaited },
        signal: leaving.signal,
      },
    );
    // One that was lost and claimed again has to end first: two children would do the same work.
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
    const { log, config } = this.#needs;
    try {
      await this.#renew();
      await this.takeUp();
    } catch (error) {
      log.warn({ err: error }, "enhancements could not be renewed; it is tried again");
    }
    return config.node.renew_seconds * 1000;
  }

  async #renew(): Promise<void> {
    const { sql, config } = this.#needs;
    const held = [...this.#held.values()];
    if (held.length === 0) return;
    const rows = held.map(({ row }) => row);
    const renewed = await renewEnhancements(sql, config.node.lease_seconds, rows);
    const ours = new Set(renewed.map(({ processUuid, fence }) => `${processUuid} ${fence}`));
    for (const { row, leaving } of held) if (!ours.has(`${row.processUuid} ${row.fence}`)) leaving.abort();
  }

  #expectOpen(): void {
    if (this.#isClosing)
      throw new ServiceError("shutting_down", { detail: "the service is being shut down; try again in a moment" });
  }
}

async function expectMinutes(sql: Sql, user: User): Promise<void> {
  const [standing] = await readStandings(sql, [user.uuid]);
  const error = standing === undefined ? null : findLimit(standing);
  if (error?.code === "usage_limit_reached")
    throw new ServiceError("usage_limit_reached", { detail: `${error.detail}; GET /user_info tells how many it had` });
}
