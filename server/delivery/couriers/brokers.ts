/** The connections to brokers, one for each broker and user, closed when nothing has gone over it for a while. */
import type { BrokerPlace, ProtocolVersion } from "../../mqtt/broker-client.ts";
import { guardAddress } from "../../net/guard.ts";
import { readAuthority } from "../../net/url.ts";
import type { CourierConfig } from "../courier.ts";
import type { Target } from "../delivery.ts";
import { BrokerFault, OpenBroker } from "./open-broker.ts";

export type MqttTarget = Extract<Target, { readonly kind: "mqtt" }>;

export interface BrokerNeeds {
  readonly config: CourierConfig;
  readonly authorities?: string;
}

interface Entry {
  readonly place: BrokerPlace;
  version: ProtocolVersion;
  opening: Promise<OpenBroker>;
  open: OpenBroker | null;
  /** It did not let us in, and is not asked again before: many receivers may share it. */
  failedUntilMs: number;
  users: number;
  idle: NodeJS.Timeout | undefined;
}

const PORTS: Readonly<Record<string, number>> = { mqtt: 1883, mqtts: 8883 };

export class Brokers {
  readonly #needs: BrokerNeeds;
  readonly #entries = new Map<string, Entry>();

  constructor(needs: BrokerNeeds) {
    this.#needs = needs;
  }

  /** With the broker, connected; it stays so while this is under way. Rejects with `BrokerFault`, and as `use` does. */
  async use<T>(target: MqttTarget, use: (broker: OpenBroker) => Promise<T>): Promise<T> {
    const key = JSON.stringify([target.url, target.username, target.password]);
    const entry = this.#entries.get(key) ?? this.#enter(key, readPlace(target));
    clearTimeout(entry.idle);
    entry.users += 1;
    try {
      return await use(await this.#connect(entry));
    } finally {
      entry.users -= 1;
      if (entry.users === 0) this.#forgetLater(key, entry);
    }
  }

  close(): void {
    for (const entry of this.#entries.values()) {
      clearTimeout(entry.idle);
      entry.open?.close();
    }
    this.#entries.clear();
  }

  #enter(key: string, place: BrokerPlace): Entry {
    const opening = Promise.reject(new BrokerFault("it was never tried"));
    opening.catch(() => {});
    // The older version first: brokers that know only the newer are rarer.
    const entry: Entry = { place, version: 4, opening, open: null, failedUntilMs: 0, users: 0, idle: undefined };
    this.#entries.set(key, entry);
    return entry;
  }

  #connect(entry: Entry): Promise<OpenBroker> {
    const isUsable = entry.open !== null && !entry.open.isLost;
    if (isUsable || performance.now() < entry.failedUntilMs) return entry.opening;
    const { connect_seconds, retry_first_seconds } = this.#needs.config.delivery;
    // Everybody who comes while it is being connected to waits for the same.
    entry.failedUntilMs = performance.now() + connect_seconds * 10_000;
    entry.open = null;
    entry.opening = this.#open(entry).then(
      (opened) => {
        entry.open = opened;
        entry.failedUntilMs = 0;
        return opened;
      },
      (error: Error) => {
        if (error instanceof BrokerFault && error.isOfVersion) entry.version = entry.version === 4 ? 5 : 4;
        entry.failedUntilMs = performance.now() + retry_first_seconds * 500;
        throw error;
      },
    );
    entry.opening.catch(() => {});
    return entry.opening;
  }

  async #open({ place, version }: Entry): Promise<OpenBroker> {
    const { config, authorities } = this.#needs;
    const { delivery, network } = config;
    // Looked up for each connection, and connected to nothing else: names change.
    const addresses = await guardAddress(place.url, network, "/host");
    if (addresses.length === 0) throw new BrokerFault(`${place.url}: no host of the name ${place.host} can be found`);
    return OpenBroker.open(place, {
      ...{ addresses, version, authorities, inFlight: delivery.in_flight },
      keepaliveSeconds: delivery.keepalive_seconds,
      connectSeconds: delivery.connect_seconds,
      confirmMs: delivery.answer_seconds * 1000,
    });
  }

  #forgetLater(key: string, entry: Entry): void {
    if (this.#entries.get(key) !== entry) return;
    entry.idle = setTimeout(() => {
      this.#entries.delete(key);
      entry.open?.close();
    }, this.#needs.config.delivery.idle_seconds * 1000).unref();
  }
}

function readPlace({ url, username, password }: MqttTarget): BrokerPlace {
  const authority = readAuthority(url);
  if (typeof authority === "string") throw new BrokerFault(`the address of the broker cannot be used: ${authority}`);
  const { scheme, host, port, writtenHost } = authority;
  const usual = PORTS[scheme];
  if (usual === undefined)
    throw new BrokerFault(`the address of a broker begins with mqtt:// or mqtts://, not ${scheme}://`);
  return {
    url: `${scheme}://${writtenHost}:${port ?? usual}`,
    ...{ host, port: port ?? usual, username: username ?? undefined, password: password ?? undefined },
  };
}
