/** One connection to a broker, from the look at its address until it is lost. */
import { randomBytes } from "node:crypto";
import { connect as connectSocket, isIP, type LookupFunction } from "node:net";
import { MqttClient } from "mqtt";
import type { Config } from "../../../schemas/config.ts";
import { guardAddress } from "../../sources/guard-address.ts";
import { PacketSieve } from "./packet-sieve.ts";
import { SiftedSocket } from "./sifted-socket.ts";

/** 3.1.1 and 5, by the numbers that they have on the wire. */
export type ProtocolVersion = 4 | 5;

export interface Broker {
  /** `mqtt://host:port`, nothing secret. */
  readonly url: string;
  readonly host: string;
  readonly port: number;
  readonly topic: string;
  readonly username: string | undefined;
  readonly password: string | undefined;
}

export interface ConnectionNeeds {
  readonly config: Pick<Config, "telemetry" | "network">;
  readonly version: ProtocolVersion;
  readonly signal: AbortSignal;
  /** A kept one is of a time before we came. */
  onMessage(payload: Uint8Array, isKept: boolean): void;
  /** It was not gathered. */
  onTooLarge(bytes: number): void;
  /** Messages come from now on. */
  onOpen(): void;
}

export interface ConnectionEnd {
  readonly reason: string;
  /** Worth a try with the other version: the broker was there and did not want this one. */
  readonly isOfVersion: boolean;
}

/** Topic and properties of a message, besides what it says. */
const OVERHEAD_BYTES = 70_000;
/** "Unacceptable protocol version" in 3.1.1 and in 5. */
const VERSION_CODES = [1, 132];

/** Resolves when it is over, with why. Never rejects. */
export async function stayConnected(broker: Broker, needs: ConnectionNeeds): Promise<ConnectionEnd> {
  const { network } = needs.config;
  try {
    // Looked up for each connection, and connected to nothing else: names change.
    const addresses = await guardAddress(broker.url, network, "/telemetry_cfg/parameters/ip");
    if (addresses.length === 0) return lost(`no host of the name ${broker.host} can be found`);
    if (needs.signal.aborted) return lost("it is not wanted any more");
    return await keep(broker, addresses, needs);
  } catch (error) {
    return lost((error as Error).message);
  }
}

function keep(broker: Broker, addresses: readonly string[], needs: ConnectionNeeds): Promise<ConnectionEnd> {
  const { config, version, signal, onMessage, onTooLarge, onOpen } = needs;
  const { message_bytes: mostBytes } = config.telemetry;
  let isReached = false;
  let isGreeted = false;
  let reason: string | null = null;
  let isOfVersion = false;
  const open = () => {
    const socket = connectSocket({
      ...{ host: broker.host, port: broker.port, lookup: answer(addresses), autoSelectFamily: true, noDelay: true },
    });
    socket.once("connect", () => {
      isReached = true;
    });
    return new SiftedSocket(socket, new PacketSieve({ mostBytes: mostBytes + OVERHEAD_BYTES, onLeftOut: onTooLarge }));
  };
  const client = new MqttClient(open, describeClient(broker, config.telemetry, version));
  const end = (): void => void client.end(true);
  signal.addEventListener("abort", end, { once: true });
  client.on("connect", () => {
    isGreeted = true;
    client.subscribe(broker.topic, { qos: 0 }, (error, granted) => {
      const isGranted = granted?.every(({ qos }) => qos < 128) ?? false;
      if (error === null && isGranted) return onOpen();
      // It went away before it answered: that says nothing of the topic.
      if (error !== null && granted === undefined && !client.connected) return;
      reason ??= `the broker does not let us read the topic ${broker.topic}${error === null ? "" : `: ${error.message}`}`;
      end();
    });
  });
  client.on("message", (_topic, payload, { retain }) =>
    payload.length > mostBytes ? onTooLarge(payload.length) : onMessage(payload, retain),
  );
  client.on("error", (error) => {
    const { code } = error as { code?: unknown };
    isOfVersion = VERSION_CODES.includes(Number(code));
    reason ??= explain(error, broker);
  });
  return new Promise((resolve) => {
    client.once("close", () => {
      signal.removeEventListener("abort", end);
      end();
      // Some close without a word when they do not know a version.
      const isMute = isReached && !isGreeted && reason === null;
      resolve({ reason: reason ?? `the broker closed the connection`, isOfVersion: isOfVersion || isMute });
    });
  });
}

/** A new object for each client: it writes into it. */
function describeClient(
  { username, password }: Broker,
  { connect_seconds, keepalive_seconds }: Config["telemetry"],
  protocolVersion: ProtocolVersion,
) {
  return {
    protocolVersion,
    clientId: `windhover-${randomBytes(8).toString("hex")}`,
    clean: true,
    ...(username !== undefined && { username }),
    ...(password !== undefined && { password }),
    keepalive: Math.round(keepalive_seconds),
    connectTimeout: connect_seconds * 1000,
    // Ours to do: the address has to be looked at again.
    reconnectPeriod: 0,
    resubscribe: false,
    queueQoSZero: false,
  };
}

/** Leads to these addresses and no other, whatever the name means by now. */
const answer =
  (addresses: readonly string[]): LookupFunction =>
  (_host, { all }, done) => {
    const found = addresses.map((address) => ({ address, family: isIP(address) }));
    const [first] = found;
    if (all === true) done(null, found);
    else done(null, first?.address ?? "", first?.family ?? 4);
  };

const REASONS: Readonly<Record<string, string>> = {
  ECONNREFUSED: "nothing listens there; see that the broker runs",
  ECONNRESET: "the broker closed the connection",
  EHOSTUNREACH: "there is no way to this host",
  ENETUNREACH: "there is no way to this network",
  ETIMEDOUT: "it does not answer",
  1: "it does not know our version of MQTT",
  4: "it does not take this username and password",
  5: "it does not let this user in",
  132: "it does not know our version of MQTT",
  134: "it does not take this username and password",
  135: "it does not let this user in",
};

function explain(error: Error, { url }: Broker): string {
  const { code, errors } = error as { code?: unknown; errors?: readonly { code?: unknown }[] };
  // Several addresses were tried: the first tells as much as all of them.
  const known = REASONS[String(code)] ?? REASONS[String(errors?.[0]?.code)];
  const said = error.message === "connack timeout" ? "it does not answer" : error.message;
  return `${url}: ${known ?? said}`;
}

const lost = (reason: string): ConnectionEnd => ({ reason, isOfVersion: false });
