/** Messages to topics of brokers, MQTT 3.1.1 or 5, plain (`mqtt://`) or with TLS (`mqtts://`). */
import { unlessAborted } from "../../async/timing.ts";
import type { Courier, DeliveryFault, Sendable, Sending } from "../courier.ts";
import type { Target } from "../delivery.ts";
import { type BrokerNeeds, Brokers, type MqttTarget } from "./brokers.ts";
import type { OpenBroker } from "./open-broker.ts";

export class MqttCourier implements Courier {
  readonly most = 500;
  readonly #brokers: Brokers;

  constructor(needs: BrokerNeeds) {
    this.#brokers = new Brokers(needs);
  }

  async send<P extends Sendable>(
    target: Target,
    parcels: readonly P[],
    sending: Sending<P>,
  ): Promise<DeliveryFault | null> {
    if (target.kind !== "mqtt") return { reason: "it is no broker" };
    try {
      return await this.#brokers.use(target, (broker) => publishAll(broker, target, parcels, sending));
    } catch (error) {
      return { reason: (error as Error).message };
    }
  }

  async close(): Promise<void> {
    this.#brokers.close();
  }
}

async function publishAll<P extends Sendable>(
  broker: OpenBroker,
  { topic, qos }: MqttTarget,
  parcels: readonly P[],
  { signal, isCareful, onDelivered }: Sending<P>,
): Promise<null> {
  const groups = isCareful ? [parcels.slice(0, 1), parcels.slice(1)] : [parcels];
  for (const group of groups) {
    const published = group.map((parcel) => broker.publish({ topic, qos, body: parcel.body }, signal));
    // Told one by one below; the first that fails is the one that counts.
    for (const one of published) one.catch(() => {});
    for (const [at, parcel] of group.entries()) {
      await unlessAborted(published[at] ?? Promise.resolve(), signal);
      onDelivered(parcel, null);
    }
  }
  return null;
}
