/** The HTTP server beneath the API. */
import { randomUUID } from "node:crypto";
import { readFileSync } from "node:fs";
import {
  createServer,
  IncomingMessage,
  type RequestListener,
  type Server,
  type ServerResponse,
  STATUS_CODES,
} from "node:http";
import { createServer as createTlsServer } from "node:https";
import type { AddressInfo } from "node:net";
import type { Duplex } from "node:stream";
import type { Logger } from "pino";
import type { Config } from "../../schemas/config.ts";
import { ServiceError } from "../service-error.ts";
import type { Connections } from "./connections.ts";
import { problemHeaders, toProblem, toServiceError } from "./problem.ts";

/** Headers of a request: more are refused with 431. */
const MOST_HEADER_BYTES = 16_384;
const MOST_HEADERS = 100;
/** A year. Without subdomains: they may be somebody else's. */
const HSTS = "max-age=31536000";

/** Throws when a certificate or key cannot be read. */
export function createHttpServer(http: Config["http"], connections: Connections, answer: RequestListener): Server {
  const options = {
    IncomingMessage: ApiRequest,
    maxHeaderSize: MOST_HEADER_BYTES,
    headersTimeout: http.request_seconds * 1000,
    // Uploads take their time; JSON bodies have a limit of their own.
    requestTimeout: 0,
    connectionsCheckingInterval: Math.min(1000, http.request_seconds * 500),
    keepAliveTimeout: http.keep_alive_seconds * 1000,
    // Judged below, with an answer that says why.
    requireHostHeader: false,
  };
  const listener = connections.inTurn((incoming, outgoing) => {
    const fault = findHeadFault(incoming);
    if (fault === null) answer(incoming, outgoing);
    else refuse(outgoing, fault);
  });
  const tls = readTls(http);
  const server =
    tls === null
      ? createServer(options, listener)
      : createTlsServer({ ...options, ...tls, handshakeTimeout: http.request_seconds * 1000 }, listener);
  // One more than there may be, so that too many are seen.
  server.maxHeadersCount = MOST_HEADERS + 1;
  connections.watch(server);
  server.on("clientError", answerUnreadable);
  // A client that expects `100 Continue` gets it when the body is wanted, and not before.
  server.on("checkContinue", listener);
  server.on("checkExpectation", listener);
  if (tls !== null)
    for (const event of ["request", "checkContinue", "checkExpectation"])
      server.prependListener(event, (_, response: ServerResponse) =>
        response.setHeader("Strict-Transport-Security", HSTS),
      );
  return server;
}

/** What speaks against a request before anybody looks at what it asks for. */
export function findHeadFault({ headers, rawHeaders, httpVersion }: IncomingMessage): ServiceError | null {
  if (rawHeaders.length > 2 * MOST_HEADERS)
    return new ServiceError("headers_too_large", {
      detail: `The request has more than ${MOST_HEADERS} headers; send fewer.`,
    });
  if (httpVersion === "1.1" && headers.host === undefined)
    return new ServiceError("malformed_request", { detail: "The header `Host` is missing; HTTP/1.1 needs it." });
  if (headers.expect !== undefined && headers.expect.toLowerCase() !== "100-continue")
    return new ServiceError("expectation_failed", {
      detail: "The header `Expect` asks for something else than `100-continue`; leave it out.",
    });
  return null;
}

function refuse(outgoing: ServerResponse, error: ServiceError): void {
  const requestId = randomUUID();
  const body = JSON.stringify(toProblem(error, requestId));
  const headers = {
    ...problemHeaders(error, requestId),
    "Content-Length": Buffer.byteLength(body),
    Connection: "close",
  };
  outgoing.writeHead(error.status, headers).end(body);
}

function readTls(http: Config["http"]): { cert: Buffer; key: Buffer; minVersion: "TLSv1.2" } | null {
  if (http.tls_cert === null && http.tls_key === null) return null;
  if (http.tls_cert === null || http.tls_key === null)
    throw new Error("http.tls_cert and http.tls_key belong together: set both, or neither");
  return { cert: readPem("tls_cert", http.tls_cert), key: readPem("tls_key", http.tls_key), minVersion: "TLSv1.2" };
}

function readPem(name: string, path: string): Buffer {
  try {
    return readFileSync(path);
  } catch (cause) {
    const reason = cause instanceof Error ? cause.message : String(cause);
    throw new Error(`http.${name} names a file that cannot be read: ${reason}`, { cause });
  }
}

/** What is no HTTP, too long or too slow. */
function answerUnreadable(error: NodeJS.ErrnoException, socket: Duplex): void {
  if (error.code === "ECONNRESET" || !socket.writable) {
    socket.destroy();
    return;
  }
  writeProblem(socket, describeUnreadable(error.code), randomUUID());
}

function describeUnreadable(code: string | undefined): ServiceError {
  if (code === "ERR_HTTP_REQUEST_TIMEOUT")
    return new ServiceError("request_timeout", { detail: "The headers took too long to arrive." });
  if (code === "HPE_HEADER_OVERFLOW")
    return new ServiceError("headers_too_large", {
      detail: `The headers are longer than the ${MOST_HEADER_BYTES} bytes that they may be.`,
    });
  return new ServiceError("malformed_request", { detail: "This is not a valid HTTP request." });
}

/** Resolves with the address it listens on. */
export function listen(server: Server, host: string, port: number): Promise<AddressInfo> {
  return new Promise((resolve, reject) => {
    const onError = (error: NodeJS.ErrnoException) => reject(describeListenFault(error, host, port));
    server.once("error", onError);
    server.listen({ host, port }, () => {
      server.off("error", onError);
      resolve(server.address() as AddressInfo);
    });
  });
}

function describeListenFault(error: NodeJS.ErrnoException, host: string, port: number): Error {
  const reasons: Record<string, string> = {
    EADDRINUSE: "another program listens there; stop it, or set http.port (0 for any that is free)",
    EADDRNOTAVAIL: "this machine has no such address; set http.host",
    EACCES: "this needs rights that we do not have; set http.port above 1023",
    ENOTFOUND: "this name has no address; set http.host",
  };
  const reason = reasons[error.code ?? ""] ?? error.message;
  return new Error(`cannot listen on ${host}:${port}: ${reason}`, { cause: error });
}

/**
 * A request that may ask for websockets and for nothing else. Java's HTTP client and `curl --http2` offer `Upgrade: h2c`
 * with requests of every kind: they are to be answered as if they had not.
 */
export class ApiRequest extends IncomingMessage {
  // No private field: the constructor of `IncomingMessage` sets `upgrade` before there could be one.
  declare private isUpgrade: boolean | undefined;

  set upgrade(value: boolean | null) {
    this.isUpgrade = value === true;
  }

  /** Read by Node when the headers are there: false makes it go on with HTTP. */
  get upgrade(): boolean {
    const isWebsocket = this.headers.upgrade?.toLowerCase() === "websocket";
    return this.isUpgrade === true && (isWebsocket || this.method === "CONNECT");
  }
}

/** Connections that ask to become something else: websockets. */

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
