/**
 * Publishes to topics of MQTT brokers, 3.1.1 or 5, plain (`mqtt://`) or with TLS (`mqtts://`). Destinations with the same
 * broker and user share one connection, which closes when it has been idle for a while.
 */
import type { MqttClient } from "mqtt";
import { Semaphore } from "../async/semaphore.ts";
import { unlessAborted } from "../async/timing.ts";
import { type BrokerConnection, BrokerConnector, explain } from "../mqtt/broker.ts";
import type { Target } from "../store/destinations.ts";
import type { Courier, CourierOptions, DeliveryFailure, DeliveryLimits, SendOptions, Sent } from "./courier.ts";

type MqttTarget = Extract<Target, { readonly kind: "mqtt" }>;

interface SharedBroker {
  readonly url: string;
  readonly connector: BrokerConnector;
  opening: Promise<Session> | null;
  session: Session | null;
  /** No new connection before: many destinations may share a broker that is offline. */
  retryAtMs: number;
  users: number;
  idleTimer: NodeJS.Timeout | undefined;
}

export class MqttCourier implements Courier {
  readonly batchSize = 500;
  readonly #options: CourierOptions;
  /** By address and user. */
  readonly #brokers = new Map<string, SharedBroker>();

  constructor(options: CourierOptions) {
    this.#options = options;
  }

  async send(target: Target, deliveries: readonly Sent[], options: SendOptions): Promise<DeliveryFailure | null> {
    if (target.kind !== "mqtt") throw new Error(`${target.kind} is not MQTT`);
    try {
      await this.#use(target, (session) => publishAll(session, target, deliveries, options));
      return null;
    } catch (error) {
      return { reason: (error as Error).message };
    }
  }

  close(): void {
    for (const { idleTimer, session } of this.#brokers.values()) {
      clearTimeout(idleTimer);
      session?.close();
    }
    this.#brokers.clear();
  }

  /** Keeps the connection open while `use` runs. */
  async #use(target: MqttTarget, use: (session: Session) => Promise<void>): Promise<void> {
    const key = JSON.stringify([target.url, target.username, target.password]);
    const broker = this.#brokers.get(key) ?? this.#add(key, target);
    clearTimeout(broker.idleTimer);
    broker.users += 1;
    try {
      await use(await this.#connect(broker));
    } finally {
      broker.users -= 1;
      if (broker.users === 0 && this.#brokers.get(key) === broker)
        broker.idleTimer = setTimeout(() => {
          this.#brokers.delete(key);
          broker.session?.close();
        }, this.#options.limits.idleMs).unref();
    }
  }

  #add(key: string, target: MqttTarget): SharedBroker {
    const { config, limits, authorities } = this.#options;
    const connector = new BrokerConnector(target, {
      ...{ network: config.network, path: "/host", authorities, maxPacketBytes: MAX_PACKET_BYTES },
      keepaliveSeconds: limits.keepaliveSeconds,
      connectSeconds: limits.connectSeconds,
    });
    const broker = {
      ...{ url: target.url, connector, opening: null, session: null, retryAtMs: 0, users: 0, idleTimer: undefined },
    };
    this.#brokers.set(key, broker);
    return broker;
  }

  #connect(broker: SharedBroker): Promise<Session> {
    const isUsable = broker.session !== null && !broker.session.isLost;
    if (broker.opening !== null && (isUsable || performance.now() < broker.retryAtMs)) return broker.opening;
    const { limits } = this.#options;
    // Others that need the broker meanwhile wait for the same attempt.
    broker.retryAtMs = performance.now() + limits.connectSeconds * 10_000;
    broker.session = null;
    broker.opening = broker.connector.connect().then(
      (connection) => {
        broker.retryAtMs = 0;
        broker.session = new Session(connection, broker.url, limits);
        return broker.session;
      },
      (error: Error) => {
        broker.retryAtMs = performance.now() + limits.retryFirstMs / 2;
        throw error;
      },
    );
    return broker.opening;
  }
}

async function publishAll(
  session: Session,
  target: MqttTarget,
  deliveries: readonly Sent[],
  { signal, isCareful, onDelivered }: SendOptions,
): Promise<void> {
  const groups = isCareful ? [deliveries.slice(0, 1), deliveries.slice(1)] : [deliveries];
  for (const group of groups) {
    const published = group.map(({ body }) => session.publish(target, body, signal));
    // Awaited one by one below: the first that fails counts.
    for (const each of published) each.catch(() => {});
    for (const each of published) {
      await unlessAborted(each, signal);
      onDelivered();
    }
  }
}

/** We subscribe to no topic: packets from the broker are short. */
const MAX_PACKET_BYTES = 70_000;
/**
 * Messages of QoS 2 stay in flight until they are confirmed twice, and brokers disconnect clients with too many of them
 * (mosquitto: more than 20). In MQTT 3.1.1 they do not announce their limit.
 */
const MAX_QOS_2_IN_FLIGHT = 10;

/** An accepted connection, until it is lost. */
class Session {
  readonly #client: MqttClient;
  readonly #url: string;
  readonly #confirmMs: number;
  readonly #slots: { readonly usual: Semaphore; readonly qos2: Semaphore };
  /** Settle messages that are not confirmed. */
  readonly #unconfirmed = new Set<(error: Error) => void>();
  #error: Error | null = null;

  constructor({ client, receiveMaximum, closed }: BrokerConnection, url: string, limits: DeliveryLimits) {
    this.#client = client;
    this.#url = url;
    this.#confirmMs = limits.answerSeconds * 1000;
    const inFlight = Math.min(limits.inFlight, receiveMaximum ?? limits.inFlight);
    const qos2 = Math.min(MAX_QOS_2_IN_FLIGHT, Math.ceil(inFlight / 2));
    this.#slots = { usual: new Semaphore(Math.max(1, inFlight - qos2)), qos2: new Semaphore(qos2) };
    void closed.then((error) => this.#end(error));
  }

  get isLost(): boolean {
    return this.#error !== null;
  }

  /** Resolves when the broker has confirmed it. Sends in the order of the calls. */
  async publish({ topic, qos }: MqttTarget, body: string, signal: AbortSignal): Promise<void> {
    const release = await (qos === 2 ? this.#slots.qos2 : this.#slots.usual).acquire(signal);
    try {
      if (this.#error !== null) throw this.#error;
      if (signal.aborted) throw new Error("it was aborted");
      await new Promise<void>((resolve, reject) => {
        const late = new Error(`${this.#url}: it did not confirm a message within ${this.#confirmMs / 1000} s`);
        const timer = setTimeout(() => this.#end(late), this.#confirmMs);
        const settle = (error: Error | null): void => {
          clearTimeout(timer);
          this.#unconfirmed.delete(settle);
          if (error === null) resolve();
          else reject(error);
        };
        this.#unconfirmed.add(settle);
        this.#client.publish(topic, body, { qos }, (error) => {
          if (error === undefined || error === null) settle(null);
          else settle(this.#error ?? new Error(`${explain(error, this.#url)} (topic ${topic})`));
        });
      });
    } finally {
      release();
    }
  }

  /** Unconfirmed messages count as not delivered. */
  close(): void {
    this.#end(new Error(`${this.#url}: the connection was closed`));
  }

  #end(error: Error): void {
    this.#error ??= error;
    for (const reject of [...this.#unconfirmed]) reject(this.#error);
    this.#client.end(true);
  }
}
