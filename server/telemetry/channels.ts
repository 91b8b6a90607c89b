/**
 * Telemetry channels: how the messages of one process arrive. A channel transports bytes and does not parse them. To add a
 * channel, write its function here and name it in `CHANNELS`.
 */
import type { Config } from "../../schemas/config.ts";
import type { Json } from "../../schemas/json.ts";
import { backoff, sleep } from "../async/timing.ts";
import { BrokerConnector } from "../mqtt/broker.ts";
import { brokerUrl, type TelemetrySetting } from "../sources/telemetry-cfg.ts";
import { UdpPorts } from "./udp-ports.ts";

export interface IncomingMessage {
  readonly payload: Uint8Array | string;
  /** Valid at any time, also for later subscribers: static telemetry. */
  readonly isLasting?: boolean;
  /** Retained by the broker. Its age is unknown, so it says nothing about where anything is now. */
  readonly isRetained?: boolean;
  /** Notifies the sender why the message is not used. Must not throw. */
  refuse?(error: Error): void;
}

/** An operator sets the others (`telemetry`). */
export const LIMITS = {
  /** Maximum number of messages per second and process; the newest are used. */
  messagesPerSecond: 50,
  /** The same for datagrams, which contain less each. */
  datagramsPerSecond: 200,
  /** Maximum size of a telemetry message from a broker. */
  messageBytes: 65_536,
  /** Timeout of connecting to a broker. */
  connectSeconds: 10,
  /** MQTT keep-alive interval. */
  keepaliveSeconds: 15,
  /** Delays between attempts to reach a broker. */
  retry: { firstMs: 500, maxMs: 15_000 },
};
export type TelemetryLimits = Readonly<typeof LIMITS>;

export interface ChannelOptions {
  readonly setting: TelemetrySetting;
  /** Of the process. */
  readonly userUuid: string;
  readonly config: Pick<Config, "network" | "telemetry" | "http">;
  readonly limits: TelemetryLimits;
  /** Never throws, and buffers a bounded amount, however fast messages arrive. */
  onMessage(message: IncomingMessage): void;
  /** A message was dropped unread. */
  onDropped(reason: string): void;
  /** Why no messages can arrive; null: they can. */
  onTrouble(trouble: string | null): void;
}

export interface TelemetryChannel {
  /** What the user should check while no message has arrived. */
  readonly advice: string;
  /** Accepts a message of a client. Absent: the channel fetches messages itself. */
  receive?(message: IncomingMessage): void;
  /** No messages after this returns. */
  close(): void;
}

/** Returns at once: a channel that cannot connect retries until it is closed. */
export const openChannel = (options: ChannelOptions): TelemetryChannel => CHANNELS[options.setting.type](options);

const CHANNELS: Readonly<Record<TelemetrySetting["type"], (options: ChannelOptions) => TelemetryChannel>> = {
  mqtt: openMqtt,
  websocket: openWebsocket,
  static: openStatic,
  udp: openUdp,
  embedded: openEmbedded,
  file: openRecorded,
};

/** The parameters of the source are the only message. */
function openStatic({ setting, onMessage }: ChannelOptions): TelemetryChannel {
  const payload = JSON.stringify({ ...setting.parameters, timestamp: Date.now() / 1000 });
  onMessage({ payload, isLasting: true });
  return { advice: "the parameters of the source are used", close() {} };
}

const ports = new UdpPorts();

/** A port of this server that the drone sends to. */
function openUdp({
  setting,
  userUuid,
  config,
  limits,
  onMessage,
  onDropped,
  onTrouble,
}: ChannelOptions): TelemetryChannel {
  const { messageBytes: maxBytes, retry } = limits;
  const [port, sender] = [Number(setting.parameters.port), String(setting.parameters.sender)];
  const close = ports.listen({
    ...{ host: config.telemetry.udp_host ?? config.http.host, port, sender, userUuid, retry, onTrouble },
    onMessage: (payload) =>
      payload.length > maxBytes
        ? onDropped(`it has ${payload.length} bytes; the limit is ${maxBytes}`)
        : onMessage({ payload }),
  });
  return {
    advice: `listening on UDP port ${port}, no telemetry from ${sender} yet; check that the drone sends there, and that its address is ${sender}`,
    close,
  };
}

/** The runner finds it in the stream. */
function openEmbedded(): TelemetryChannel {
  const advice = "no metadata has arrived yet; check that the sender adds KLV (MISB ST 0601) to the stream";
  return { advice, close() {} };
}

function openRecorded(): TelemetryChannel {
  return { advice: "the video has not reached its telemetry yet", close() {} };
}

/** Clients send messages to the socket `telemetry` of the process; server/streams accepts them. */
function openWebsocket({ onMessage }: ChannelOptions): TelemetryChannel {
  let isOpen = true;
  return {
    advice: "no message has arrived yet; send messages to the telemetry_url that the start of the process returned",
    receive(message) {
      if (isOpen) onMessage(message);
    },
    close() {
      isOpen = false;
    },
  };
}

/** A topic of a broker, MQTT 3.1.1 or 5, without TLS. Reconnects until the process ends. */
function openMqtt(options: ChannelOptions): TelemetryChannel {
  const { setting, config, limits, onMessage, onDropped, onTrouble } = options;
  const { messageBytes: maxBytes, keepaliveSeconds, connectSeconds, retry } = limits;
  const { username, password } = setting.parameters;
  const url = brokerUrl(setting) ?? "";
  const topic = String(setting.parameters.topic);
  const closing = new AbortController();
  const { signal } = closing;
  const onOversized = (bytes: number) => onDropped(`it has ${bytes} bytes; the limit is ${maxBytes}`);
  const connector = new BrokerConnector(
    { url, username: textOf(username), password: textOf(password) },
    {
      ...{ network: config.network, path: "/telemetry_cfg/parameters/ip", signal, onOversized },
      ...{ keepaliveSeconds, connectSeconds },
      maxPacketBytes: maxBytes + OVERHEAD_BYTES,
    },
  );

  /** Resolves with the reason when the connection is lost. `onOpen`: messages arrive from now on. */
  const subscribe = async (onOpen: () => void): Promise<string> => {
    const { client, closed } = await connector.connect();
    let rejection: string | null = null;
    client.on("message", (_topic, payload, { retain: isRetained }) =>
      payload.length > maxBytes ? onOversized(payload.length) : onMessage({ payload, isRetained }),
    );
    client.subscribe(topic, { qos: 0 }, (error, granted) => {
      const isGranted = granted?.every(({ qos }) => qos < 128) ?? false;
      if (error === null && isGranted) return onOpen();
      // Disconnected before the answer: that says nothing about the topic.
      if (error !== null && granted === undefined && !client.connected) return;
      const detail = error === null ? "" : `: ${error.message}`;
      rejection = `${url}: the broker does not allow us to read the topic ${topic}${detail}`;
      client.end(true);
    });
    const { message } = await closed;
    return rejection ?? message;
  };

  const keepSubscribed = async (): Promise<void> => {
    for (let attempt = 1; !signal.aborted; attempt++) {
      let openedMs = Number.POSITIVE_INFINITY;
      const reason = await subscribe(() => {
        openedMs = performance.now();
        onTrouble(null);
      }).catch((error: Error) => error.message);
      if (signal.aborted) return;
      onTrouble(`${reason}; retrying`);
      // A connection that is lost at once counts as a failed attempt.
      if (performance.now() - openedMs > retry.maxMs) attempt = 1;
      await sleep(backoff(attempt, retry), signal);
    }
  };

  onTrouble(`${url}: connecting`);
  void keepSubscribed();
  return {
    advice: `connected to ${url}, no message on the topic ${topic} yet; check that the drone publishes there`,
    close: () => closing.abort(),
  };
}

const textOf = (value: Json | undefined): string | null => (value === undefined ? null : String(value));

/** Topic and properties of a message, besides its payload. */
const OVERHEAD_BYTES = 70_000;
