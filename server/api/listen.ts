/** The HTTP server beneath the API. */

import { randomUUID } from "node:crypto";
import { readFileSync } from "node:fs";
import { createServer, type IncomingMessage, type RequestListener, type Server, type ServerResponse } from "node:http";
import { createServer as createTlsServer } from "node:https";
import type { AddressInfo } from "node:net";
import type { Duplex } from "node:stream";
import type { Config } from "../../schemas/config.ts";
import { ServiceError } from "../service-error.ts";
import type { Connections } from "./connections.ts";
import { problemHeaders, toProblem } from "./problem.ts";
import { ApiRequest } from "./request.ts";
import { writeProblem } from "./upgrade.ts";

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
