/** How a source's telemetry comes in: as it is kept, and as it is shown. Its shape has been checked before it gets here. */
import type { Static, TObject } from "typebox";
import { MqttParameters, StaticParameters, type TelemetryCfg, WebsocketParameters } from "../../schemas/api/sources.ts";
import type { JsonRecord } from "../../schemas/json.ts";

export interface TelemetrySetting {
  readonly type: "mqtt" | "websocket" | "static";
  readonly format: "native" | "vendor_a";
  readonly parameters: JsonRecord;
}

const MASK = "***";

const PARAMETERS: Readonly<Record<TelemetrySetting["type"], TObject>> = {
  mqtt: MqttParameters,
  websocket: WebsocketParameters,
  static: StaticParameters,
};

/** Defaults filled in, unknown fields gone, keys in one order: two that mean the same are the same text. */
export function readTelemetry(given: Static<typeof TelemetryCfg> | null | undefined): TelemetrySetting | null {
  if (given === null || given === undefined) return null;
  const { type, format = "native" } = given;
  const parameters = (given.parameters ?? {}) as JsonRecord;
  const known = Object.keys(PARAMETERS[type].properties).filter((name) => parameters[name] !== undefined);
  return { type, format, parameters: Object.fromEntries(known.map((name) => [name, parameters[name] ?? null])) };
}

/** What a password was given for: sent anywhere else it would be a gift to whoever listens there. */
const BROKER_KEYS = ["ip", "port", "username"] as const;

/**
 * The mask in place of a secret means that it stays what it was, for the same broker and user. Null when there was none,
 * or it was for another.
 */
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

/** What is connected to; null for channels that come to us. */
export function brokerUrl({ type, parameters }: TelemetrySetting): string | null {
  if (type !== "mqtt") return null;
  const host = String(parameters.ip);
  return `mqtt://${host.includes(":") ? `[${host}]` : host}:${parameters.port}`;
}
