/** Fetches a file over https, with limits for size, redirects and idle time. */
import type { ClientRequest, IncomingMessage } from "node:http";
import { get as getHttps, type RequestOptions } from "node:https";

const IDLE_MS = 30_000;
const MOST_REDIRECTS = 5;

export type Get = (url: URL, options: RequestOptions, answered: (response: IncomingMessage) => void) => ClientRequest;

export interface Transfer {
  /** Aborts the transfer; the caller limits the total time with it. */
  readonly signal: AbortSignal;
  readonly mostBytes: number;
  /** `total` is null if the server sends no length. */
  onBytes?(received: number, total: number | null): void;
  /** For tests, instead of the one of `node:https`. */
  readonly get?: Get;
  readonly idleMs?: number;
}

/** Throws an Error whose message is the reason, also for a truncated file. */
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
  const tooLong = (): Error => new Error(`it is longer than the expected ${transfer.mostBytes} bytes`);
  let received = 0;
  try {
    if (total !== null && total > transfer.mostBytes) throw tooLong();
    for await (const chunk of response as AsyncIterable<Uint8Array>) {
      received += chunk.length;
      if (received > transfer.mostBytes) throw tooLong();
      transfer.onBytes?.(received, total);
      yield chunk;
    }
  } catch (error) {
    if (transfer.signal.aborted || !isBroken(error)) throw error;
    const reason = stalled ? `no data for ${idleMs / 1000} s` : "the connection was closed";
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
      throw new Error(`it redirects to ${url.protocol}//${url.host}, but only https is allowed`);
    const response = await ask(url, transfer);
    const { statusCode = 0, statusMessage = "", headers } = response;
    if (statusCode === 200) return response;
    response.destroy();
    if (statusCode < 300 || statusCode > 399 || headers.location === undefined)
      throw new Error(`${url.host} answered ${statusCode} ${statusMessage}`.trimEnd());
    if (!URL.canParse(headers.location, url.href)) throw new Error(`${url.host} redirects to an invalid URL`);
    url = new URL(headers.location, url);
  }
  throw new Error(`more than ${MOST_REDIRECTS} redirects`);
}

const REASONS: Readonly<Record<string, string>> = {
  ENOTFOUND: "unknown host, or no network",
  EAI_AGAIN: "the name cannot be resolved: is there a network?",
  ECONNREFUSED: "connection refused",
  EHOSTUNREACH: "no route to the host: is there a network?",
  ENETUNREACH: "no route to the host: is there a network?",
  ETIMEDOUT: "no response",
};

function ask(url: URL, { signal, get = getHttps, idleMs = IDLE_MS }: Transfer): Promise<IncomingMessage> {
  return new Promise((resolve, reject) => {
    const request = get(url, { signal, headers: { "user-agent": "windhover", accept: "*/*" } }, resolve);
    request.setTimeout(idleMs, () => request.destroy(new Error(`no data for ${idleMs / 1000} s`)));
    request.on("error", (error: NodeJS.ErrnoException) => {
      if (signal.aborted) return reject(error);
      const reason = REASONS[error.code ?? ""];
      reject(reason === undefined ? error : new Error(`${url.host}: ${reason} (${error.code})`, { cause: error }));
    });
  });
}
