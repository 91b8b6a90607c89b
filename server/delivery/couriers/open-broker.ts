/** A broker that has let us in, until the connection is lost. Used by all receivers that have the same broker and user. */
import type { MqttClient } from "mqtt";
import { Semaphore } from "../../async/semaphore.ts";
import { type BrokerPlace, type ClientNeeds, explain, isOfVersion, openClient } from "../../mqtt/broker-client.ts";

export class BrokerFault extends Error {
  /** Worth a try with the other version of MQTT. */
  readonly isOfVersion: boolean;

  constructor(message: string, isOfVersion = false) {
    super(message);
    this.isOfVersion = isOfVersion;
  }
}

export interface Message {
  readonly topic: string;
  readonly qos: 0 | 1 | 2;
  readonly body: string;
}

export interface OpenBrokerNeeds extends Omit<ClientNeeds, "onLeftOut" | "onReached" | "mostBytes"> {
  /** Messages on their way that it has not confirmed. */
  readonly inFlight: number;
  readonly confirmMs: number;
}

/** We read no topic: what a broker answers is short. */
const MOST_BYTES = 70_000;
/**
 * Messages of quality 2 stay in flight until they were confirmed twice, and brokers hang up on whoever has too many
 * (mosquitto: more than 20). In 3.1.1 they do not say what they take.
 */
const MOST_TWICE_CONFIRMED = 10;

export class OpenBroker {
  readonly #client: MqttClient;
  readonly #place: BrokerPlace;
  readonly #needs: OpenBrokerNeeds;
  readonly #places: { readonly usual: Semaphore; readonly twiceConfirmed: Semaphore };
  /** Of those that are not confirmed. */
  readonly #refusals = new Set<(fault: BrokerFault) => void>();
  #fault: BrokerFault | null = null;

  private constructor(client: MqttClient, place: BrokerPlace, needs: OpenBrokerNeeds) {
    this.#client = client;
    this.#place = place;
    this.#needs = needs;
    const { inFlight } = needs;
    const twice = Math.min(MOST_TWICE_CONFIRMED, Math.ceil(inFlight / 2));
    this.#places = { usual: new Semaphore(Math.max(1, inFlight - twice)), twiceConfirmed: new Semaphore(twice) };
  }

  /** Rejects with `BrokerFault`. */
  static open(place: BrokerPlace, needs: OpenBrokerNeeds): Promise<OpenBroker> {
    return new Promise((resolve, reject) => {
      let isReached = false;
      let opened: OpenBroker | null = null;
      let fault: BrokerFault | null = null;
      const client = openClient(place, {
        ...{ ...needs, mostBytes: MOST_BYTES, onLeftOut() {} },
        onReached: () => {
          isReached = true;
        },
      });
      client.on("connect", ({ properties }) => {
        const inFlight = Math.min(needs.inFlight, properties?.receiveMaximum ?? needs.inFlight);
        opened = new OpenBroker(client, place, { ...needs, inFlight });
        resolve(opened);
      });
      client.on("error", (error) => {
        fault ??= new BrokerFault(explain(error, place), isOfVersion(error));
      });
      client.once("close", () => {
        // Some close without a word when they do not know a version.
        const isMute = isReached && opened === null;
        const reason = fault ?? new BrokerFault(`${place.url}: the broker closed the connection`, isMute);
        if (opened !== null) opened.#lose(reason);
        client.end(true);
        reject(reason);
      });
    });
  }

  get isLost(): boolean {
    return this.#fault !== null;
  }

  /** Resolves when the broker has it. In the order of the calls. Rejects with `BrokerFault`. */
  async publish(message: Message, signal: AbortSignal): Promise<void> {
    const places = message.qos === 2 ? this.#places.twiceConfirmed : this.#places.usual;
    const release = await places.acquire(signal);
    try {
      if (this.#fault !== null) throw this.#fault;
      if (signal.aborted) throw new BrokerFault("it was broken off");
      await this.#send(message);
    } finally {
      release();
    }
  }

  /** What is not confirmed counts as not delivered. */
  close(): void {
    this.#lose(new BrokerFault(`${this.#place.url}: the connection was closed`));
  }

  #send({ topic, qos, body }: Message): Promise<void> {
    const { confirmMs } = this.#needs;
    return new Promise((resolve, reject) => {
      const late = `${this.#place.url}: it did not confirm a message within ${confirmMs / 1000} s`;
      const timer = setTimeout(() => this.#lose(new BrokerFault(late)), confirmMs);
      const settle = (fault: BrokerFault | null): void => {
        clearTimeout(timer);
        this.#refusals.delete(settle);
        if (fault === null) resolve();
        else reject(fault);
      };
      this.#refusals.add(settle);
      this.#client.publish(topic, body, { qos }, (error) => {
        if (error === undefined || error === null) settle(null);
        else settle(this.#fault ?? new BrokerFault(`${explain(error, this.#place)} (topic ${topic})`));
      });
    });
  }

  #lose(fault: BrokerFault): void {
    this.#fault ??= fault;
    for (const refuse of [...this.#refusals]) refuse(this.#fault);
    this.#client.end(true);
  }
}
