/**
 * POSTs deliveries to webhooks, signed as Standard Webhooks says (standardwebhooks.com), one after the other for each.
 * Connects only to addresses that the network guard has checked, follows no redirects, and limits the time and the size of
 * the response.
 */
import { createHmac } from "node:crypto";
import { Agent, type ClientRequest, type IncomingMessage, request as requestHttp } from "node:http";
import { request as requestHttps, Agent as SecureAgent } from "node:https";
import { isIP } from "node:net";
import type { Config } from "../../schemas/config.ts";
import { explainConnectionError } from "../net/explain.ts";
import { guardAddress, lookupOnly } from "../net/guard.ts";
import { readAuthority } from "../net/url.ts";
import type { Target } from "../store/destinations.ts";
import type { Courier, CourierOptions, DeliveryFailure, DeliveryLimits, SendOptions, Sent } from "./courier.ts";

type WebhookTarget = Extract<Target, { readonly kind: "webhook" }>;
type Way = Omit<PostOptions, "headers" | "body">;

const UNAUTHORIZED = 401;
const GONE = 410;
/** Responses with which a receiver may send `Retry-After`. */
const BUSY = [429, 503];

export class WebhookCourier implements Courier {
  readonly batchSize = 20;
  readonly #options: CourierOptions;
  readonly #logins: Logins;

  constructor(options: CourierOptions) {
    this.#options = options;
    this.#logins = new Logins(options);
  }

  async send(
    target: Target,
    deliveries: readonly Sent[],
    { signal, isOver, onDelivered }: SendOptions,
  ): Promise<DeliveryFailure | null> {
    if (target.kind !== "webhook") throw new Error(`${target.kind} is not a webhook`);
    const { config, limits, authorities } = this.#options;
    let agent: Agent | null = null;
    try {
      const receiver = await findReceiver(target.url, config.network);
      // One connection for all of them, and none that outlives the check of the address.
      agent = new (receiver.isSecure ? SecureAgent : Agent)({ keepAlive: true, maxSockets: 1 });
      const options = { limits, agent, signal, authorities };
      for (const delivery of deliveries) {
        const response = await this.#deliver(target, receiver, delivery, options);
        const failure = checkResponse(receiver, response);
        if (failure !== null) return failure;
        onDelivered();
        // A slow receiver must not keep its slot for all of them.
        if (isOver()) break;
      }
      return null;
    } catch (error) {
      if (error instanceof PostError) return { reason: error.message };
      throw error;
    } finally {
      agent?.destroy();
    }
  }

  close(): void {}

  /** Repeats it with a new token when the receiver rejects the known one. */
  async #deliver(target: WebhookTarget, receiver: Receiver, sent: Sent, options: Way): Promise<PostResponse> {
    const response = await this.#post(target, receiver, sent, options);
    if (response.status !== UNAUTHORIZED || target.authUrl === null) return response;
    this.#logins.forget(target.authUrl, receiver);
    return this.#post(target, receiver, sent, options);
  }

  async #post(
    { secret, authUrl, contentType = "application/json", headers: further = {} }: WebhookTarget,
    receiver: Receiver,
    { id, body }: Sent,
    options: Way,
  ): Promise<PostResponse> {
    const token = authUrl === null ? null : await this.#logins.token(authUrl, receiver, options.signal);
    const authorization = token === null ? receiver.authorization : `Bearer ${token}`;
    const timestamp = String(Math.floor(Date.now() / 1000));
    // In lower case, so that none comes twice: what follows has precedence.
    const own = Object.fromEntries(Object.entries(further).map(([name, value]) => [name.toLowerCase(), value]));
    const headers = {
      ...own,
      "content-type": contentType,
      "user-agent": `Windhover/${this.#options.softwareVersion}`,
      "webhook-id": id,
      "webhook-timestamp": timestamp,
      "webhook-signature": sign(`${id}.${timestamp}.${body}`, secret),
      ...(authorization !== null && { authorization }),
    };
    return post(receiver, { headers, body, ...options });
  }
}

/** Null: it was delivered. */
function checkResponse({ origin }: Receiver, { status, headers }: PostResponse): DeliveryFailure | null {
  if (status >= 200 && status <= 299) return null;
  if (status === GONE)
    return { isFinal: true, reason: `${origin}: it answered 410 Gone, so nothing more is sent there` };
  if (status >= 300 && status <= 399) return { reason: `${origin}: it answered ${status}; redirects are not followed` };
  const retryMs = BUSY.includes(status) ? readRetryAfter(headers["retry-after"], Date.now()) : null;
  return { reason: `${origin}: it answered ${status}`, ...(retryMs !== null && { retryMs }) };
}

/** The header `webhook-signature`, version 1: HMAC-SHA256. The secret is base64, with or without `whsec_`. */
function sign(signed: string, secret: string): string {
  const key = Buffer.from(secret.replace(/^whsec_/, ""), "base64");
  return `v1,${createHmac("sha256", key).update(signed).digest("base64")}`;
}

const MAX_RETRY_AFTER_MS = 600_000;

/** `Retry-After`: seconds or an HTTP date, limited to ten minutes. Null when it is absent or not valid. */
export function readRetryAfter(header: string | undefined, nowMs: number): number | null {
  const text = header?.trim() ?? "";
  // HTTP dates begin with the weekday; Date.parse guesses what others mean.
  const dateMs = /^[A-Z][a-z]{2,8},? /.test(text) ? Date.parse(text) : Number.NaN;
  const ms = /^\d{1,9}$/.test(text) ? Number(text) * 1000 : dateMs - nowMs;
  return Number.isFinite(ms) ? Math.min(MAX_RETRY_AFTER_MS, Math.max(0, ms)) : null;
}

interface Token {
  readonly text: string;
  readonly untilMs: number;
}

const MAX_TOKENS = 2_000;
/** Characters and length that HTTP servers accept in a header. */
const TOKEN = /^[\x21-\x7e]{1,8192}$/;
/** The share of its lifetime for which a token is used. */
const USED_SHARE = 0.9;

/** Tokens of receivers that require a login: requested from `auth_url`, and cached while they are valid. */
class Logins {
  readonly #options: CourierOptions;
  /** By login address and the host that receives the token; the oldest first. */
  readonly #tokens = new Map<string, Token>();
  readonly #publicNetwork: Config["network"];

  constructor(options: CourierOptions) {
    this.#options = options;
    this.#publicNetwork = { ...options.config.network, allow: [] };
  }

  /**
   * A login address that only this service can reach gives no token to another host: a subscriber could read it there.
   * Rejects with `PostError`.
   */
  async token(authUrl: string, { host }: Receiver, signal: AbortSignal): Promise<string> {
    const key = keyOf(authUrl, host);
    const known = this.#tokens.get(key);
    if (known !== undefined && performance.now() < known.untilMs) return known.text;
    const authority = readAuthority(authUrl);
    const isSameHost = typeof authority !== "string" && authority.host.toLowerCase() === host.toLowerCase();
    const network = isSameHost ? this.#options.config.network : this.#publicNetwork;
    const token = await this.#request(authUrl, network, signal).catch((error: unknown) => {
      throw error instanceof PostError ? new PostError(`the login failed: ${error.message}`) : error;
    });
    this.#tokens.delete(key);
    this.#tokens.set(key, token);
    const [oldest] = this.#tokens.keys();
    if (this.#tokens.size > MAX_TOKENS && oldest !== undefined) this.#tokens.delete(oldest);
    return token.text;
  }

  forget(authUrl: string, { host }: Receiver): void {
    this.#tokens.delete(keyOf(authUrl, host));
  }

  async #request(authUrl: string, network: Config["network"], signal: AbortSignal): Promise<Token> {
    const { limits, softwareVersion, authorities } = this.#options;
    const receiver = await findReceiver(authUrl, network);
    const { origin, authorization } = receiver;
    const headers = {
      "user-agent": `Windhover/${softwareVersion}`,
      accept: "application/json",
      ...(authorization !== null && { authorization }),
    };
    const agent = receiver.isSecure ? new SecureAgent() : new Agent();
    const options = { limits, agent, signal, authorities };
    const { status, body, isComplete } = await post(receiver, { headers, body: "", ...options });
    if (status < 200 || status > 299) throw new PostError(`${origin}: it answered ${status}`);
    if (!isComplete) throw new PostError(`${origin}: its response is too long, or does not end`);
    const token = readToken(body.toString("utf8"));
    if (token === null) throw new PostError(`${origin}: expected JSON with an access_token or a token`);
    return token;
  }
}

const keyOf = (authUrl: string, host: string): string => JSON.stringify([authUrl, host]);

function readToken(text: string): Token | null {
  let response: unknown;
  try {
    response = JSON.parse(text);
  } catch {
    return null;
  }
  if (typeof response !== "object" || response === null) return null;
  const { access_token, token, expires_in } = response as Readonly<Record<string, unknown>>;
  const found = [access_token, token].find((each): each is string => typeof each === "string" && TOKEN.test(each));
  if (found === undefined) return null;
  const seconds = typeof expires_in === "number" && expires_in > 0 ? expires_in : Number.POSITIVE_INFINITY;
  return { text: found, untilMs: performance.now() + seconds * 1000 * USED_SHARE };
}

/** Why there was no response. Names only host and port of the receiver. */
class PostError extends Error {
  /** The receiver had closed the kept-alive connection: it has not read the request. */
  readonly isStale: boolean;

  constructor(message: string, isStale = false) {
    super(message);
    this.isStale = isStale;
  }
}

/** A receiver whose address passed the network guard. */
interface Receiver {
  /** `https://host:port`, without secrets. */
  readonly origin: string;
  readonly isSecure: boolean;
  readonly host: string;
  readonly port: number | null;
  readonly path: string;
  /** `Basic …`, by the credentials in the URL. */
  readonly authorization: string | null;
  readonly addresses: readonly string[];
}

interface PostOptions {
  readonly headers: Readonly<Record<string, string>>;
  readonly body: string;
  readonly limits: DeliveryLimits;
  readonly agent: Agent;
  readonly signal: AbortSignal;
  readonly authorities?: string | undefined;
}

interface PostResponse {
  readonly status: number;
  readonly headers: IncomingMessage["headers"];
  readonly body: Buffer;
  readonly isComplete: boolean;
}

/** Rejects with `PostError`. */
async function findReceiver(url: string, network: Config["network"]): Promise<Receiver> {
  const authority = readAuthority(url);
  if (typeof authority === "string") throw new PostError(`the address is not valid: ${authority}`);
  const { scheme, host, port, writtenHost, userinfo } = authority;
  const origin = `${scheme}://${writtenHost}${port === null ? "" : `:${port}`}`;
  if (scheme !== "http" && scheme !== "https")
    throw new PostError(`${origin}: expected an address with http:// or https://`);
  const addresses = await guardAddress(origin, network, "/notification_url").catch((error: Error) => {
    throw new PostError(error.message);
  });
  if (addresses.length === 0) throw new PostError(`${origin}: host ${host} cannot be resolved`);
  const { pathname, search } = new URL(url);
  const authorization = userinfo === null ? null : authorize(userinfo);
  return { origin, isSecure: scheme === "https", host, port, path: `${pathname}${search}`, addresses, authorization };
}

function authorize(userinfo: string): string {
  const [name = "", ...password] = userinfo.split(":");
  const credentials = `${decode(name)}:${decode(password.join(":"))}`;
  return `Basic ${Buffer.from(credentials).toString("base64")}`;
}

/** Unchanged when it is not a valid escape. */
function decode(text: string): string {
  try {
    return decodeURIComponent(text);
  } catch {
    return text;
  }
}

/** Rejects with `PostError`. */
const post = (receiver: Receiver, options: PostOptions): Promise<PostResponse> =>
  postOnce(receiver, options).catch((error: unknown) => {
    if (error instanceof PostError && error.isStale) return postOnce(receiver, options);
    throw error;
  });

const MAX_HEADER_BYTES = 32_768;
/** For the body of the response, which is read only so that the connection can be reused. */
const READ_MS = 2_000;

function postOnce(receiver: Receiver, options: PostOptions): Promise<PostResponse> {
  const { origin, isSecure, host, port, path, addresses } = receiver;
  const { headers, body, limits, agent, signal, authorities } = options;
  const { connectSeconds, answerSeconds } = limits;
  return new Promise((resolve, reject) => {
    let request: ClientRequest | null = null;
    let isSettled = false;
    const settle = (): void => {
      isSettled = true;
      for (const timer of [late, unconnected]) clearTimeout(timer);
      signal.removeEventListener("abort", abort);
    };
    const fail = (reason: string, isStale = false): void => {
      if (isSettled) return;
      settle();
      reject(new PostError(`${origin}: ${reason}`, isStale));
      request?.destroy();
    };
    const abort = (): void => fail("it was aborted");
    const late = setTimeout(() => fail(`it did not answer within ${answerSeconds} s`), answerSeconds * 1000);
    const unconnected = setTimeout(() => fail(`no connection within ${connectSeconds} s`), connectSeconds * 1000);
    if (signal.aborted) return abort();
    signal.addEventListener("abort", abort, { once: true });
    try {
      request = (isSecure ? requestHttps : requestHttp)({
        ...{ method: "POST", host, path, agent, lookup: lookupOnly(addresses), autoSelectFamily: true },
        ...(port !== null && { port }),
        ...(isSecure && isIP(host) === 0 && { servername: host }),
        ...(authorities !== undefined && { ca: authorities }),
        headers: { ...headers, "content-length": Buffer.byteLength(body) },
        maxHeaderSize: MAX_HEADER_BYTES,
      });
    } catch {
      return fail("the address or the token contains characters that HTTP does not allow");
    }
    const sent = request;
    sent.once("socket", (socket) => {
      if (sent.reusedSocket) return clearTimeout(unconnected);
      socket.once(isSecure ? "secureConnect" : "connect", () => clearTimeout(unconnected));
    });
    sent.on("error", (error: NodeJS.ErrnoException) => {
      const isReset = ["ECONNRESET", "EPIPE"].includes(String(error.code));
      fail(explainConnectionError(error) ?? `it cannot be reached (${error.code})`, sent.reusedSocket && isReset);
    });
    sent.once("close", () => fail("it closed the connection without an answer"));
    sent.on("response", (response) => {
      clearTimeout(late);
      readBody(response, limits.answerBytes, (answer, isComplete) => {
        if (isSettled) return;
        settle();
        resolve({ status: response.statusCode ?? 0, headers: response.headers, body: answer, isComplete });
        if (!isComplete) sent.destroy();
      });
    });
    sent.end(body);
  });
}

/** May call `done` more than once. */
function readBody(response: IncomingMessage, limit: number, done: (body: Buffer, isComplete: boolean) => void): void {
  const chunks: Buffer[] = [];
  let bytes = 0;
  const end = (isComplete: boolean): void => {
    clearTimeout(timer);
    done(Buffer.concat(chunks), isComplete);
  };
  const timer = setTimeout(() => end(false), READ_MS);
  response.on("data", (chunk: Buffer) => {
    bytes += chunk.length;
    if (bytes <= limit) chunks.push(chunk);
    else end(false);
  });
  response.on("end", () => end(true));
  response.on("error", () => end(false));
}
