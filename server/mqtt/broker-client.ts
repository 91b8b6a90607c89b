/** A client of one connection to a broker: it leads to addresses that were looked at, and gathers no more than it may. */
import { randomBytes } from "node:crypto";
import { connect as connectSocket, isIP, type LookupFunction, type Socket } from "node:net";
import { connect as connectSecurely } from "node:tls";
import { MqttClient } from "mqtt";
import { explainConnectionError } from "../net/explain.ts";
import { PacketSieve } from "./packet-sieve.ts";
import { SiftedSocket } from "./sifted-socket.ts";

/** 3.1.1 and 5, by the numbers that they have on the wire. */
export type ProtocolVersion = 4 | 5;

export interface BrokerPlace {
  /** `mqtt://host:port`, nothing secret. */
  readonly url: string;
  readonly host: string;
  readonly port: number;
  readonly username: string | undefined;
  readonly password: string | undefined;
}

export interface ClientNeeds {
  /** As looked at: no other is connected to. */
  readonly addresses: readonly string[];
  readonly version: ProtocolVersion;
  readonly keepaliveSeconds: number;
  readonly connectSeconds: number;
  /** One packet that comes in. */
  readonly mostBytes: number;
  /** Of TLS, instead of those that everybody trusts. */
  readonly authorities?: string | undefined;
  onLeftOut(bytes: number): void;
  /** Somebody is there; whether it is a broker is not known yet. */
  onReached(): void;
}

/** "Unacceptable protocol version" in 3.1.1 and in 5. */
const VERSION_CODES = [1, 132];

/** Connects at once, and never again: the address has to be looked at again. */
export function openClient(broker: BrokerPlace, needs: ClientNeeds): MqttClient {
  const { version, keepaliveSeconds, connectSeconds, mostBytes, onLeftOut, onReached } = needs;
  const open = () => {
    const socket = openSocket(broker, needs);
    socket.once("connect", onReached);
    return new SiftedSocket(socket, new PacketSieve({ mostBytes, onLeftOut }));
  };
  const { username, password } = broker;
  // A new object for each client: it writes into it.
  return new MqttClient(open, {
    protocolVersion: version,
    clientId: `windhover-${randomBytes(8).toString("hex")}`,
    clean: true,
    ...(username !== undefined && { username }),
    ...(password !== undefined && { password }),
    keepalive: Math.round(keepaliveSeconds),
    connectTimeout: connectSeconds * 1000,
    reconnectPeriod: 0,
    resubscribe: false,
    queueQoSZero: false,
  });
}

function openSocket({ url, host, port }: BrokerPlace, { addresses, authorities }: ClientNeeds): Socket {
  const way = { host, port, lookup: answer(addresses), autoSelectFamily: true, noDelay: true };
  if (!url.startsWith("mqtts:")) return connectSocket(way);
  return connectSecurely({
    ...way,
    ...(isIP(host) === 0 && { servername: host }),
    ...(authorities !== undefined && { ca: authorities }),
  });
}

/** Leads to these addresses and no other, whatever the name means by now. */
export const answer =
  (addresses: readonly string[]): LookupFunction =>
  (_host, { all }, done) => {
    const found = addresses.map((address) => ({ address, family: isIP(address) }));
    const [first] = found;
    if (all === true) done(null, found);
    else done(null, first?.address ?? "", first?.family ?? 4);
  };

export const isOfVersion = (error: Error): boolean =>
  VERSION_CODES.includes(Number((error as { code?: unknown }).code));

/** Return codes of CONNACK: 3.1.1 and 5. */
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

export function explain(error: Error, { url }: BrokerPlace): string {
  const said = error.message === "connack timeout" ? "it does not answer" : error.message;
  return `${url}: ${explainConnectionError(error, REASONS) ?? said}`;
}
