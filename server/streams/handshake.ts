import type { IncomingMessage } from "node:http";
import { ServiceError } from "../service-error.ts";

/** Sockets of a process, by the last word of their path. */
export const CHANNELS = ["detection_data", "drone_data", "telemetry"] as const;
export type Channel = (typeof CHANNELS)[number];

export interface Target {
  readonly processUuid: string;
  readonly channel: Channel;
  readonly apiKey: string | null;
}

/** UUIDs may come in capitals, and a slash at the end, as in all paths. */
const PATH = /^\/process\/([0-9a-fA-F]{8}(?:-[0-9a-fA-F]{4}){3}-[0-9a-fA-F]{12})\/([a-z_]+)\/?$/;
const NONCE = /^[+/0-9A-Za-z]{22}==$/;
const isChannel = (word: string | undefined): word is Channel => CHANNELS.some((channel) => channel === word);

/** Null when it is no path of a websocket. */
export function readTarget(request: IncomingMessage): Target | null {
  const { url = "" } = request;
  const [, processUuid, channel] = PATH.exec(url.split("?", 1)[0] ?? "") ?? [];
  if (processUuid === undefined || !isChannel(channel)) return null;
  return { processUuid: processUuid.toLowerCase(), channel, apiKey: readKey(request) };
}

/** The header goes before the address. */
export function readKey({ url = "", headers }: IncomingMessage): string | null {
  const header = headers.api_key;
  if (typeof header === "string" && header !== "") return header;
  const at = url.indexOf("?");
  return at < 0 ? null : new URLSearchParams(url.slice(at + 1)).get("api_key");
}

/** RFC 6455, 4.2.1. */
export function checkHandshake({ method, headers }: IncomingMessage): void {
  if (method !== "GET") {
    throw new ServiceError("method_not_allowed", { detail: `A websocket is opened by GET; this was ${method}.` });
  }
  if (headers["sec-websocket-version"] !== "13") {
    const met = headers["sec-websocket-version"] ?? "none";
    throw new ServiceError("upgrade_needed", { detail: `Expected Sec-WebSocket-Version 13, found ${met}.` });
  }
  if (!NONCE.test(headers["sec-websocket-key"] ?? "")) {
    const detail = "Expected a Sec-WebSocket-Key of 16 bytes in base64. Use a websocket client for this address.";
    throw new ServiceError("malformed_request", { detail });
  }
}

/** What the answer to a request without a proper handshake says besides, by its status. */
export const REFUSAL_HEADERS: Readonly<Record<number, Readonly<Record<string, string>>>> = {
  405: { Allow: "GET, HEAD, OPTIONS" },
  426: { Upgrade: "websocket", "Sec-WebSocket-Version": "13" },
};
