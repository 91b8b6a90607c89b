/** A file over https, with a limit to everything. */
import type { ClientRequest, IncomingMessage } from "node:http";
import { get as getHttps, type RequestOptions } from "node:https";

const IDLE_MS = 30_000;
const MOST_REDIRECTS = 5;

export type Get = (url: URL, options: RequestOptions, answered: (response: IncomingMessage) => void) => ClientRequest;

export interface Transfer {
  /** Ends it; whoever calls limits the whole of the time by it. */
  readonly signal: AbortSignal;
  readonly mostBytes: number;
  /** `total` is null where the server does not say. */
  onBytes?(received: number, total: number | null): void;
  /** For tests, in place of the one of `node:https`. */
  readonly get?: Get;
  readonly idleMs?: number;
}

/** Throws an Error whose message is the reason. A file that is cut off is an error, too. */
export async function* readUrl(url: string, transfer: Transfer): AsyncGenerator<Uint8Array, void, undefined> {
  const response = await follow(new URL(url), transfer);
  const { idleMs = IDLE_MS } = transfer;
  let stalled = false;
  response.setTimeout(idleMs, () => {
    stalled = true;
    response.destroy();
  });
  const { "content-length": length } = response.headers;
  const total = length === undefined ? null : Number(length);
  const refuse = (): Error => new Error(`it is longer than the ${transfer.mostBytes} bytes that were expected`);
  let received = 0;
  try {
    if (total !== null && total > transfer.mostBytes) throw refuse();
    for await (const chunk of response as AsyncIterable<Uint8Array>) {
      received += chunk.length;
      if (received > transfer.mostBytes) throw refuse();
      transfer.onBytes?.(received, total);
      yield chunk;
    }
  } catch (error) {
    if (transfer.signal.aborted || !isBroken(error)) throw error;
    const reason = stalled ? `nothing came for ${idleMs / 1000} s` : "the connection ended";
    throw new Error(`${reason} after ${received}${total === null ? "" : ` of ${total}`} bytes`, { cause: error });
  } finally {
    response.destroy();
  }
}

const isBroken = (error: unknown): boolean =>
  ["ECONNRESET", "ERR_STREAM_PREMATURE_CLOSE"].includes((error as NodeJS.ErrnoException).code ?? "");

async function follow(start: URL, transfer: Transfer): Promise<IncomingMessage> {
  let url = start;
  for (let redirects = 0; redirects <= MOST_REDIRECTS; redirects++) {
    if (url.protocol !== "https:")
      throw new Error(`it leads to ${url.protocol}//${url.host}, but only https is followed`);
    const response = await ask(url, transfer);
    const { statusCode = 0, statusMessage = "", headers } = response;
    if (statusCode === 200) return response;
    response.destroy();
    if (statusCode < 300 || statusCode > 399 || headers.location === undefined)
      throw new Error(`${url.host} answered ${statusCode} ${statusMessage}`.trimEnd());
    if (!URL.canParse(headers.location, url.href)) throw new Error(`${url.host} leads to something that is no address`);
    url = new URL(headers.location, url);
  }
  throw new Error(`it was led on more than ${MOST_REDIRECTS} times`);
}

const WORDS: Readonly<Record<string, string>> = {
  ENOTFOUND: "there is no such host, or no network",
  EAI_AGAIN: "its name cannot be looked up: is there a network?",
  ECONNREFUSED: "the connection was refused",
  EHOSTUNREACH: "there is no way to it: is there a network?",
  ENETUNREACH: "there is no way to it: is there a network?",
  ETIMEDOUT: "it does not answer",
};

function ask(url: URL, { signal, get = getHttps, idleMs = IDLE_MS }: Transfer): Promise<IncomingMessage> {
  return new Promise((resolve, reject) => {
    const request = get(url, { signal, headers: { "user-agent": "windhover", accept: "*/*" } }, resolve);
    request.setTimeout(idleMs, () => request.destroy(new Error(`nothing came for ${idleMs / 1000} s`)));
    request.on("error", (error: NodeJS.ErrnoException) => {
      if (signal.aborted) return reject(error);
      const words = WORDS[error.code ?? ""];
      reject(words === undefined ? error : new Error(`${url.host}: ${words} (${error.code})`, { cause: error }));
    });
  });
}
