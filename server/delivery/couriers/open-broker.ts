/** A broker that has let us in, until the connection is lost. Used by all receivers that have the same broker and user. */
import type { MqttClient } from "mqtt";
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

export class OpenBroker {
  readonly #client: MqttClient;
  readonly #place: BrokerPlace;
  readonly #needs: OpenBrokerNeeds;
  /** For those that may not be sent yet, in order. */
  readonly #queue: (() => void)[] = [];
  /** Of those that are not confirmed. */
  readonly #refusals = new Set<(fault: BrokerFault) => void>();
  #inFlight = 0;
  #fault: BrokerFault | null = null;

  private constructor(client: MqttClient, place: BrokerPlace, needs: OpenBrokerNeeds) {
    this.#client = client;
    this.#place = place;
    this.#needs = needs;
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
        client.end(true);
        if (opened !== null) opened.#lose(reason);
        reject(reason);
      });
    });
  }

  get isLost(): boolean {
    return this.#fault !== null;
  }

  /** Resolves when the broker has it. In the order of the calls. Rejects with `BrokerFault`. */
  async publish(message: Message, signal: AbortSignal): Promise<void> {
    if (this.#inFlight >= this.#needs.inFlight) await new Promise<void>((resolve) => this.#queue.push(resolve));
    else this.#inFlight += 1;
    try {
      if (this.#fault !== null) throw this.#fault;
      if (signal.aborted) throw new BrokerFault("it was broken off");
      await this.#send(message);
    } finally {
      // Its place goes to the next, and to nobody who comes just now.
      const next = this.#queue.shift();
      if (next === undefined) this.#inFlight -= 1;
      else next();
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
