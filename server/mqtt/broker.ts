/** Connects to MQTT brokers: only to addresses that the network guard has checked, and with bounded incoming packets. */
import { randomBytes } from "node:crypto";
import { connect as connectTcp, isIP, type TcpNetConnectOpts } from "node:net";
import { connect as connectTls } from "node:tls";
import { MqttClient } from "mqtt";
import type { Config } from "../../schemas/config.ts";
import { explainConnectionError } from "../net/explain.ts";
import { guardAddress, lookupOnly } from "../net/guard.ts";
import { readAuthority } from "../net/url.ts";
import { FilteredSocket, PacketFilter } from "./packet-filter.ts";

/** By scheme. */
export const BROKER_PORTS: Readonly<Record<string, number>> = { mqtt: 1883, mqtts: 8883 };

export interface Broker {
  /** `mqtt://host:port` or `mqtts://host:port`, without credentials. */
  readonly url: string;
  readonly username: string | null;
  readonly password: string | null;
}

export interface BrokerOptions {
  readonly network: Config["network"];
  /** Which input of a client named the broker. */
  readonly path: string;
  readonly keepaliveSeconds: number;
  readonly connectSeconds: number;
  readonly maxPacketBytes: number;
  /** Certificates to trust instead of the public ones. */
  readonly authorities?: string | undefined;
  /** Closes the connection when aborted. */
  readonly signal?: AbortSignal;
  onOversized?(bytes: number): void;
}

export interface BrokerConnection {
  readonly client: MqttClient;
  /** How many unconfirmed messages the broker accepts; only MQTT 5 says it. */
  readonly receiveMaximum: number | undefined;
  /** Resolves with the reason when the connection is lost or closed. */
  readonly closed: Promise<Error>;
}

/** "Unacceptable protocol version" in 3.1.1 and in 5. */
const VERSION_CODES = [1, 132];

export class BrokerConnector {
  readonly #broker: Broker;
  readonly #options: BrokerOptions;
  /** The number on the wire of 3.1.1 or 5. Starts with 3.1.1: brokers that support only 5 are rare. */
  #version: 4 | 5 = 4;

  constructor(broker: Broker, options: BrokerOptions) {
    this.#broker = broker;
    this.#options = options;
  }

  /**
   * Connects once, to addresses resolved now: names change. When the broker rejects the protocol version the next call
   * uses the other one. Errors name the broker's URL, not the credentials.
   */
  async connect(): Promise<BrokerConnection> {
    const { url } = this.#broker;
    const { network, path, signal } = this.#options;
    const authority = readAuthority(url);
    if (typeof authority === "string") throw new Error(`the address of the broker is not valid: ${authority}`);
    const { host } = authority;
    const port = authority.port ?? BROKER_PORTS[authority.scheme];
    if (port === undefined) throw new Error(`${url}: expected an address with mqtt:// or mqtts://`);
    const addresses = await guardAddress(url, network, path);
    if (addresses.length === 0) throw new Error(`${url}: host ${host} cannot be resolved`);
    if (signal?.aborted) throw new Error(`${url}: the connection was closed`);
    return new Promise((resolve, reject) => {
      let [isReached, isAccepted, isOtherVersion] = [false, false, false];
      let cause: Error | null = null;
      const tcp = { host, port, lookup: lookupOnly(addresses), autoSelectFamily: true, noDelay: true };
      const client = this.#openClient(tcp, () => {
        isReached = true;
      });
      const end = (): void => void client.end(true);
      signal?.addEventListener("abort", end, { once: true });
      const closed = new Promise<Error>((settle) => {
        client.once("close", () => {
          signal?.removeEventListener("abort", end);
          end();
          // Some brokers close the connection without an answer when they do not support a version.
          if (!isAccepted && (isOtherVersion || (isReached && cause === null)))
            this.#version = this.#version === 4 ? 5 : 4;
          const reason = cause ?? new Error(`${url}: the broker closed the connection`);
          settle(reason);
          reject(reason);
        });
      });
      client.on("error", (error) => {
        isOtherVersion = VERSION_CODES.includes(Number((error as { code?: unknown }).code));
        cause ??= new Error(explain(error, url));
      });
      client.on("connect", ({ properties }) => {
        isAccepted = true;
        resolve({ client, closed, receiveMaximum: properties?.receiveMaximum });
      });
    });
  }

  #openClient(tcp: TcpNetConnectOpts, onReached: () => void): MqttClient {
    const { url, username, password } = this.#broker;
    const { keepaliveSeconds, connectSeconds, maxPacketBytes, authorities, onOversized = () => {} } = this.#options;
    const { host = "" } = tcp;
    const tls = {
      ...tcp,
      ...(isIP(host) === 0 && { servername: host }),
      ...(authorities !== undefined && { ca: authorities }),
    };
    const open = () => {
      const socket = url.startsWith("mqtts:") ? connectTls(tls) : connectTcp(tcp);
      socket.once("connect", onReached);
      return new FilteredSocket(socket, new PacketFilter({ maxPacketBytes, onOversized }));
    };
    return new MqttClient(open, {
      protocolVersion: this.#version,
      clientId: `windhover-${randomBytes(8).toString("hex")}`,
      clean: true,
      ...(username !== null && { username }),
      ...(password !== null && { password }),
      keepalive: Math.round(keepaliveSeconds),
      connectTimeout: connectSeconds * 1000,
      // Never by itself: the address has to be checked again.
      reconnectPeriod: 0,
      resubscribe: false,
      queueQoSZero: false,
    });
  }
}

/** Connection errors, and the return codes of CONNACK in 3.1.1 and 5. */
const REASONS: Readonly<Record<string, string>> = {
  ECONNREFUSED: "nothing listens there; check that the broker is running",
  EPROTO: "what it sends is not MQTT; for mqtts, not TLS",
  1: "it does not support our version of MQTT",
  4: "it rejects this username and password",
  5: "it rejects this user",
  132: "it does not support our version of MQTT",
  134: "it rejects this username and password",
  135: "it rejects this user",
};

export function explain(error: Error, url: string): string {
  const message = error.message === "connack timeout" ? "it does not answer" : error.message;
  return `${url}: ${explainConnectionError(error, REASONS) ?? message}`;
}
