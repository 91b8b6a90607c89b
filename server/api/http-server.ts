/** The HTTP server below the API: TLS, header limits, requests that are not valid HTTP, upgrades. */
import { randomUUID } from "node:crypto";
import { readFileSync } from "node:fs";
import { createServer, IncomingMessage, type RequestListener, type Server, type ServerResponse } from "node:http";
import { createServer as createTlsServer } from "node:https";
import type { AddressInfo } from "node:net";
import type { Duplex } from "node:stream";
import type { Logger } from "pino";
import type { Config } from "../../schemas/config.ts";
import { ServiceError } from "../service-error.ts";
import { writeProblem } from "../streams/upgrade.ts";
import type { ConnectionLimits, Connections } from "./connections.ts";

/** Requests with more headers are rejected with 431. */
const MAX_HEADER_BYTES = 16_384;
const MAX_HEADERS = 100;
/** One year. Without subdomains: they may belong to other services. */
const HSTS = "max-age=31536000";

/** Throws when a certificate or key cannot be read. */
export function createHttpServer(
  http: Config["http"],
  { keepAliveMs }: ConnectionLimits,
  connections: Connections,
  answer: RequestListener,
): Server {
  const options = {
    IncomingMessage: ApiRequest,
    maxHeaderSize: MAX_HEADER_BYTES,
    headersTimeout: http.request_seconds * 1000,
    // Uploads may take long; JSON bodies have their own limit.
    requestTimeout: 0,
    connectionsCheckingInterval: Math.min(1000, http.request_seconds * 500),
    keepAliveTimeout: keepAliveMs,
    // Checked by `findHeadFault`, so that the answer is a problem.
    requireHostHeader: false,
  };
  const listener = connections.serialize(answer);
  const tls = readTls(http);
  const server =
    tls === null
      ? createServer(options, listener)
      : createTlsServer({ ...options, ...tls, handshakeTimeout: http.request_seconds * 1000 }, listener);
  // One more than allowed, to detect too many.
  server.maxHeadersCount = MAX_HEADERS + 1;
  connections.watch(server);
  server.on("clientError", answerUnreadable);
  // `100 Continue` is sent when the body is needed, not before.
  server.on("checkContinue", listener);
  server.on("checkExpectation", listener);
  if (tls !== null)
    for (const event of ["request", "checkContinue", "checkExpectation"])
      server.prependListener(event, (_, response: ServerResponse) =>
        response.setHeader("Strict-Transport-Security", HSTS),
      );
  return server;
}

/** Faults in the headers that are independent of the path. */
export function findHeadFault({ headers, rawHeaders, httpVersion }: IncomingMessage): ServiceError | null {
  if (rawHeaders.length > 2 * MAX_HEADERS)
    return new ServiceError("headers_too_large", {
      detail: `The request has more than ${MAX_HEADERS} headers; send fewer.`,
    });
  if (httpVersion === "1.1" && headers.host === undefined)
    return new ServiceError("malformed_request", { detail: "The header `Host` is missing; HTTP/1.1 requires it." });
  if (headers.expect !== undefined && headers.expect.toLowerCase() !== "100-continue")
    return new ServiceError("expectation_failed", {
      detail: "The header `Expect` has a value other than `100-continue`; leave it out.",
    });
  return null;
}

function readTls(http: Config["http"]): { cert: Buffer; key: Buffer; minVersion: "TLSv1.2" } | null {
  if (http.tls_cert === null && http.tls_key === null) return null;
  if (http.tls_cert === null || http.tls_key === null)
    throw new Error("http.tls_cert and http.tls_key must be set together: set both, or neither");
  return { cert: readPem("tls_cert", http.tls_cert), key: readPem("tls_key", http.tls_key), minVersion: "TLSv1.2" };
}

function readPem(name: string, path: string): Buffer {
  try {
    return readFileSync(path);
  } catch (cause) {
    const reason = cause instanceof Error ? cause.message : String(cause);
    throw new Error(`http.${name}: cannot read the file: ${reason}`, { cause });
  }
}

/** Answers requests that are not valid HTTP, too large or too slow. */
function answerUnreadable(error: NodeJS.ErrnoException, socket: Duplex): void {
  if (error.code === "ECONNRESET" || !socket.writable) {
    socket.destroy();
    return;
  }
  writeProblem(socket, describeUnreadable(error.code), randomUUID());
}

function describeUnreadable(code: string | undefined): ServiceError {
  if (code === "ERR_HTTP_REQUEST_TIMEOUT")
    return new ServiceError("request_timeout", { detail: "The headers did not arrive in time." });
  if (code === "HPE_HEADER_OVERFLOW")
    return new ServiceError("headers_too_large", {
      detail: `The headers are larger than ${MAX_HEADER_BYTES} bytes; send fewer or shorter headers.`,
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
    EADDRINUSE: "another program listens on this port; stop it, or set http.port (0 for any free port)",
    EADDRNOTAVAIL: "this machine does not have this address; set http.host",
    EACCES: "permission denied; set http.port above 1023",
    ENOTFOUND: "this host name does not resolve; set http.host",
  };
  const reason = reasons[error.code ?? ""] ?? error.message;
  return new Error(`cannot listen on ${host}:${port}: ${reason}`, { cause: error });
}

/**
 * A request whose `Upgrade` counts only for websockets. Java's HTTP client and `curl --http2` send `Upgrade: h2c` with
 * every request: it is ignored.
 */
class ApiRequest extends IncomingMessage {
  // Not a #private field: the constructor of `IncomingMessage` sets `upgrade` before such a field exists.
  declare private isUpgrade: boolean | undefined;

  set upgrade(value: boolean | null) {
    this.isUpgrade = value === true;
  }

  /** Node reads it after the headers: false continues with plain HTTP. */
  get upgrade(): boolean {
    const isWebsocket = this.headers.upgrade?.toLowerCase() === "websocket";
    return this.isUpgrade === true && (isWebsocket || this.method === "CONNECT");
  }
}

/** Runs the upgrade hook. An error of the hook is a bug: it is logged, and ends only this connection. */
export async function runUpgrade(
  upgrade: () => boolean | Promise<void>,
  reject: (error: unknown) => void,
  log: Logger,
): Promise<void> {
  try {
    if ((await upgrade()) === false) reject(noSuchSocket());
  } catch (error) {
    log.error({ err: error }, "upgrade failed");
    reject(error);
  }
}

const noSuchSocket = (): ServiceError =>
  new ServiceError("path_not_found", { detail: "This path is not a websocket; send the request without `Upgrade`." });
