/** Telemetry settings of a source, as stored and as shown. Their schema has been checked. */
import type { Static, TObject } from "typebox";
import {
  EmbeddedParameters,
  MqttParameters,
  StaticParameters,
  type TelemetryCfg,
  UdpParameters,
  WebsocketParameters,
} from "../../schemas/api/sources.ts";
import type { JsonRecord } from "../../schemas/json.ts";
import type { TelemetrySetting } from "../store/sources.ts";

export type { TelemetrySetting };

const MASK = "***";

type ChannelName = Exclude<TelemetrySetting["type"], "file">;

const FORMATS: Readonly<Record<ChannelName, string>> = {
  mqtt: "native",
  websocket: "native",
  static: "native",
  udp: "mavlink",
  embedded: "misb_0601",
};

const PARAMETERS: Readonly<Record<ChannelName, TObject>> = {
  mqtt: MqttParameters,
  websocket: WebsocketParameters,
  static: StaticParameters,
  udp: UdpParameters,
  embedded: EmbeddedParameters,
};

/** With defaults, without unknown fields, keys in a fixed order: equal settings are equal texts. */
export function readTelemetry(given: Static<typeof TelemetryCfg> | null | undefined): TelemetrySetting | null {
  if (given === null || given === undefined) return null;
  const { type } = given;
  const { format = FORMATS[type] } = given;
  const parameters = (given.parameters ?? {}) as JsonRecord;
  const known = Object.keys(PARAMETERS[type].properties).filter((name) => parameters[name] !== undefined);
  return { type, format, parameters: Object.fromEntries(known.map((name) => [name, parameters[name] ?? null])) };
}

/** A stored password is only sent to the broker and user that it was given for. */
const BROKER_KEYS = ["ip", "port", "username"] as const;

/** Replaces a masked password by the stored one. Null if there is none, or it is for another broker or user. */
export function keepSecrets(given: TelemetrySetting, before: TelemetrySetting | null): TelemetrySetting | null {
  if (given.parameters.password !== MASK) return given;
  const known = before?.parameters ?? {};
  const isSame = BROKER_KEYS.every((key) => given.parameters[key] === known[key]);
  if (!isSame || known.password === undefined) return null;
  return { ...given, parameters: { ...given.parameters, password: known.password } };
}

export function maskTelemetry(setting: TelemetrySetting | null): TelemetrySetting | null {
  if (setting === null || setting.parameters.password === undefined) return setting;
  return { ...setting, parameters: { ...setting.parameters, password: MASK } };
}

/** Null for telemetry that clients send to this server. */
export function brokerUrl({ type, parameters }: TelemetrySetting): string | null {
  if (type !== "mqtt") return null;
  const host = String(parameters.ip);
  return `mqtt://${host.includes(":") ? `[${host}]` : host}:${parameters.port}`;
}
