/** Request information in Hono's context: id, client address, log; and the access log. */
import { randomUUID } from "node:crypto";
import type { IncomingMessage, ServerResponse } from "node:http";
import { BlockList, isIP } from "node:net";
import type { HttpBindings } from "@hono/node-server";
import type { MiddlewareHandler } from "hono";
import type { Logger } from "pino";
import { plainAddress } from "../../schemas/client-origin.ts";
import { maskCredentials } from "../../schemas/mask.ts";
import type { User } from "../user.ts";
import type { AnyEndpoint } from "./endpoint.ts";

export interface ApiEnv {
  Bindings: HttpBindings;
  Variables: {
    info: RequestInfo;
    /** Validated path parameters. */
    params: Record<string, string>;
    user: User | null;
    /** Validated query and body. */
    input: { readonly query: unknown; readonly body: unknown };
  };
}
export type ApiMiddleware = MiddlewareHandler<ApiEnv>;

const SAFE_ID = /^[A-Za-z0-9._:/+=-]{1,128}$/;

/** The client's request id if it is safe to log and to send back, else a new one. */
export function readRequestId({ headers }: IncomingMessage): string {
  const given = headers["x-request-id"];
  return typeof given === "string" && SAFE_ID.test(given) ? given : randomUUID();
}

export class RequestInfo {
  readonly requestId: string;
  readonly address: string;
  readonly publicUrl: string;
  /** By `performance.now()`. */
  readonly startedMs = performance.now();
  /** Null until a route matches. */
  endpoint: AnyEndpoint | null = null;
  /** The path with its parameters in braces. */
  route: string | null = null;
  username: string | null = null;
  errorCode: string | null = null;
  /** Header `Allow` of an error: set when the path does not support the method. */
  allow: string | null = null;
  readonly #incoming: IncomingMessage;
  readonly #outgoing: ServerResponse;
  readonly #log: Logger;
  #child: Logger | undefined;
  #abort: AbortController | undefined;
  #search: URLSearchParams | undefined;

  constructor({ incoming, outgoing }: HttpBindings, addresses: ClientAddresses, log: Logger) {
    this.#incoming = incoming as IncomingMessage;
    this.#outgoing = outgoing as ServerResponse;
    this.#log = log;
    this.requestId = readRequestId(this.#incoming);
    const { address, publicUrl } = addresses.find(this.#incoming);
    this.address = address;
    this.publicUrl = publicUrl;
  }

  get log(): Logger {
    this.#child ??= this.#log.child({ request_id: this.requestId });
    return this.#child;
  }

  get search(): URLSearchParams {
    const { url = "" } = this.#incoming;
    const start = url.indexOf("?");
    this.#search ??= new URLSearchParams(start === -1 ? "" : url.slice(start + 1));
    return this.#search;
  }

  /** Aborted when the client has disconnected. Created on demand: most endpoints answer at once. */
  get signal(): AbortSignal {
    if (this.#abort !== undefined) return this.#abort.signal;
    const abort = new AbortController();
    const check = () => {
      if (!this.#outgoing.writableFinished) abort.abort(new Error("the client has disconnected"));
    };
    if (this.#outgoing.closed) check();
    else this.#outgoing.once("close", check);
    this.#abort = abort;
    return abort.signal;
  }
}

/** The first middleware: request id, client address, logger. */
export const describeRequest =
  (addresses: ClientAddresses, log: Logger): ApiMiddleware =>
  (context, next) => {
    context.set("info", new RequestInfo(context.env, addresses, log));
    context.set("user", null);
    return next();
  };

/** One answered request, for the metrics. */
export interface Answered {
  readonly method: string;
  /** The endpoint's path with its parameters in braces; null if no route matched. */
  readonly route: string | null;
  readonly status: number;
  readonly seconds: number;
}

/** Logs and reports every request when its answer is sent or its client has disconnected. */
export const logAccess =
  (isLogged: boolean, log: Logger, observe: (answered: Answered) => void = () => {}): ApiMiddleware =>
  (context, next) => {
    const { incoming, outgoing } = context.env;
    const { info } = context.var;
    outgoing.once("close", () => {
      const { requestId, address, username, errorCode, startedMs, route } = info;
      const seconds = (performance.now() - startedMs) / 1000;
      const answered = { method: incoming.method ?? "", route, status: outgoing.statusCode, seconds };
      observe(answered);
      if (!isLogged) return;
      const line = {
        request_id: requestId,
        method: answered.method,
        path: maskTarget(incoming.url ?? ""),
        status: answered.status,
        ms: Math.round(seconds * 10_000) / 10,
        address,
        ...(username !== null && { username }),
        ...(errorCode !== null && { code: errorCode }),
        ...(!outgoing.writableFinished && { aborted: true }),
      };
      log.info(line, "request");
    });
    return next();
  };

const MAX_LOGGED = 500;
/** More than is logged, so that a password at the end of the logged part is still recognised. */
const MAX_MASKED = 4000;

/** Parameter names may be percent-encoded; parameters that cannot be decoded are masked. */
export function maskTarget(target: string): string {
  const [path, query] = splitAt(target.slice(0, MAX_MASKED), "?");
  const shown = query === null ? path : `${path}?${decodeNames(query)}`;
  return maskCredentials(shown).slice(0, MAX_LOGGED);
}

const decodeNames = (query: string): string =>
  query
    .split("&")
    .map((part) => {
      const [name, value] = splitAt(part, "=");
      try {
        const plain = decodeURIComponent(name);
        return value === null ? plain : `${plain}=${value}`;
      } catch {
        return "***";
      }
    })
    .join("&");

function splitAt(text: string, separator: string): readonly [before: string, after: string | null] {
  const at = text.indexOf(separator);
  return at === -1 ? [text, null] : [text.slice(0, at), text.slice(at + 1)];
}

const HOST = /^(?:[A-Za-z0-9._-]{1,253}|\[[0-9A-Fa-f:.]{2,45}\])(?::\d{1,5})?$/;

/** Client address and public URL of a request. `X-Forwarded-*` counts only if a trusted proxy has sent it. */
export class ClientAddresses {
  readonly #trusted: BlockList;
  readonly #publicUrl: string | null;

  /** Throws if an entry is neither an address nor a network. */
  constructor(trustedProxies: readonly string[], publicUrl: string | null) {
    this.#trusted = readNetworks(trustedProxies);
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

function readNetworks(entries: readonly string[]): BlockList {
  const list = new BlockList();
  for (const entry of entries) {
    const [address = "", prefix] = entry.split("/");
    const family = isIP(address);
    const maxBits = family === 6 ? 128 : 32;
    const bits = prefix === undefined ? maxBits : /^\d{1,3}$/.test(prefix) ? Number(prefix) : -1;
    if (family === 0 || bits < 0 || bits > maxBits)
      throw new Error(
        `http.trusted_proxies contains "${entry}"; expected an address or a network, such as 10.0.0.1 or 10.0.0.0/8`,
      );
    list.addSubnet(address, bits, family === 6 ? "ipv6" : "ipv4");
  }
  return list;
}
