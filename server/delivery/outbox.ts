/**
 * The outbox: deliveries are stored in the transaction that creates them, and sent at least once, in order for each
 * destination, whatever is offline meanwhile.
 */
import { Poller } from "../async/poller.ts";
import type { Queries } from "../store/client.ts";
import {
  amendDelivery,
  countDropped,
  type Delivery,
  insertDeliveries,
  type NewDelivery,
  type Trimmed,
  trimUsers,
} from "../store/deliveries.ts";
import { type DeliveryStatus, type Destination, freeLeases, readNumbers, type Target } from "../store/destinations.ts";
import { type Courier, type CourierOptions, type DeliveryLimits, LIMITS } from "./courier.ts";
import { type DeliveryCounts, Dispatcher, type DispatcherDeps, INTERNAL_FAILURE } from "./dispatcher.ts";
import { MqttCourier } from "./mqtt-courier.ts";
import { WebhookCourier } from "./webhook-courier.ts";

export interface OutboxOptions
  extends Omit<CourierOptions, "limits">,
    Omit<DispatcherDeps, "couriers" | "config" | "limits"> {
  /** No other node uses this database: leases in it are those of a server that has ended. */
  readonly isAlone: boolean;
  /** For tests. */
  readonly limits?: Partial<DeliveryLimits>;
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

export class Outbox {
  readonly #options: OutboxOptions;
  readonly #limits: DeliveryLimits;
  readonly #couriers: Readonly<Record<Target["kind"], Courier>>;
  readonly #dispatcher: Dispatcher;
  readonly #trimming = new Poller(() => this.#trimUsers());
  readonly #closing = new AbortController();
  /** How many calls of `attempt` are running, by user. */
  readonly #attempts = new Map<string, number>();

  private constructor(options: OutboxOptions) {
    const { sql, config, log, nodeUuid } = options;
    const limits = { ...LIMITS, ...options.limits };
    this.#options = options;
    this.#limits = limits;
    this.#couriers = {
      mqtt: new MqttCourier({ ...options, limits }),
      webhook: new WebhookCourier({ ...options, limits }),
    };
    this.#dispatcher = new Dispatcher({
      ...{ sql, config: config.delivery, limits, log, nodeUuid, couriers: this.#couriers },
    });
    this.#trimming.start(limits.lookMs);
  }

  static async open(options: OutboxOptions): Promise<Outbox> {
    if (options.isAlone) await freeLeases(options.sql, null);
    return new Outbox(options);
  }

  /** Stores them in this order. Queues that are too long lose their oldest, counted. Call `wake` after the transaction. */
  async enqueue(sql: Queries, deliveries: readonly NewDelivery[]): Promise<void> {
    const fitting = deliveries.filter((delivery) => !this.#isTooLarge(delivery));
    this.#noteTrimmed(await insertDeliveries(sql, fitting, this.#options.config.delivery.queued));
    if (fitting.length === deliveries.length) return;
    const large = deliveries.filter((delivery) => this.#isTooLarge(delivery));
    const fields = { deliveries: large.map(({ id }) => id).slice(0, 10) };
    this.#options.log.error(fields, "deliveries dropped: body too large");
    await countDropped(
      sql,
      large.map(({ destinationUuid }) => destinationUuid),
    );
  }

  /** Replaces body and time of one that is not being sent. False: it is, or is gone, or the new body is too large. */
  async amend(sql: Queries, delivery: NewDelivery): Promise<boolean> {
    return !this.#isTooLarge(delivery) && amendDelivery(sql, delivery);
  }

  wake(): void {
    this.#dispatcher.wake();
  }

  /** Sends it once and now, without the queue. Stores nothing, and never rejects. `detail`: for the user, without secrets. */
  async attempt(
    { userUuid, target }: Destination,
    sent: Pick<Delivery, "id" | "body">,
  ): Promise<{ readonly delivered: boolean; readonly detail: string }> {
    const own = this.#attempts.get(userUuid) ?? 0;
    const others = [...this.#attempts.values()].reduce((sum, count) => sum + count, -own);
    // As with the queues: half of what others leave free.
    if (own >= (this.#options.config.delivery.at_once - others) / 2)
      return { delivered: false, detail: "too many receivers are being tested; try again in a moment" };
    this.#attempts.set(userUuid, own + 1);
    const { signal } = this.#closing;
    try {
      const options = { signal, isCareful: false, isOver: () => false, onDelivered() {} };
      const failure = await this.#couriers[target.kind].send(target, [sent], options);
      return { delivered: failure === null, detail: failure?.reason ?? "it was delivered" };
    } catch (error) {
      this.#options.log.error({ err: error }, "courier failed");
      return { delivered: false, detail: INTERNAL_FAILURE.reason };
    } finally {
      const left = (this.#attempts.get(userUuid) ?? 1) - 1;
      if (left > 0) this.#attempts.set(userUuid, left);
      else this.#attempts.delete(userUuid);
    }
  }

  /** Never rejects. */
  async read(): Promise<readonly DeliveryReading[]> {
    const known = await readNumbers(this.#options.sql).catch(() => null);
    return (["mqtt", "webhook"] as const).map((kind) => {
      const none = known === null ? null : 0;
      const numbers = known?.find((each) => each.kind === kind);
      const { waiting, destinations, failing } = numbers ?? { waiting: none, destinations: none, failing: none };
      return { ...this.#dispatcher.counts[kind], kind, waiting, destinations, failing };
    });
  }

  /** What is not delivered stays in the database for the next server. */
  async close(): Promise<void> {
    await this.#trimming.close();
    await this.#dispatcher.close();
    this.#closing.abort();
    for (const courier of Object.values(this.#couriers)) courier.close();
  }

  async #trimUsers(): Promise<number> {
    const { sql, config, log } = this.#options;
    const { queued_per_key: count, queued_bytes_per_key: bytes } = config.delivery;
    const { bodyBytes, lookMs } = this.#limits;
    try {
      this.#noteTrimmed(await trimUsers(sql, { count, bytes, bodyBytes }));
    } catch (error) {
      log.warn({ err: error }, "queues of users not trimmed; retrying");
    }
    return lookMs;
  }

  #noteTrimmed(trimmed: readonly Trimmed[]): void {
    for (const { uuid, kind, dropped } of trimmed) {
      this.#dispatcher.counts[kind].dropped += dropped;
      this.#options.log.warn({ destination: uuid, kind, dropped }, "oldest deliveries dropped: queue full");
    }
  }

  #isTooLarge({ body }: Pick<Delivery, "body">): boolean {
    const { bodyBytes } = this.#limits;
    return body.length > bodyBytes || Buffer.byteLength(body) > bodyBytes;
  }
}
