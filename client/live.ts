/**
 * Messages of running processes, as they are sent, and telemetry to them. For browsers, and Node from version 22 on; with Node
 * 20, pass the `WebSocket` of the package `ws`.
 */
import { ApiError, readApiError, readProblem } from "./transport.ts";

/** Messages that wait for a slow reader. The oldest are dropped: the newest say more about now. */
const MAX_WAITING = 256;

export interface SocketOptions {
  /** Ends it. */
  readonly signal?: AbortSignal;
  readonly WebSocket?: typeof WebSocket;
}

/**
 * Messages of `detection_data_url` or `drone_data_url` of a process, until it ends or the loop is left. Rejects with
 * `ApiError` if the key is rejected or the service cannot be reached, and with an error if the process takes no client.
 */
export async function* readMessages<T = unknown>(
  url: string,
  { signal, WebSocket: Socket = globalThis.WebSocket }: SocketOptions = {},
): AsyncGenerator<T, void, void> {
  const socket = openSocket(url, Socket);
  const waiting: T[] = [];
  let wake: () => void = () => {};
  let isOpen = true;
  let wasOpen = false;
  socket.onopen = () => {
    wasOpen = true;
  };
  socket.onmessage = ({ data }) => {
    waiting.push(JSON.parse(String(data)) as T);
    if (waiting.length > MAX_WAITING) waiting.shift();
    wake();
  };
  socket.onerror = () => {};
  socket.onclose = () => {
    isOpen = false;
    wake();
  };
  const abort = () => socket.close();
  signal?.addEventListener("abort", abort, { once: true });
  try {
    for (;;) {
      signal?.throwIfAborted();
      const next = waiting.shift();
      if (next !== undefined) yield next;
      else if (isOpen) await new Promise<void>((resolve) => (wake = resolve));
      else break;
    }
    if (!wasOpen) throw await explain(url);
  } finally {
    signal?.removeEventListener("abort", abort);
    socket.close();
  }
}

/**
 * Sends telemetry to `telemetry_url` of a process, one message after the other: `messages` decides when. Resolves after the
 * last one, or when the signal is aborted. Rejects with `ApiError` if the service rejects a message, and with an error if the
 * connection cannot be opened or ends before.
 */
export async function sendMessages(
  url: string,
  messages: AsyncIterable<object> | Iterable<object>,
  { signal, WebSocket: Socket = globalThis.WebSocket }: SocketOptions = {},
): Promise<void> {
  const socket = openSocket(url, Socket);
  const opened = new Promise<void>((resolve) => {
    socket.onopen = () => resolve();
  });
  let wasOpen = false;
  const ended = new Promise<void>((resolve, reject) => {
    signal?.addEventListener("abort", () => resolve(), { once: true });
    // The service answers only what it rejects.
    socket.onmessage = ({ data }) => reject(new ApiError(422, readProblem(Object(JSON.parse(String(data))).error)));
    socket.onerror = () => {};
    socket.onclose = ({ reason }) => {
      const closed = reason === "" ? "the connection was closed" : `the connection was closed: ${reason}`;
      if (wasOpen) reject(new Error(closed));
      else explain(url).then(reject);
    };
  });
  const send = async (): Promise<void> => {
    await opened;
    wasOpen = true;
    for await (const message of messages) {
      if (signal?.aborted || socket.readyState !== socket.OPEN) return;
      socket.send(JSON.stringify(message));
    }
  };
  try {
    if (!signal?.aborted) await Promise.race([send(), ended]);
  } finally {
    // Rejected by the close below.
    ended.catch(() => {});
    socket.close();
  }
}

const REASON_MS = 10_000;

/** A `WebSocket` does not give the reason of a rejection: the same request without an upgrade gets it. */
async function explain(url: string): Promise<Error> {
  try {
    const response = await fetch(url.replace(/^ws/, "http"), { signal: AbortSignal.timeout(REASON_MS) });
    if (response.status !== UPGRADE_REQUIRED) return await readApiError(response);
    return new Error("the connection was rejected: no such process is running, or another client is connected");
  } catch (error) {
    return new ApiError(0, { code: "no_answer", detail: "the service cannot be reached" }, null, { cause: error });
  }
}

/** The request itself is right. */
const UPGRADE_REQUIRED = 426;

function openSocket(url: string, Socket: typeof WebSocket | undefined): WebSocket {
  if (Socket === undefined) throw new Error("no WebSocket here: use Node 22 or newer, or pass one as an option");
  return new Socket(url);
}
