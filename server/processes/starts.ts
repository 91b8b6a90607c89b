/** First starts, from the wish to the first data: each is answered within its limit, whatever takes long. */
import type { Logger } from "pino";
import type { Config } from "../../schemas/config.ts";
import type { JsonRecord } from "../../schemas/json.ts";
import { withTimeout } from "../async/timing.ts";
import { ServiceError } from "../service-error.ts";
import type { Sql } from "../store/client.ts";
import { insertProcess, type ProcessRow } from "../store/processes.ts";
import { newUuid } from "../uuid.ts";
import type { PrepareOrder } from "./adoption.ts";
import type { FirstInput, ProcessOffers, ProcessParts } from "./process-parts.ts";
import type { StartedProcess, StartOrder } from "./processes.ts";
import { refuseLate, refuseStart } from "./refusals.ts";
import { StartLimit } from "./start-limit.ts";
import type { SupervisedProcess } from "./supervised-process.ts";

export interface StartNeeds {
  readonly sql: Sql;
  readonly config: Config;
  readonly log: Logger;
  readonly nodeUuid: string;
  prepare(order: PrepareOrder): Promise<ProcessOffers & { readonly params: JsonRecord }>;
  resolveInput(userUuid: string, sourceUuid: string): Promise<FirstInput>;
  /** Rejects when this user may start nothing. */
  expectStanding(user: StartOrder["user"]): Promise<void>;
  /** Throws when the server is being shut down. */
  expectOpen(): void;
  hold(parts: ProcessParts): SupervisedProcess;
  /** A start that came to nothing leaves nothing, as soon as the database lets it. */
  removeRow(uuid: string, fence: number): Promise<void>;
}

/** What is known of a process before there is one. */
interface Checked extends ProcessOffers {
  readonly input: FirstInput;
  readonly params: JsonRecord;
}

/** Of a process that was just written down. */
const FIRST_FENCE = 1;

export class Starts {
  readonly #needs: StartNeeds;
  /** What is left of starts that came to nothing. */
  readonly #remains = new Set<Promise<unknown>>();

  constructor(needs: StartNeeds) {
    this.#needs = needs;
  }

  async start(order: StartOrder): Promise<StartedProcess> {
    const { requestedMs = performance.now(), signal } = order;
    const limit = new StartLimit(requestedMs, this.#needs.config.runners.start_seconds * 1000, signal);
    try {
      return await this.#start(order, requestedMs, limit);
    } catch (error) {
      if (error !== limit.signal.reason) throw error;
      throw limit.isLate ? refuseLate(limit.limitMs) : refuseStart({ kind: "stopped" }, false);
    } finally {
      limit.close();
    }
  }

  /** Resolves when nothing is left of those that came to nothing. */
  async close(): Promise<void> {
    await Promise.all(this.#remains);
  }

  async #start(order: StartOrder, requestedMs: number, limit: StartLimit): Promise<StartedProcess> {
    const { input, offers, slots, alertNode = null, params } = await limit.race(this.#check(order));
    const row = await this.#insert(order, { input, params, alertNode }, limit);
    const checksMs = Math.round(performance.now() - requestedMs);
    const process = this.#needs.hold({
      ...{ row, input, offers, slots, alertNode, outputs: [], branches: [], hasRecording: order.user.hasRecording },
    });
    const { uuid, sourceUuid } = row;
    try {
      this.#needs.expectOpen();
      const { runnerMs, graphMs, sourceMs } = await process.start(limit);
      const times = { checks: checksMs, runner: runnerMs, graph: graphMs, source: sourceMs };
      return { uuid, sourceUuid, telemetry: input.telemetry, times };
    } catch (error) {
      process.abandon();
      await this.#remove(uuid, process.fence, limit);
      throw error;
    }
  }

  async #check({ user, sourceUuid, graph, graphText, params, signal }: StartOrder): Promise<Checked> {
    const { expectOpen, expectStanding, resolveInput, prepare } = this.#needs;
    expectOpen();
    await expectStanding(user);
    const input = await resolveInput(user.uuid, sourceUuid);
    const owner = { userUuid: user.uuid, ...(signal !== undefined && { signal }) };
    const prepared = await prepare({ graph, graphText: graphText ?? null, params, sourceUri: input.uri, ...owner });
    return { ...prepared, input };
  }

  async #insert(
    { user, sourceUuid, graph, graphText, forSeconds }: StartOrder,
    { input: { label, telemetry }, params, alertNode }: Pick<Checked, "input" | "params" | "alertNode">,
    limit: StartLimit,
  ): Promise<ProcessRow> {
    const { sql, nodeUuid, config } = this.#needs;
    const uuid = newUuid();
    const inserted = insertProcess(
      sql,
      {
        ...{ uuid, userUuid: user.uuid, sourceUuid, sourceUrl: label, graph, graphText: graphText ?? null, params },
        ...{ hasTrackLogger: user.hasTrackLogger, telemetryCfg: telemetry, nextTrackId: 1, nodeUuid },
        takesAlerts: alertNode !== null,
        endsAt: forSeconds === undefined ? null : new Date(Date.now() + forSeconds * 1000),
        leaseSeconds: config.node.lease_seconds,
      },
      user.limits.processes,
    );
    try {
      return await limit.race(inserted);
    } catch (error) {
      // It may be written down all the same: its commit is still to come, or was lost on its way back.
      if (!isRefusal(error)) await this.#remove(uuid, FIRST_FENCE, limit, inserted);
      throw error;
    }
  }

  /** Waits a little, so that another start usually finds its place free, and never longer than there is time. */
  async #remove(uuid: string, fence: number, limit: StartLimit, after: Promise<unknown> = Promise.resolve()) {
    const removed = after.catch(() => {}).then(() => this.#needs.removeRow(uuid, fence));
    this.#remains.add(removed);
    void removed.finally(() => this.#remains.delete(removed));
    await withTimeout(limit.answerMs, removed);
  }
}

const isRefusal = (error: unknown): boolean =>
  error instanceof ServiceError && error.code !== "database_unavailable" && error.code !== "internal_error";
