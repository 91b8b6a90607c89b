/** HTTP upgrades: the contract between the HTTP server and the websockets, and errors on a connection without a response object. */
import { type IncomingMessage, STATUS_CODES } from "node:http";
import type { Duplex } from "node:stream";
import type { Logger } from "pino";
import type { Scope } from "../../schemas/api/keys.ts";
import type { Hop } from "../cluster/peers.ts";
import { readCredential } from "../keys/sessions.ts";
import { problemHeaders, toProblem, toServiceError } from "../problem.ts";
import { ServiceError } from "../service-error.ts";

export interface UpgradeCall {
  readonly address: string;
  readonly requestId: string;
  readonly publicUrl: string;
  readonly log: Logger;
  /** Set if another node passed the request on. */
  readonly hop?: Hop | null;
}

/**
 * Accepts the connection, or rejects it with `writeProblem`. Returns false if the path is not a websocket. Otherwise the
 * hook owns the socket.
 */
export type UpgradeHook = (
  request: IncomingMessage,
  socket: Duplex,
  head: Buffer,
  call: UpgradeCall,
) => boolean | Promise<void>;

/** A client that is disconnected while it sends may miss the answer: its data is read and discarded for this long. */
const LINGER_MS = 2000;

/** Answers with a problem document on the bare socket, and closes it. */
export function writeProblem(
  socket: Duplex,
  thrown: unknown,
  requestId: string,
  headers: Readonly<Record<string, string>> = {},
): void {
  if (socket.destroyed || !socket.writable) {
    socket.destroy();
    return;
  }
  const error = toServiceError(thrown);
  const body = JSON.stringify(toProblem(error, requestId));
  const all = {
    ...problemHeaders(error, requestId),
    ...headers,
    "Content-Length": String(Buffer.byteLength(body)),
    Connection: "close",
  };
  const lines = Object.entries(all).map(([name, value]) => `${name}: ${value}\r\n`);
  socket.on("error", () => socket.destroy());
  const timer = setTimeout(() => socket.destroy(), LINGER_MS);
  socket.once("close", () => clearTimeout(timer));
  // Without reading, the client's FIN is never seen and the connection stays half open.
  socket.resume();
  socket.end(`HTTP/1.1 ${error.status} ${STATUS_CODES[error.status] ?? ""}\r\n${lines.join("")}\r\n${body}`);
}

/** Websockets of a process, by the end of their path. */
export const CHANNELS = ["detection_data", "drone_data", "telemetry"] as const;
export type Channel = (typeof CHANNELS)[number];

/** What a key needs to open it. */
export const CHANNEL_SCOPES: Readonly<Record<Channel, Scope>> = {
  ...{ detection_data: "read", drone_data: "read", telemetry: "publish" },
};

export interface Target {
  readonly processUuid: string;
  readonly channel: Channel;
  readonly apiKey: string | null;
  /** Of a signed URL. */
  readonly token: string | null;
}

/** With UUIDs in any case and an optional slash at the end, as in all paths. */
const PATH = /^\/process\/([0-9a-fA-F]{8}(?:-[0-9a-fA-F]{4}){3}-[0-9a-fA-F]{12})\/([a-z_]+)\/?$/;
const NONCE = /^[+/0-9A-Za-z]{22}==$/;
const isChannel = (word: string | undefined): word is Channel => CHANNELS.some((channel) => channel === word);

/** Null if it is not the path of a websocket. */
export function readTarget(request: IncomingMessage, call: Pick<UpgradeCall, "publicUrl" | "hop">): Target | null {
  const { url = "" } = request;
  const [, processUuid, channel] = PATH.exec(url.split("?", 1)[0] ?? "") ?? [];
  if (processUuid === undefined || !isChannel(channel)) return null;
  const token = new URLSearchParams(url.split("?").slice(1).join("?")).get("token");
  const credential = readCredential(request, {
    ...{ publicUrl: call.publicUrl, isPassedOn: call.hop != null, acceptsUrl: true },
  });
  return { processUuid: processUuid.toLowerCase(), channel, apiKey: credential?.key ?? null, token };
}

/** RFC 6455, 4.2.1. */
export function checkHandshake({ method, headers }: IncomingMessage): void {
  if (method !== "GET") {
    throw new ServiceError("method_not_allowed", { detail: `A websocket is opened with GET; received ${method}.` });
  }
  if (headers["sec-websocket-version"] !== "13") {
    const met = headers["sec-websocket-version"] ?? "none";
    throw new ServiceError("upgrade_needed", { detail: `Expected Sec-WebSocket-Version 13, received ${met}.` });
  }
  if (!NONCE.test(headers["sec-websocket-key"] ?? "")) {
    const detail = "Expected a Sec-WebSocket-Key of 16 bytes in base64. Use a websocket client for this URL.";
    throw new ServiceError("malformed_request", { detail });
  }
}

/** Additional headers of responses to an invalid handshake, by status. */
export const HANDSHAKE_HEADERS: Readonly<Record<number, Readonly<Record<string, string>>>> = {
  405: { Allow: "GET, HEAD, OPTIONS" },
  426: { Upgrade: "websocket", "Sec-WebSocket-Version": "13" },
};
