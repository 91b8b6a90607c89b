/** Parses the destination URL of Cursor on Target events, for the service, which validates it, and the element, which uses it. */

export const COT_URL =
  "^(udp://[^/?#@\\s\\\\]+:\\d{1,5}/?(\\?ttl=\\d{1,3})?|(tcp|tls)://[^/?#@\\s\\\\]+:\\d{1,5}/?|mqtt://([^/?#@\\s\\\\]+@)?[^/?#@\\s\\\\]+/[^?#\\s\\\\]+(\\?qos=[01])?)$";
export const COT_URL_MEANS =
  "`udp://host:port` for one datagram per event, with `?ttl=8` for a multicast group beyond the next router; `tcp://host:port` or `tls://host:port` for a TAK server; or `mqtt://user:password@host:port/topic`, with `?qos=1` for events that the broker must acknowledge.";

export type CotTarget = UdpTarget | TakTarget | MqttTarget;

/** A TAK server. */
export interface TakTarget {
  readonly scheme: "tcp" | "tls";
  /** Without brackets. */
  readonly host: string;
  readonly port: number;
}

export interface UdpTarget {
  readonly scheme: "udp";
  /** Without brackets. */
  readonly host: string;
  readonly port: number;
  /** Multicast time to live. */
  readonly ttl: number;
}

export interface MqttTarget {
  readonly scheme: "mqtt";
  readonly host: string;
  readonly port: number;
  readonly username: string | undefined;
  readonly password: string | undefined;
  readonly topic: string;
  readonly qos: 0 | 1;
}

const MQTT_PORT = 1883;
/** Within the length limit of the URL. */
const MOST_TOPIC_BYTES = 1024;

/** The target, or an error text without credentials. */
export function readCotTarget(text: string): CotTarget | string {
  if (!new RegExp(COT_URL).test(text) || !URL.canParse(text))
    return "is not a URL like udp://host:port, tcp://host:port, tls://host:port or mqtt://host:port/topic";
  const url = new URL(text);
  const host = url.hostname.replace(/^\[|\]$/g, "");
  const port = url.port === "" ? MQTT_PORT : Number(url.port);
  if (port === 0) return "has the port 0";
  if (url.protocol === "udp:") return readTtl(url, host, port);
  if (url.protocol === "tcp:" || url.protocol === "tls:")
    return { scheme: url.protocol === "tcp:" ? "tcp" : "tls", host, port };
  const [topic, username, password] = [url.pathname.slice(1), url.username, url.password].map(decode);
  if (topic === null || username === null || password === null) return "has a % that is not an escape; write it as %25";
  const fault = checkTopic(topic ?? "");
  if (fault !== null) return fault;
  return {
    ...{ scheme: "mqtt", host, port, topic: topic ?? "" },
    username: username === "" ? undefined : username,
    password: password === "" ? undefined : password,
    qos: url.searchParams.get("qos") === "1" ? 1 : 0,
  };
}

function readTtl(url: URL, host: string, port: number): UdpTarget | string {
  const ttl = Number(url.searchParams.get("ttl") ?? 1);
  return ttl >= 1 && ttl <= 255 ? { scheme: "udp", host, port, ttl } : "has a ttl that is not between 1 and 255";
}

/** What is wrong with a topic to publish to; null: nothing. */
export function checkTopic(topic: string): string | null {
  if (/[+#\0]/.test(topic)) return "has + or # in its topic, which are not allowed for publishing";
  if (topic.startsWith("$")) return "has a topic that begins with $, which is reserved for the broker";
  if (new TextEncoder().encode(topic).length > MOST_TOPIC_BYTES)
    return `has a topic of more than ${MOST_TOPIC_BYTES} bytes`;
  return null;
}

/** Null for a `%` that does not begin an escape. */
export function decode(text: string): string | null {
  try {
    return decodeURIComponent(text);
  } catch {
    return null;
  }
}
