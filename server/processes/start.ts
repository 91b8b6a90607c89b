/** First starts, from the request to the first frame: each gets its response within the time limit, whatever is slow. */
import type { JsonRecord } from "../../schemas/json.ts";
import { withTimeout } from "../async/timing.ts";
import { ServiceError } from "../service-error.ts";
import { insertProcess, type ProcessRow } from "../store/processes.ts";
import { newUuid } from "../uuid.ts";
import type { Claims } from "./claims.ts";
import { shuttingDown, startFailed, tooBusy } from "./errors.ts";
import { StartLimit } from "./launch.ts";
import type { ProcessDeps } from "./process.ts";
import type { FirstInput, ProcessOffers, StartedProcess, StartOrder } from "./processes.ts";
import type { ProcessRegistry } from "./registry.ts";
import { expectMinutes } from "./usage.ts";

interface CheckedOrder extends ProcessOffers {
  readonly input: FirstInput;
  readonly params: JsonRecord;
}

/** Of a new row. */
const FIRST_FENCE = 1;

export class Starter {
  readonly #deps: ProcessDeps;
  readonly #registry: ProcessRegistry;
  readonly #claims: Claims;
  /** Rows of failed starts that are being deleted. */
  readonly #removals = new Set<Promise<unknown>>();
  #isClosing = false;

  constructor(deps: ProcessDeps, registry: ProcessRegistry, claims: Claims) {
    this.#deps = deps;
    this.#registry = registry;
    this.#claims = claims;
  }

  async start(order: StartOrder): Promise<StartedProcess> {
    const { requestedMs = performance.now(), signal } = order;
    const limit = new StartLimit(requestedMs, this.#deps.config.runners.start_seconds * 1000, signal);
    try {
      return await this.#start(order, requestedMs, limit);
    } catch (error) {
      if (error !== limit.signal.reason) throw error;
      throw limit.isLate ? tooBusy(limit.limitMs) : startFailed({ kind: "stopped" }, false);
    } finally {
      limit.close();
    }
  }

  /** New starts are rejected. */
  refuse(): void {
    this.#isClosing = true;
  }

  /** Resolves when failed starts have left no row. */
  async close(): Promise<void> {
    await Promise.all(this.#removals);
  }

  async #start(order: StartOrder, requestedMs: number, limit: StartLimit): Promise<StartedProcess> {
    const checked = await limit.race(this.#check(order));
    const row = await this.#insert(order, checked, limit);
    const checksMs = Math.round(performance.now() - requestedMs);
    const { input } = checked;
    const process = this.#registry.hold({
      ...{ ...checked, row, outputs: [], branches: [], hasRecording: order.user.hasRecording },
    });
    try {
      if (this.#isClosing) throw shuttingDown();
      const times = { checks: checksMs, ...(await process.start(limit)) };
      return { uuid: row.uuid, sourceUuid: row.sourceUuid, telemetry: input.telemetry, times };
    } catch (error) {
      process.abandon();
      await this.#remove(row.uuid, row.fence, limit);
      throw error;
    }
  }

  async #check({ user, sourceUuid, graph, graphText, params, signal }: StartOrder): Promise<CheckedOrder> {
    if (this.#isClosing) throw shuttingDown();
    await expectMinutes(this.#deps.sql, user.uuid);
    const input = await this.#deps.resolveInput(user.uuid, sourceUuid);
    const owner = { userUuid: user.uuid, ...(signal !== undefined && { signal }) };
    const prepared = await this.#deps.prepare({
      ...{ graph, graphText: graphText ?? null, params, sourceUri: input.uri, sourceLoops: input.loops ?? false },
      ...owner,
    });
    return { ...prepared, input };
  }

  async #insert(order: StartOrder, checked: CheckedOrder, limit: StartLimit): Promise<ProcessRow> {
    const { sql, nodeUuid, limits } = this.#deps;
    const { user, sourceUuid, graph, graphText = null, forSeconds } = order;
    const { input, params, alertNode = null } = checked;
    const uuid = newUuid();
    const inserted = insertProcess(
      sql,
      {
        ...{ uuid, userUuid: user.uuid, sourceUuid, sourceUrl: input.label, graph, graphText, params },
        ...{ hasTrackLogger: user.hasTrackLogger, telemetryCfg: input.telemetry, nextTrackId: 1, nodeUuid },
        takesAlerts: alertNode !== null,
        endsAt: forSeconds === undefined ? null : new Date(Date.now() + forSeconds * 1000),
        leaseSeconds: limits.leaseSeconds,
      },
      user.limits.processes,
    );
    try {
      return await limit.race(inserted);
    } catch (error) {
      // It may be stored all the same: its commit may be pending, or only the response was lost.
      if (!isRejection(error)) await this.#remove(uuid, FIRST_FENCE, limit, inserted);
      throw error;
    }
  }

  /** Waits for it, within the time limit, so that another start usually finds the process limit free. */
  async #remove(uuid: string, fence: number, limit: StartLimit, after: Promise<unknown> = Promise.resolve()) {
    const removed = after.catch(() => {}).then(() => this.#claims.removeFailedStart(uuid, fence));
    this.#removals.add(removed);
    void removed.finally(() => this.#removals.delete(removed));
    await withTimeout(limit.responseMs, removed);
  }
}

const isRejection = (error: unknown): boolean =>
  error instanceof ServiceError && error.code !== "database_unavailable" && error.code !== "internal_error";
