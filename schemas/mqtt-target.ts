/** Parses the URL of an output of detections to an MQTT broker, for the service, which validates it, and the element, which uses it. */
import { checkTopic, decode } from "./cot-target.ts";
import { didYouMean } from "./suggest.ts";

export const MQTT_URL = "^mqtts?://(?:[^/?#@\\s\\\\]+@)?[^/?#@\\s\\\\]+/[^?#\\s\\\\]+(?:\\?[A-Za-z0-9_&=-]*)?$";
export const MQTT_URL_MEANS =
  "`mqtt://user:password@host:port/topic`, or `mqtts://` with TLS. The topic may contain `{source_uuid}`, `{process_uuid}`, `{track_id}` and `{class_name}`. Options: `?qos=0` to `2`, `retain=true`, and `interval_ms=500` for the minimum time between two messages of one topic.";

export interface MqttDataTarget {
  readonly host: string;
  readonly port: number;
  readonly isSecure: boolean;
  readonly username: string | undefined;
  readonly password: string | undefined;
  /** With placeholders. */
  readonly topic: string;
  readonly qos: 0 | 1 | 2;
  readonly isRetained: boolean;
  readonly intervalMs: number;
}

const PLACEHOLDERS = ["source_uuid", "process_uuid", "track_id", "class_name"];
const PORTS: Readonly<Record<string, number>> = { "mqtt:": 1883, "mqtts:": 8883 };
const MOST_INTERVAL_MS = 3_600_000;

/** The target, or an error text without credentials. */
export function readMqttTarget(text: string): MqttDataTarget | string {
  const url = URL.canParse(text) ? new URL(text) : null;
  if (url === null || !(url.protocol in PORTS) || url.hostname === "" || url.pathname.length < 2 || url.hash !== "")
    return "is not a URL like mqtt://host:port/topic or mqtts://host:port/topic";
  const port = url.port === "" ? PORTS[url.protocol] : Number(url.port);
  if (port === undefined || port === 0) return "has the port 0";
  const [topic, username, password] = [url.pathname.slice(1), url.username, url.password].map(decode);
  if (topic === null || username === null || password === null) return "has a % that is not an escape; write it as %25";
  const options = readOptions(url.searchParams);
  if (typeof options === "string") return options;
  const fault = checkTopic(topic ?? "") ?? checkPlaceholders(topic ?? "");
  if (fault !== null) return fault;
  return {
    ...{ host: url.hostname.replace(/^\[|\]$/g, ""), port, isSecure: url.protocol === "mqtts:", topic: topic ?? "" },
    username: username === "" ? undefined : username,
    password: password === "" ? undefined : password,
    ...options,
  };
}

function readOptions(given: URLSearchParams): Pick<MqttDataTarget, "qos" | "isRetained" | "intervalMs"> | string {
  const known = ["qos", "retain", "interval_ms"];
  for (const [name] of given)
    if (!known.includes(name) || given.getAll(name).length > 1)
      return `has the option ${name}; expected each of ${known.join(", ")} at most once${didYouMean(name, known)}`;
  const qos = given.get("qos") ?? "0";
  if (!/^[012]$/.test(qos)) return "has a qos that is not 0, 1 or 2";
  const retain = given.get("retain") ?? "false";
  if (retain !== "true" && retain !== "false") return "has a retain that is not true or false";
  const interval = given.get("interval_ms") ?? "0";
  if (!/^\d{1,7}$/.test(interval) || Number(interval) > MOST_INTERVAL_MS)
    return `has an interval_ms that is not a number from 0 to ${MOST_INTERVAL_MS}`;
  return { qos: Number(qos) as 0 | 1 | 2, isRetained: retain === "true", intervalMs: Number(interval) };
}

function checkPlaceholders(topic: string): string | null {
  for (const [, name = ""] of topic.matchAll(/\{([^{}]*)\}/g))
    if (!PLACEHOLDERS.includes(name))
      return `has {${name}} in its topic; expected ${PLACEHOLDERS.map((known) => `{${known}}`).join(", ")}${didYouMean(name, PLACEHOLDERS)}`;
  return /[{}]/.test(topic.replace(/\{[^{}]*\}/g, ""))
    ? "has a brace in its topic that belongs to no placeholder"
    : null;
}

/** Values become one level of the topic. Unknown ones stay as they are. */
export const fillTopic = (topic: string, values: Readonly<Record<string, string | number>>): string =>
  topic.replace(/\{(\w+)\}/g, (whole, name: string) =>
    Object.hasOwn(values, name) ? String(values[name]).replace(/[/+#\p{Cc}]/gu, "_") : whole,
  );
