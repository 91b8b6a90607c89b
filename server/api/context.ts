/** What middleware and handlers know about a request, in Hono's context. */
import { randomUUID } from "node:crypto";
import type { IncomingMessage, ServerResponse } from "node:http";
import type { HttpBindings } from "@hono/node-server";
import type { MiddlewareHandler } from "hono";
import type { Logger } from "pino";
import { maskCredentials } from "../../schemas/mask.ts";
import type { User } from "../user.ts";
import type { ClientAddresses } from "./client-address.ts";
import type { AnyEndpoint } from "./endpoint.ts";
import type { Input } from "./input.ts";

export interface ApiEnv {
  Bindings: HttpBindings;
  Variables: {
    info: RequestInfo;
    /** Of the path, checked. */
    params: Record<string, string>;
    user: User | null;
    input: Input;
  };
}
export type ApiMiddleware = MiddlewareHandler<ApiEnv>;

const SAFE_ID = /^[A-Za-z0-9._:/+=-]{1,128}$/;

/** The client's own request id where it is safe to log and to send back, or a new one. */
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
  /** Once its path is known. */
  endpoint: AnyEndpoint | null = null;
  /** The path with its parameters in braces. */
  route: string | null = null;
  username: string | null = null;
  errorCode: string | null = null;
  /** Of an answer to a method that the path does not have. */
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

/** For the metrics. */
export interface Answered {
  readonly method: string;
  /** The endpoint's path with its parameters in braces; null when there is no such path. */
  readonly route: string | null;
  readonly status: number;
  readonly seconds: number;
}

/** Logs and reports every request once its answer was sent or its client has disconnected. */
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
/** Longer than what is logged, so that a password that begins there is still recognised. */
const MAX_MASKED = 4000;

/** Names of parameters may be percent-encoded; what cannot be decoded is left out. */
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
