/** Notices on their way to their receivers, kept in the database until they have arrived. */
import type { Logger } from "pino";
import type { JsonRecord } from "../../schemas/json.ts";
import { Poller } from "../async/poller.ts";
import { withTimeout } from "../async/timing.ts";
import type { Queries, Sql } from "../store/client.ts";
import {
  closeDestination,
  freeLeases,
  readNumbers,
  readStandings,
  removeDestination,
  saveDestination,
} from "../store/destinations.ts";
import { amendParcel, countDropped, insertParcels, type Trimmed, trimUsers } from "../store/parcels.ts";
import type { Courier, CourierConfig } from "./courier.ts";
import { MqttCourier } from "./couriers/mqtt.ts";
import { WebhookCourier } from "./couriers/webhook.ts";
import type { AttemptResult, Delivery, DeliveryStanding, Destination, Parcel, Target } from "./delivery.ts";
import { DeliveryCounts, type DeliveryReading } from "./delivery-counts.ts";
import { Dispatcher } from "./dispatcher.ts";
import { Receipts } from "./receipts.ts";
import { BROKEN } from "./turn.ts";

export interface OutboxNeeds {
  readonly sql: Sql;
  readonly config: CourierConfig;
  readonly log: Logger;
  readonly nodeUuid: string;
  /** Told to receivers. */
  readonly softwareVersion: string;
  /** Nobody else uses this database: what is claimed in it was claimed by somebody who is gone. */
  readonly isAlone: boolean;
  /** Certificates to trust instead of those that everybody does. */
  readonly authorities?: string;
}

/** For the last words to the database. */
const CLOSE_MS = 3_000;

export class Outbox implements Delivery {
  readonly #needs: OutboxNeeds;
  readonly #couriers: Readonly<Record<Target["kind"], Courier>>;
  readonly #counts = new DeliveryCounts();
  readonly #receipts: Receipts;
  readonly #dispatcher: Dispatcher;
  readonly #trimming = new Poller(() => this.#trimUsers());
  readonly #closing = new AbortController();
  /** Attempts that were asked for, past what waits, by user. */
  readonly #attempts = new Map<string, number>();

  private constructor(needs: OutboxNeeds) {
    const { sql, config, log, nodeUuid } = needs;
    this.#needs = needs;
    this.#couriers = { mqtt: new MqttCourier(needs), webhook: new WebhookCourier(needs) };
    this.#receipts = new Receipts(sql, log);
    this.#dispatcher = new Dispatcher({
      ...{ sql, config: config.delivery, log, nodeUuid, counts: this.#counts },
      ...{ couriers: this.#couriers, receipts: this.#receipts },
    });
    this.#trimming.start(config.delivery.look_seconds * 1000);
  }

  static async open(needs: OutboxNeeds): Promise<Outbox> {
    if (needs.isAlone) await freeLeases(needs.sql, null);
    return new Outbox(needs);
  }

  saveDestination(sql: Queries, destination: Destination): Promise<void> {
    return saveDestination(sql, destination);
  }

  closeDestination(sql: Queries, uuid: string): Promise<void> {
    return closeDestination(sql, uuid);
  }

  removeDestination(sql: Queries, uuid: string): Promise<void> {
    return removeDestination(sql, uuid);
  }

  async enqueue(sql: Queries, parcels: readonly Parcel[]): Promise<void> {
    const { queued } = this.#needs.config.delivery;
    const written = parcels.map(write);
    const fit = written.filter((parcel) => !this.#isTooLarge(parcel));
    this.#noteTrimmed(await insertParcels(sql, fit, queued));
    if (fit.length === written.length) return;
    const large = written.filter((parcel) => this.#isTooLarge(parcel));
    this.#needs.log.error(
      { notices: large.map(({ id }) => id).slice(0, 10) },
      "notices were dropped: they are too large",
    );
    await countDropped(
      sql,
      large.map(({ destinationUuid }) => destinationUuid),
    );
  }

  async amend(sql: Queries, parcel: Parcel): Promise<boolean> {
    const written = write(parcel);
    // What was there before is better than nothing.
    if (this.#isTooLarge(written)) return false;
    return amendParcel(sql, written);
  }

  wake(): void {
    this.#dispatcher.wake();
  }

  standings(sql: Queries, uuids: readonly string[]): Promise<ReadonlyMap<string, DeliveryStanding>> {
    return readStandings(sql, uuids);
  }

  async attempt({ userUuid, target }: Destination, { id, body }: Omit<Parcel, "dueAt">): Promise<AttemptResult> {
    const startedMs = performance.now();
    const tell = (delivered: boolean, status: number | null, detail: string): AttemptResult => ({
      ...{ delivered, status, detail, ms: Math.round(performance.now() - startedMs) },
    });
    const own = this.#attempts.get(userUuid) ?? 0;
    const others = [...this.#attempts.values()].reduce((sum, count) => sum + count, -own);
    // As with what waits: half of what others leave.
    if (own >= (this.#needs.config.delivery.at_once - others) / 2)
      return tell(false, null, "too many receivers are being tried just now; try again in a moment");
    this.#attempts.set(userUuid, own + 1);
    let status: number | null = null;
    try {
      const fault = await this.#couriers[target.kind].send(target, [{ id, body: JSON.stringify(body) }], {
        ...{ signal: this.#closing.signal, isCareful: false, isOver: () => false },
        onDelivered: (_, answered) => {
          status = answered;
        },
      });
      if (fault === null) return tell(true, status, "it was delivered");
      return tell(false, fault.status ?? null, fault.reason);
    } catch (error) {
      this.#needs.log.error({ err: error }, "a courier broke");
      return tell(false, null, BROKEN.reason);
    } finally {
      const left = (this.#attempts.get(userUuid) ?? 1) - 1;
      if (left > 0) this.#attempts.set(userUuid, left);
      else this.#attempts.delete(userUuid);
    }
  }

  /** For Prometheus; never rejects. */
  async read(): Promise<readonly DeliveryReading[]> {
    const known = await readNumbers(this.#needs.sql).catch(() => null);
    return (["mqtt", "webhook"] as const).map((kind) => {
      const none = known === null ? null : 0;
      const numbers = known?.find((one) => one.kind === kind);
      const { waiting, destinations, failing } = numbers ?? { waiting: none, destinations: none, failing: none };
      return { ...this.#counts.of(kind), kind, waiting, destinations, failing };
    });
  }

  /** What has not arrived stays in the database, and is delivered by whoever comes next. */
  async close(): Promise<void> {
    await Promise.all([this.#dispatcher.close(), this.#trimming.close()]);
    this.#closing.abort();
    await withTimeout(CLOSE_MS, this.#receipts.close());
    await withTimeout(
      CLOSE_MS,
      this.#dispatcher
        .free()
        .catch((error: unknown) =>
          this.#needs.log.warn({ err: error }, "receivers could not be given back: others wait for the lease"),
        ),
    );
    await Promise.all(Object.values(this.#couriers).map((courier) => courier.close()));
  }

  /** Never rejects. */
  async #trimUsers(): Promise<number> {
    const { sql, config, log } = this.#needs;
    const { queued_per_key: most, queued_bytes_per_key: bytes, body_bytes: bodyBytes, look_seconds } = config.delivery;
    try {
      this.#noteTrimmed(await trimUsers(sql, { most, bytes, bodyBytes }));
    } catch (error) {
      log.warn({ err: error }, "what waits of each key cannot be counted; it is tried again");
    }
    return look_seconds * 1000;
  }

  #noteTrimmed(trimmed: readonly Trimmed[]): void {
    for (const { uuid, kind, dropped } of trimmed) {
      this.#counts.add(kind, { dropped });
      this.#needs.log.warn({ destination: uuid, kind, dropped }, "the oldest notices were dropped: too many wait");
    }
  }

  #isTooLarge({ body }: { readonly body: string }): boolean {
    const { body_bytes } = this.#needs.config.delivery;
    return body.length > body_bytes || Buffer.byteLength(body) > body_bytes;
  }
}

function write({ id, destinationUuid, body, dueAt }: Parcel) {
  return { id, destinationUuid, body: JSON.stringify(body satisfies JsonRecord), dueAt: dueAt ?? null };
}
