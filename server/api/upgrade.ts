/** Connections that ask to become something else: websockets. */
import type { IncomingMessage } from "node:http";
import { STATUS_CODES } from "node:http";
import type { Duplex } from "node:stream";
import type { Logger } from "pino";
import { ServiceError } from "../service-error.ts";
import { problemHeaders, toProblem, toServiceError } from "./problem.ts";

/** What is known of the one who asks. */
export interface UpgradeCall {
  readonly address: string;
  readonly requestId: string;
  readonly publicUrl: string;
  readonly log: Logger;
}

/**
 * Takes the connection over, or refuses it with `refuseUpgrade`. False: not a path of its. From `true` on, or once the
 * promise is there, the socket is the hook's.
 */
export type UpgradeHook = (
  request: IncomingMessage,
  socket: Duplex,
  head: Buffer,
  call: UpgradeCall,
) => boolean | Promise<void>;

/** Answers with a problem, as any request is answered, and closes. */
export function refuseUpgrade(
  socket: Duplex,
  error: unknown,
  requestId: string,
  headers: Readonly<Record<string, string>> = {},
): void {
  writeProblem(socket, toServiceError(error), requestId, headers);
}

/** Lets the hook have it; what the hook throws is a fault of ours and costs nobody else anything. */
export async function takeUpgrade(
  take: () => boolean | Promise<void>,
  refuse: (error: unknown) => void,
  log: Logger,
): Promise<void> {
  try {
    if ((await take()) === false) refuse(noSuchSocket());
  } catch (error) {
    log.error({ err: error }, "an upgrade failed");
    refuse(error);
  }
}

const noSuchSocket = (): ServiceError =>
  new ServiceError("path_not_found", { detail: "There is no socket on this path; ask without `Upgrade`." });

/** What still comes is read and thrown away for so long: a client that is cut off while it sends may miss the answer. */
const LINGER_MS = 2000;

/** An answer on a bare socket, where there is no response to write to. */
export function writeProblem(
  socket: Duplex,
  error: ServiceError,
  requestId: string,
  headers: Readonly<Record<string, string>> = {},
): void {
  if (socket.destroyed || !socket.writable) {
    socket.destroy();
    return;
  }
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
  // Also for the end of what it sends, without which the connection would stay half open.
  socket.resume();
  socket.end(`HTTP/1.1 ${error.status} ${STATUS_CODES[error.status] ?? ""}\r\n${lines.join("")}\r\n${body}`);
}
