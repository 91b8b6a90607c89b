/**
 * Claims destinations with due deliveries and sends each queue in order, until it is empty, an attempt fails, or others
 * should get the slot. One timer for all: a destination that is offline costs a row in the database, nothing more.
 */
import type { Logger } from "pino";
import type { Config } from "../../schemas/config.ts";
import { type BatchQueue, BatchWriter } from "../async/batch-writer.ts";
import { Poller } from "../async/poller.ts";
import { backoff, withTimeout } from "../async/timing.ts";
import type { Sql } from "../store/client.ts";
import {
  type Delivery,
  type Receipt,
  readQueue,
  recordFailure,
  removeDelivered,
  stopDestination,
} from "../store/deliveries.ts";
import {
  type ClaimedDestination,
  claimDestinations,
  type FreeSlots,
  findNextWakeMs,
  freeLeases,
  releaseIdle,
  renewLeases,
  requeueDestination,
  type Target,
} from "../store/destinations.ts";
import type { Courier, DeliveryFailure, DeliveryLimits } from "./courier.ts";

export interface DispatcherDeps {
  readonly sql: Sql;
  readonly config: Config["delivery"];
  readonly limits: DeliveryLimits;
  readonly log: Logger;
  readonly nodeUuid: string;
  readonly couriers: Readonly<Record<Target["kind"], Courier>>;
}

/** Since this server started. */
export interface DeliveryCounts {
  attempts: number;
  failures: number;
  delivered: number;
  dropped: number;
}

/** Between two claims, however often it is woken. */
const GAP_MS = 5;
/** The share of slots for destinations whose last attempt succeeded. The others cannot take these. */
const HEALTHY_SHARE = 3 / 4;
/** What is in memory of one queue. */
const BATCH_BYTES = 1_048_576;
/** Then other destinations get the slot, if any wait. */
const SLOT_MS = 1_000;
/** At shutdown, for what is being sent. */
const GRACE_MS = 1_500;
/** For the last write to the database. */
const CLOSE_MS = 3_000;
const RECEIPT_RETRY = { firstMs: 50, maxMs: 2_000 };

/** An error of the service, which is not blamed on the receiver. */
export const INTERNAL_FAILURE: DeliveryFailure = { reason: "internal error of the service; see its log" };

const noCounts = (): DeliveryCounts => ({ attempts: 0, failures: 0, delivered: 0, dropped: 0 });

export class Dispatcher {
  readonly counts: Readonly<Record<Target["kind"], DeliveryCounts>> = { mqtt: noCounts(), webhook: noCounts() };
  readonly #deps: DispatcherDeps;
  readonly #leaseMs: number;
  readonly #sends = new Map<string, { readonly destination: ClaimedDestination; readonly done: Promise<void> }>();
  readonly #receipts = new ReceiptQueue();
  readonly #receiptWriter: BatchWriter<Receipt>;
  readonly #renewing = new Poller(() => this.#renew());
  /** Aborted when another node may have claimed our destinations. */
  #holding = new AbortController();
  #leaseTimer: NodeJS.Timeout | undefined;
  #timer: NodeJS.Timeout | undefined;
  #claiming: Promise<void> | null = null;
  /** Woken while claiming, which may have missed new deliveries. */
  #isWoken = false;
  #isClosed = false;

  constructor(deps: DispatcherDeps) {
    const { sql, log, limits } = deps;
    this.#deps = deps;
    this.#leaseMs = limits.leaseSeconds * 1000;
    this.#receiptWriter = new BatchWriter<Receipt>({
      ...{ queue: this.#receipts, retry: RECEIPT_RETRY },
      write: (receipts) => removeDelivered(sql, receipts),
      onRetry: (error) => log.warn({ err: error }, "receipts not written; retrying"),
      onRejected: (receipt, error) => log.error({ ...receipt, err: error }, "receipt not written"),
    });
    this.#renewing.start(this.#leaseMs / 4);
    this.#claimAfter(0);
  }

  wake(): void {
    if (this.#claiming === null) this.#claimAfter(GAP_MS);
    else this.#isWoken = true;
  }

  /** Sends nothing after this resolves, and other nodes can claim the destinations. */
  async close(): Promise<void> {
    const { sql, nodeUuid, log } = this.#deps;
    this.#isClosed = true;
    clearTimeout(this.#timer);
    await this.#claiming;
    const sends = Promise.allSettled([...this.#sends.values()].map(({ done }) => done));
    await withTimeout(GRACE_MS, sends);
    this.#holding.abort();
    await withTimeout(GRACE_MS, sends);
    await this.#renewing.close();
    clearTimeout(this.#leaseTimer);
    // What is not written now will be sent again, with the same id.
    await withTimeout(CLOSE_MS, this.#receiptWriter.close());
    const freed = freeLeases(sql, nodeUuid).catch((error: unknown) =>
      log.warn({ err: error }, "destinations not released; other nodes wait for the lease to expire"),
    );
    await withTimeout(CLOSE_MS, freed);
  }

  #claimAfter(ms: number): void {
    if (this.#isClosed) return;
    clearTimeout(this.#timer);
    this.#timer = setTimeout(() => {
      this.#isWoken = false;
      this.#claiming = this.#claim().then((nextMs) => {
        this.#claiming = null;
        this.#claimAfter(this.#isWoken ? GAP_MS : nextMs);
      });
    }, ms);
  }

  /** Resolves with the milliseconds until the next claim; never rejects. */
  async #claim(): Promise<number> {
    const { sql, limits, nodeUuid, log } = this.#deps;
    const latestMs = limits.lookMs;
    const slots = { mqtt: this.#countSlots("mqtt"), webhook: this.#countSlots("webhook") };
    // The end of a send wakes.
    if (Object.values(slots).every(({ healthy, failing }) => healthy + failing === 0)) return latestMs;
    try {
      const askedMs = performance.now();
      const claimed = await claimDestinations(sql, { nodeUuid, leaseSeconds: limits.leaseSeconds }, slots);
      if (claimed.length > 0 && this.#sends.size === 0) this.#extendLease(askedMs);
      for (const destination of claimed) this.#startSend(destination);
      if (claimed.length > 0) return GAP_MS;
      const nextMs = (await findNextWakeMs(sql)) ?? latestMs;
      // Due and not claimed: no slot is free, or the row is locked.
      return nextMs <= 0 ? Math.min(latestMs, 20 * GAP_MS) : Math.min(latestMs, nextMs + 1);
    } catch (error) {
      log.warn({ err: error }, "due deliveries not read; retrying");
      return latestMs;
    }
  }

  #countSlots(kind: Target["kind"]): FreeSlots {
    const { at_once } = this.#deps.config;
    const healthy = Math.max(1, Math.floor(at_once * HEALTHY_SHARE));
    const used = [...this.#sends.values()].filter(({ destination }) => destination.target.kind === kind);
    const failing = used.filter(({ destination }) => destination.failures > 0).length;
    return {
      healthy: Math.max(0, healthy - (used.length - failing)),
      failing: Math.max(0, at_once - healthy - failing),
    };
  }

  #startSend(destination: ClaimedDestination): void {
    const { uuid } = destination;
    const done = this.#send(destination, this.#holding.signal)
      .catch((error: unknown) => this.#deps.log.warn({ destination: uuid, err: error }, "delivery aborted"))
      .finally(() => {
        this.#sends.delete(uuid);
        this.wake();
      });
    this.#sends.set(uuid, { destination, done });
  }

  /** Rejects when the database does; then the destination is free again when its lease expires. */
  async #send(destination: ClaimedDestination, signal: AbortSignal): Promise<void> {
    const { sql, nodeUuid, couriers, log } = this.#deps;
    const { uuid, target } = destination;
    const courier = couriers[target.kind];
    const counts = this.counts[target.kind];
    const untilMs = performance.now() + SLOT_MS;
    const isOver = () => this.#isClosed || performance.now() > untilMs;
    let { failures } = destination;
    // What an earlier send delivered must not be read again.
    await this.#receiptWriter.written();
    while (!signal.aborted) {
      const claimed = { uuid, nodeUuid, target };
      const queue = await readQueue(sql, claimed, { count: courier.batchSize, bytes: BATCH_BYTES });
      if (queue === null) return;
      const { deliveries, isChanged, ...state } = queue;
      // To be claimed with its new target.
      if (isChanged) return requeueDestination(sql, uuid, nodeUuid);
      if (deliveries.length === 0) {
        if (await releaseIdle(sql, { ...claimed, ...state })) return;
        continue;
      }
      let arrived = 0;
      const onDelivered = (): void => {
        const { seq = 0 } = deliveries[arrived] ?? {};
        this.#receipts.add({ destinationUuid: uuid, seq });
        this.#receiptWriter.wake();
        arrived += 1;
      };
      const failure = await courier
        .send(target, deliveries, { signal, isOver, isCareful: failures > 0, onDelivered })
        .catch((error: unknown) => {
          log.error({ destination: uuid, kind: target.kind, err: error }, "courier failed");
          return INTERNAL_FAILURE;
        });
      if (arrived > 0) failures = 0;
      counts.attempts += arrived;
      counts.delivered += arrived;
      await this.#receiptWriter.written();
      const failed = deliveries[arrived];
      if (failure !== null && failed !== undefined) {
        if (!signal.aborted) await this.#fail(target.kind, failed, failure, failures);
        return;
      }
      if (isOver()) return requeueDestination(sql, uuid, nodeUuid);
    }
  }

  /** `failures`: those before, in a row. */
  async #fail(kind: Target["kind"], failed: Delivery, failure: DeliveryFailure, failures: number): Promise<void> {
    const { sql, config, limits, log, nodeUuid } = this.#deps;
    const { reason, isFinal = false, retryMs: askedMs = 0 } = failure;
    const { destinationUuid, seq } = failed;
    const fields = { destination: destinationUuid, kind, reason };
    const counts = this.counts[kind];
    counts.attempts += 1;
    counts.failures += 1;
    if (isFinal) {
      log.warn(fields, "destination stopped: the receiver wants no more deliveries");
      return stopDestination(sql, destinationUuid, reason);
    }
    const rule = { firstMs: limits.retryFirstMs, maxMs: config.retry_most_seconds * 1000 };
    const isDropped = await recordFailure(sql, {
      ...{ destinationUuid, nodeUuid, seq, reason },
      retryMs: Math.max(askedMs, backoff(failures + 1, rule)),
      giveUpSeconds: kind === "webhook" ? config.webhook_seconds : null,
    });
    if (isDropped) counts.dropped += 1;
    if (isDropped) log.warn({ ...fields, delivery: failed.id }, "delivery dropped: its attempts failed for too long");
    // Once: the failures that follow have the same reason.
    else if (failures === 0) log.warn(fields, "delivery failed; retrying");
  }

  async #renew(): Promise<number> {
    const { sql, limits, nodeUuid, log } = this.#deps;
    const askedMs = performance.now();
    try {
      await renewLeases(sql, { nodeUuid, leaseSeconds: limits.leaseSeconds }, [...this.#sends.keys()]);
      this.#extendLease(askedMs);
    } catch (error) {
      log.warn({ err: error }, "leases of destinations not renewed; retrying");
    }
    return this.#leaseMs / 4;
  }

  /** Sends are aborted unless this is called again within the lease. `askedMs`: before the database extended it. */
  #extendLease(askedMs: number): void {
    clearTimeout(this.#leaseTimer);
    const leftMs = Math.max(0, askedMs + this.#leaseMs - performance.now());
    this.#leaseTimer = setTimeout(() => {
      if (this.#sends.size > 0) this.#deps.log.warn("leases expired without an answer of the database; sends aborted");
      this.#holding.abort();
      this.#holding = new AbortController();
      this.#extendLease(performance.now());
    }, leftMs);
  }
}

/** Bounded by the slots and their batches. */
class ReceiptQueue implements BatchQueue<Receipt> {
  #receipts: Receipt[] = [];

  get isEmpty(): boolean {
    return this.#receipts.length === 0;
  }

  add(receipt: Receipt): void {
    this.#receipts.push(receipt);
  }

  take(): readonly Receipt[] {
    const taken = this.#receipts;
    this.#receipts = [];
    return taken;
  }

  putBack(receipts: readonly Receipt[]): void {
    this.#receipts = [...receipts, ...this.#receipts];
  }
}
