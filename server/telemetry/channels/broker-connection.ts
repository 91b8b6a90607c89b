/** One connection to a broker, from the look at its address until it is lost. */
import type { Config } from "../../../schemas/config.ts";
import { type BrokerPlace, explain, isOfVersion, openClient, type ProtocolVersion } from "../../mqtt/broker-client.ts";
import { guardAddress } from "../../net/guard.ts";

export interface Broker extends BrokerPlace {
  readonly topic: string;
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
  let isUnwanted = false;
  const client = openClient(broker, {
    ...{ addresses, version, mostBytes: mostBytes + OVERHEAD_BYTES, onLeftOut: onTooLarge },
    ...{ keepaliveSeconds: config.telemetry.keepalive_seconds, connectSeconds: config.telemetry.connect_seconds },
    onReached: () => {
      isReached = true;
    },
  });
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
    isUnwanted = isOfVersion(error);
    reason ??= explain(error, broker);
  });
  return new Promise((resolve) => {
    client.once("close", () => {
      signal.removeEventListener("abort", end);
      end();
      // Some close without a word when they do not know a version.
      const isMute = isReached && !isGreeted && reason === null;
      resolve({ reason: reason ?? `the broker closed the connection`, isOfVersion: isUnwanted || isMute });
    });
  });
}

const lost = (reason: string): ConnectionEnd => ({ reason, isOfVersion: false });
