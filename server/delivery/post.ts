/**
 * One POST to an address that a client has named. Connects only to addresses that the network guard has checked, follows no
 * redirects, and limits the time and the size of the response.
 */
import { type Agent, type ClientRequest, type IncomingMessage, request as requestHttp } from "node:http";
import { request as requestHttps } from "node:https";
import { isIP } from "node:net";
import type { Config } from "../../schemas/config.ts";
import { explainConnectionError } from "../net/explain.ts";
import { guardAddress, lookupOnly } from "../net/guard.ts";
import { readAuthority } from "../net/url.ts";
import type { DeliveryLimits } from "./courier.ts";

/** Why there was no response. Names only host and port of the receiver. */
export class PostError extends Error {
  /** The receiver had closed the kept-alive connection: it has not read the request. */
  readonly isStale: boolean;

  constructor(message: string, isStale = false) {
    super(message);
    this.isStale = isStale;
  }
}

/** A receiver whose address passed the network guard. */
export interface Receiver {
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

export interface PostOptions {
  readonly headers: Readonly<Record<string, string>>;
  readonly body: string;
  readonly limits: DeliveryLimits;
  readonly agent: Agent;
  readonly signal: AbortSignal;
  readonly authorities?: string | undefined;
}

export interface PostResponse {
  readonly status: number;
  readonly headers: IncomingMessage["headers"];
  readonly body: Buffer;
  readonly isComplete: boolean;
}

/** Rejects with `PostError`. */
export async function findReceiver(url: string, network: Config["network"]): Promise<Receiver> {
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
export const post = (receiver: Receiver, options: PostOptions): Promise<PostResponse> =>
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
