/** One request: its id, client address, log and input, as endpoints see it; and the access log. */
import { randomUUID } from "node:crypto";
import type { IncomingHttpHeaders, IncomingMessage, ServerResponse } from "node:http";
import { type BlockList, isIP } from "node:net";
import type { MiddlewareHandler } from "hono";
import type { Logger } from "pino";
import { plainAddress } from "../../schemas/client-origin.ts";
import type { ErrorCode } from "../../schemas/errors.ts";
import { maskCredentials } from "../../schemas/mask.ts";
import type { Hop } from "../cluster/peers.ts";
import type { Credential } from "../keys/sessions.ts";
import type { AnsweredRequest } from "../metrics/metrics.ts";
import { readNetworks } from "../net/addresses.ts";
import type { Span } from "../tracing/span.ts";
import type { User } from "../user.ts";

export interface ApiEnv {
  Bindings: { readonly call: ApiCall };
}
export type ApiMiddleware = MiddlewareHandler<ApiEnv>;

const SAFE_ID = /^[A-Za-z0-9._:/+=-]{1,128}$/;

/** The client's request id if it is safe to log and to send back, else a new one. */
export function readRequestId({ headers }: IncomingMessage): string {
  const given = headers["x-request-id"];
  return typeof given === "string" && SAFE_ID.test(given) ? given : randomUUID();
}

/** User, parameters and input are set before its endpoint is called. */
export class ApiCall {
  /** For bodies that are streamed. */
  readonly raw: IncomingMessage;
  readonly outgoing: ServerResponse;
  readonly requestId: string;
  /** IP address of the client, resolved through trusted proxies. */
  address: string;
  /** Scheme, host and port of the service as clients see it, without a trailing slash: the start of URLs we hand out. */
  publicUrl: string;
  /** Set if another node passed the request on. */
  hop: Hop | null = null;
  /** When the request arrived, by `performance.now()`. */
  readonly startedMs = performance.now();
  user: User | null = null;
  /** What the user was authenticated with. */
  credential: Credential | null = null;
  params: Readonly<Record<string, string>> = {};
  query: unknown = {};
  body: unknown;
  /** Null until a route matches. */
  endpoint: { readonly method: string; readonly path: string; readonly errors: readonly ErrorCode[] } | null = null;
  /** The path with its parameters in braces. */
  route: string | null = null;
  errorCode: string | null = null;
  /** Header `Allow` of an error: set when the path does not support the method. */
  allow: string | null = null;
  /** Headers of its answer that say how many requests the key may still send. */
  limitHeaders: Readonly<Record<string, string>> = {};
  /** Null: it is not traced. */
  readonly span: Span | null;
  readonly #log: Logger;
  #child: Logger | undefined;
  #abort: AbortController | undefined;
  #search: URLSearchParams | undefined;

  constructor(
    incoming: IncomingMessage,
    outgoing: ServerResponse,
    addresses: ClientAddresses,
    log: Logger,
    span: Span | null = null,
  ) {
    this.raw = incoming;
    this.span = span;
    this.outgoing = outgoing;
    this.#log = log;
    this.requestId = readRequestId(incoming);
    const { address, publicUrl } = addresses.find(incoming);
    this.address = address;
    this.publicUrl = publicUrl;
  }

  /** Another node passed it on: the client is that of the other node. */
  setHop(hop: Hop): void {
    this.hop = hop;
    this.address = hop.address;
    this.publicUrl = hop.publicUrl;
  }

  get headers(): IncomingHttpHeaders {
    return this.raw.headers;
  }

  get log(): Logger {
    const { span } = this;
    this.#child ??= this.#log.child({ request_id: this.requestId, ...(span !== null && { trace_id: span.traceId }) });
    return this.#child;
  }

  get search(): URLSearchParams {
    const { url = "" } = this.raw;
    const start = url.indexOf("?");
    this.#search ??= new URLSearchParams(start === -1 ? "" : url.slice(start + 1));
    return this.#search;
  }

  /** Aborted when the client has disconnected. Created on demand: most endpoints answer at once. */
  get signal(): AbortSignal {
    if (this.#abort !== undefined) return this.#abort.signal;
    const abort = new AbortController();
    const check = () => {
      if (!this.outgoing.writableFinished) abort.abort(new Error("the client has disconnected"));
    };
    if (this.outgoing.closed) check();
    else this.outgoing.once("close", check);
    this.#abort = abort;
    return abort.signal;
  }

  /** Answers `Expect: 100-continue`. Endpoints with a `rawBody` call it after all checks that do not need the body. */
  readonly letContinue = (): void => {
    if (this.headers.expect?.toLowerCase() === "100-continue") this.outgoing.writeContinue();
  };
}

/** Called when the answer is sent or the client has disconnected. */
export function logAccess(call: ApiCall, { method, status, seconds }: AnsweredRequest, log: Logger): void {
  const { raw, outgoing, requestId, address, user, errorCode, span } = call;
  const line = {
    request_id: requestId,
    ...(span !== null && { trace_id: span.traceId }),
    method,
    path: maskTarget(raw.url ?? ""),
    status,
    ms: Math.round(seconds * 10_000) / 10,
    address,
    ...(user !== null && { username: user.username }),
    ...(errorCode !== null && { code: errorCode }),
    ...(!outgoing.writableFinished && { aborted: true }),
  };
  log.info(line, "request");
}

const MAX_LOGGED = 500;
/** More than is logged, so that a password at the end of the logged part is still recognised. */
const MAX_MASKED = 4000;

const PARAMETER = /(^|&)([^&=]*)(=[^&]*)?/g;

/** Parameter names may be percent-encoded; parameters that cannot be decoded are masked. */
function maskTarget(target: string): string {
  const [path = "", ...rest] = target.slice(0, MAX_MASKED).split("?");
  if (rest.length === 0) return maskCredentials(path).slice(0, MAX_LOGGED);
  const query = rest.join("?").replaceAll(PARAMETER, (_, start: string, name: string, value = "") => {
    try {
      return `${start}${decodeURIComponent(name)}${value}`;
    } catch {
      return `${start}***`;
    }
  });
  return maskCredentials(`${path}?${query}`).slice(0, MAX_LOGGED);
}

const HOST = /^(?:[A-Za-z0-9._-]{1,253}|\[[0-9A-Fa-f:.]{2,45}\])(?::\d{1,5})?$/;

/** Client address and public URL of a request. `X-Forwarded-*` counts only if a trusted proxy has sent it. */
export class ClientAddresses {
  /** Null: none. */
  readonly #trusted: BlockList | null;
  readonly #publicUrl: string | null;

  /** Throws if an entry is neither an address nor a network. */
  constructor(trustedProxies: readonly string[], publicUrl: string | null) {
    this.#trusted = trustedProxies.length === 0 ? null : readNetworks(trustedProxies, "http.trusted_proxies");
    this.#publicUrl = publicUrl?.replace(/(?<!\/)\/+$/, "") ?? null;
  }

  find(incoming: IncomingMessage): { readonly address: string; readonly publicUrl: string } {
    const peer = plainAddress(incoming.socket.remoteAddress ?? "");
    const isProxied = this.isTrusted(peer);
    return {
      address: isProxied ? this.#findClient(peer, incoming) : peer,
      publicUrl: this.#publicUrl ?? findOrigin(incoming, isProxied),
    };
  }

  /** From right to left: entries to the left of the first untrusted address may be forged. */
  #findClient(peer: string, incoming: IncomingMessage): string {
    let client = peer;
    for (const entry of headerOf(incoming, "x-forwarded-for").split(",").reverse()) {
      const address = plainAddress(entry.trim());
      if (isIP(address) === 0) break;
      client = address;
      if (!this.isTrusted(address)) break;
    }
    return client;
  }

  isTrusted(address: string): boolean {
    if (this.#trusted === null) return false;
    const plain = plainAddress(address);
    const family = isIP(plain);
    return family !== 0 && this.#trusted.check(plain, family === 6 ? "ipv6" : "ipv4");
  }
}

function findOrigin(incoming: IncomingMessage, isProxied: boolean): string {
  const forwarded = (name: string) => (isProxied ? firstOf(headerOf(incoming, name)) : "");
  const isTls = "encrypted" in incoming.socket && incoming.socket.encrypted === true;
  const proto = forwarded("x-forwarded-proto");
  const scheme = proto === "http" || proto === "https" ? proto : isTls ? "https" : "http";
  const host = [forwarded("x-forwarded-host"), incoming.headers.host ?? ""].find((name) => HOST.test(name));
  return `${scheme}://${host ?? localHost(incoming)}`;
}

function localHost({ socket: { localAddress = "localhost", localPort = 80 } }: IncomingMessage): string {
  const address = plainAddress(localAddress);
  return `${isIP(address) === 6 ? `[${address}]` : address}:${localPort}`;
}

const firstOf = (list: string): string => list.split(",")[0]?.trim() ?? "";
const headerOf = ({ headers }: IncomingMessage, name: string): string => {
  const value = headers[name];
  return Array.isArray(value) ? value.join(",") : (value ?? "");
};
