/**
 * The outbox: deliveries are stored in the transaction that creates them, and sent at least once, in order for each
 * destination, whatever is offline meanwhile. It claims destinations with due deliveries and sends each queue until it is
 * empty, an attempt fails, or others should get the slot. One timer for all: a destination that is offline costs a row in
 * the database, nothing more.
 */
import { setMaxListeners } from "node:events";
import type { Logger } from "pino";
import { BatchWriter, ListQueue } from "../async/batch-writer.ts";
import { Poller } from "../async/poller.ts";
import { backoff, withTimeout } from "../async/timing.ts";
import type { Queries, Sql } from "../store/client.ts";
import {
  amendDelivery,
  countDropped,
  type Delivery,
  insertDeliveries,
  type NewDelivery,
  type Receipt,
  readQueue,
  recordFailure,
  removeDelivered,
  stopDestination,
  type Trimmed,
  trimUsers,
} from "../store/deliveries.ts";
import {
  type ClaimedDestination,
  claimDestinations,
  type DeliveryStatus,
  type Destination,
  type FreeSlots,
  findNextWakeMs,
  freeLeases,
  readNumbers,
  releaseIdle,
  renewLeases,
  requeueDestination,
  TARGET_KINDS,
  type Target,
} from "../store/destinations.ts";
import {
  type Courier,
  type CourierOptions,
  type DeliveryFailure,
  type DeliveryLimits,
  LIMITS,
  type Sent,
} from "./courier.ts";
import { EmailCourier } from "./email-courier.ts";
import { MqttCourier } from "./mqtt-courier.ts";
import { WebhookCourier } from "./webhook-courier.ts";

export interface OutboxOptions extends Omit<CourierOptions, "limits"> {
  readonly sql: Sql;
  readonly log: Logger;
  readonly nodeUuid: string;
  /** No other node uses this database: leases in it are those of a server that has ended. */
  readonly isAlone: boolean;
  /** For tests. */
  readonly limits?: Partial<DeliveryLimits>;
}

/** Since this server started. */
interface DeliveryCounts {
  attempts: number;
  failures: number;
  delivered: number;
  dropped: number;
}

/** For /metrics, with the numbers of the database; null while that is unreachable. */
export interface DeliveryReading extends Readonly<DeliveryCounts> {
  readonly kind: Target["kind"];
  readonly waiting: number | null;
  readonly destinations: number | null;
  readonly failing: number | null;
}

/** The status of a destination as the API shows it; undefined: it was removed. */
export const describeStatus = (status: DeliveryStatus | undefined) => ({
  waiting: status?.waiting ?? 0,
  delivered: status?.delivered ?? 0,
  dropped: status?.dropped ?? 0,
  last_attempt_at: status?.lastAttemptAt?.toISOString() ?? null,
  last_delivered_at: status?.lastDeliveredAt?.toISOString() ?? null,
  last_error: status?.lastError ?? null,
});

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
/** How long a mail is retried: as long as mail servers do (RFC 5321, 4.5.4.1). */
const MAIL_SECONDS = 4 * 86_400;
const RECEIPT_RETRY = { firstMs: 50, maxMs: 2_000 };

/** An error of the service, which is not blamed on the receiver. */
const INTERNAL_FAILURE: DeliveryFailure = { reason: "internal error of the service; see its log" };

const noCounts = (): DeliveryCounts => ({ attempts: 0, failures: 0, delivered: 0, dropped: 0 });

/** Every send in progress listens; their number is limited. */
function sharedAbort(): AbortController {
  const abort = new AbortController();
  setMaxListeners(0, abort.signal);
  return abort;
}

export class Outbox {
  readonly #options: OutboxOptions;
  readonly #limits: DeliveryLimits;
  readonly #couriers: Readonly<Record<Target["kind"], Courier>>;
  readonly #counts: Readonly<Record<Target["kind"], DeliveryCounts>> = {
    ...{ mqtt: noCounts(), webhook: noCounts(), email: noCounts() },
  };
  readonly #leaseMs: number;
  readonly #sends = new Map<string, { readonly destination: ClaimedDestination; readonly done: Promise<void> }>();
  readonly #receipts = new ListQueue<Receipt>();
  readonly #receiptWriter: BatchWriter<Receipt>;
  readonly #renewing = new Poller(() => this.#renew());
  readonly #trimming = new Poller(() => this.#trimUsers());
  readonly #closing = sharedAbort();
  /** The users of all running calls of `attempt`. */
  readonly #attempts: string[] = [];
  /** Aborted when another node may have claimed our destinations. */
  #holding = sharedAbort();
  #leaseTimer: NodeJS.Timeout | undefined;
  #timer: NodeJS.Timeout | undefined;
  #claiming: Promise<void> | null = null;
  /** Woken while claiming, which may have missed new deliveries. */
  #isWoken = false;
  /** Deliveries were stored since the queues were last trimmed; at first, by an earlier server. */
  #hasNew = true;
  #isClosed = false;

  private constructor(options: OutboxOptions) {
    const { sql, log } = options;
    const limits = { ...LIMITS, ...options.limits };
    this.#options = options;
    this.#limits = limits;
    this.#couriers = {
      mqtt: new MqttCourier({ ...options, limits }),
      webhook: new WebhookCourier({ ...options, limits }),
      email: new EmailCourier({ ...options, limits }),
    };
    this.#leaseMs = limits.leaseSeconds * 1000;
    this.#receiptWriter = new BatchWriter<Receipt>({
      ...{ queue: this.#receipts, retry: RECEIPT_RETRY },
      write: (receipts) => removeDelivered(sql, receipts),
      onRetry: (error) => log.warn({ err: error }, "receipts not written; retrying"),
      onRejected: (receipt, error) => log.error({ ...receipt, err: error }, "receipt not written"),
    });
    this.#trimming.start(limits.lookMs);
    this.#renewing.start(this.#leaseMs / 4);
    this.#claimAfter(0, true);
  }

  static async open(options: OutboxOptions): Promise<Outbox> {
    if (options.isAlone) await freeLeases(options.sql, null);
    return new Outbox(options);
  }

  /** Stores them in this order. Queues that are too long lose their oldest, counted. Call `wake` after the transaction. */
  async enqueue(sql: Queries, deliveries: readonly NewDelivery[]): Promise<void> {
    this.#hasNew = true;
    const large = deliveries.filter((delivery) => this.#isTooLarge(delivery));
    const fitting = deliveries.filter((delivery) => !large.includes(delivery));
    this.#noteTrimmed(await insertDeliveries(sql, fitting, this.#options.config.delivery.queued));
    if (large.length === 0) return;
    const fields = { deliveries: large.map(({ id }) => id).slice(0, 10) };
    this.#options.log.error(fields, "deliveries dropped: body too large");
    const destinations = large.map(({ destinationUuid }) => destinationUuid);
    await countDropped(sql, destinations);
  }

  /** Replaces body and time of one that is not being sent. False: it is, or is gone, or the new body is too large. */
  async amend(sql: Queries, delivery: NewDelivery): Promise<boolean> {
    this.#hasNew = true;
    return !this.#isTooLarge(delivery) && amendDelivery(sql, delivery);
  }

  /** Something is due: claims destinations soon. */
  wake(): void {
    // Trimming between `enqueue` and the end of its transaction has not seen these deliveries.
    this.#hasNew = true;
    if (this.#claiming === null) this.#claimAfter(GAP_MS, true);
    else this.#isWoken = true;
  }

  /** Sends it once and now, without the queue. Stores nothing, and never rejects. `detail`: for the user, without secrets. */
  async attempt(
    { userUuid, target }: Destination,
    sent: Sent,
  ): Promise<{ readonly delivered: boolean; readonly detail: string }> {
    const own = this.#attempts.filter((uuid) => uuid === userUuid).length;
    const others = this.#attempts.length - own;
    // As with the queues: half of what others leave free.
    if (own >= (this.#options.config.delivery.at_once - others) / 2)
      return { delivered: false, detail: "too many receivers are being tested; try again in a moment" };
    this.#attempts.push(userUuid);
    try {
      const options = {
        userUuid,
        signal: this.#closing.signal,
        isCareful: false,
        isOver: () => false,
        onDelivered() {},
      };
      const failure = await this.#couriers[target.kind].send(target, [sent], options);
      return { delivered: failure === null, detail: failure?.reason ?? "it was delivered" };
    } catch (error) {
      this.#options.log.error({ err: error }, "courier failed");
      return { delivered: false, detail: INTERNAL_FAILURE.reason };
    } finally {
      this.#attempts.splice(this.#attempts.indexOf(userUuid), 1);
    }
  }

  /** Never rejects. */
  async read(): Promise<readonly DeliveryReading[]> {
    const known = await readNumbers(this.#options.sql).catch(() => null);
    return TARGET_KINDS.map((kind) => {
      const none = known === null ? null : 0;
      const numbers = known?.find((each) => each.kind === kind);
      const { waiting, destinations, failing } = numbers ?? { waiting: none, destinations: none, failing: none };
      return { ...this.#counts[kind], kind, waiting, destinations, failing };
    });
  }

  /** Sends nothing after this resolves. What is not delivered stays in the database, for other nodes and the next server. */
  async close(): Promise<void> {
    const { sql, nodeUuid, log } = this.#options;
    await this.#trimming.close();
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
    this.#closing.abort();
    for (const courier of Object.values(this.#couriers)) courier.close();
  }

  /** `isExpected`: something is due, as far as known; otherwise one query finds out. */
  #claimAfter(ms: number, isExpected: boolean): void {
    if (this.#isClosed) return;
    clearTimeout(this.#timer);
    this.#timer = setTimeout(() => {
      this.#isWoken = false;
      this.#claiming = this.#claim(isExpected).then((nextMs) => {
        this.#claiming = null;
        this.#claimAfter(this.#isWoken ? GAP_MS : nextMs, this.#isWoken || nextMs < this.#limits.lookMs);
      });
    }, ms);
  }

  /** Resolves with the milliseconds until the next claim; never rejects. */
  async #claim(isExpected: boolean): Promise<number> {
    const { sql, nodeUuid, log } = this.#options;
    const { leaseSeconds, lookMs: latestMs } = this.#limits;
    const slots = {
      mqtt: this.#countSlots("mqtt"),
      webhook: this.#countSlots("webhook"),
      email: this.#countSlots("email"),
    };
    // The end of a send wakes.
    if (Object.values(slots).every(({ healthy, failing }) => healthy + failing === 0)) return latestMs;
    try {
      if (!isExpected) {
        const nextMs = (await findNextWakeMs(sql)) ?? latestMs;
        if (nextMs > 0) return Math.min(latestMs, nextMs + 1);
      }
      const askedMs = performance.now();
      const claimed = await claimDestinations(sql, { nodeUuid, leaseSeconds }, slots);
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
    const { at_once } = this.#options.config.delivery;
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
      .catch((error: unknown) => this.#options.log.warn({ destination: uuid, err: error }, "delivery aborted"))
      .finally(() => {
        this.#sends.delete(uuid);
        this.wake();
      });
    this.#sends.set(uuid, { destination, done });
  }

  /** Rejects when the database does; then the destination is free again when its lease expires. */
  async #send(destination: ClaimedDestination, signal: AbortSignal): Promise<void> {
    const { sql, nodeUuid, log } = this.#options;
    const { uuid, userUuid, target } = destination;
    const courier = this.#couriers[target.kind];
    const counts = this.#counts[target.kind];
    const untilMs = performance.now() + SLOT_MS;
    const isOver = () => this.#isClosed || performance.now() > untilMs;
    const { batchSize: count, batchBytes: bytes = BATCH_BYTES, isCombining: isCombined = false } = courier;
    let { failures } = destination;
    // What an earlier send delivered must not be read again.
    await this.#receiptWriter.written();
    while (!signal.aborted) {
      const claimed = { uuid, nodeUuid, target };
      const queue = await readQueue(sql, claimed, { count, bytes, isCombined });
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
        this.#receipts.items.push({ destinationUuid: uuid, seq });
        this.#receiptWriter.wake();
        arrived += 1;
      };
      const failure = await courier
        .send(target, deliveries, { userUuid, signal, isOver, isCareful: failures > 0, onDelivered })
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
    const { sql, log, nodeUuid } = this.#options;
    const config = this.#options.config.delivery;
    const { reason, isFinal = false, isRejected = false, retryMs: askedMs = 0 } = failure;
    const { destinationUuid, seq } = failed;
    const fields = { destination: destinationUuid, kind, reason };
    const counts = this.#counts[kind];
    counts.attempts += 1;
    counts.failures += 1;
    if (isFinal) {
      log.warn(fields, "destination stopped: the receiver wants no more deliveries");
      return stopDestination(sql, destinationUuid, reason);
    }
    const rule = { firstMs: this.#limits.retryFirstMs, maxMs: config.retry_most_seconds * 1000 };
    const isDropped = await recordFailure(sql, {
      ...{ destinationUuid, nodeUuid, seq, reason },
      retryMs: Math.max(askedMs, backoff(failures + 1, rule)),
      giveUpSeconds: isRejected ? 0 : kind === "mqtt" ? null : kind === "email" ? MAIL_SECONDS : config.webhook_seconds,
    });
    if (isDropped) counts.dropped += 1;
    if (isDropped)
      log.warn(
        { ...fields, delivery: failed.id },
        isRejected ? "delivery dropped: the receiver rejects it" : "delivery dropped: its attempts failed for too long",
      );
    // Once: the failures that follow have the same reason.
    else if (failures === 0) log.warn(fields, "delivery failed; retrying");
  }

  async #renew(): Promise<number> {
    const { sql, nodeUuid, log } = this.#options;
    const { leaseSeconds } = this.#limits;
    const askedMs = performance.now();
    try {
      await renewLeases(sql, { nodeUuid, leaseSeconds }, [...this.#sends.keys()]);
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
      if (this.#sends.size > 0)
        this.#options.log.warn("leases expired without an answer of the database; sends aborted");
      this.#holding.abort();
      this.#holding = sharedAbort();
      this.#extendLease(performance.now());
    }, leftMs);
  }

  async #trimUsers(): Promise<number> {
    const { sql, config, log } = this.#options;
    const { queued_per_key: count, queued_bytes_per_key: bytes } = config.delivery;
    const { bodyBytes, lookMs } = this.#limits;
    if (!this.#hasNew) return lookMs;
    this.#hasNew = false;
    try {
      this.#noteTrimmed(await trimUsers(sql, { count, bytes, bodyBytes }));
    } catch (error) {
      this.#hasNew = true;
      log.warn({ err: error }, "queues of users not trimmed; retrying");
    }
    return lookMs;
  }

  #noteTrimmed(trimmed: readonly Trimmed[]): void {
    for (const { uuid, kind, dropped } of trimmed) {
      this.#counts[kind].dropped += dropped;
      this.#options.log.warn({ destination: uuid, kind, dropped }, "oldest deliveries dropped: queue full");
    }
  }

  #isTooLarge({ body }: Pick<Delivery, "body">): boolean {
    const { bodyBytes } = this.#limits;
    return body.length > bodyBytes || Buffer.byteLength(body) > bodyBytes;
  }
}
