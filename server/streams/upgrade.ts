/** HTTP upgrades: the contract between the HTTP server and the websockets, and errors on a connection without a response object. */
import { type IncomingMessage, STATUS_CODES } from "node:http";
import type { Duplex } from "node:stream";
import type { Logger } from "pino";
import { problemHeaders, toProblem, toServiceError } from "../problem.ts";

export interface UpgradeCall {
  readonly address: string;
  readonly requestId: string;
  readonly publicUrl: string;
  readonly log: Logger;
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
