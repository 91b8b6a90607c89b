/** Keeps a streaming response open: reconnects with backoff when it breaks off, and when no data arrives. */
import { ApiError } from "../../client/client.ts";
import { toSentence } from "../components/format.ts";
import { backoffMs } from "../poller.ts";
import type { Parser } from "./parsers.ts";

const FIRST_RETRY_MS = 500;
const MAX_RETRY_MS = 10_000;
/** The service sends keep-alives more often. A connection over a network that is down does not report an error. */
const SILENCE_MS = 60_000;
const ENDED = "The process has ended.";

export interface StreamOptions<T> {
  /** Below the service: `/process/…/events`. */
  readonly path: string;
  /** Rejects with `ApiError` if the service rejects the request. */
  readonly request: (path: string, signal: AbortSignal) => Promise<Response>;
  /** Reconnects after this time without data. */
  readonly silenceMs?: number;
  /** For each connection. */
  createParser(): Parser<T>;
  onItem(item: T): void;
  /** Why no data arrives. */
  onInterruption?(text: string): void;
}

/** Returns a function that closes the stream. */
export function openStream<T>(options: StreamOptions<T>): () => void {
  const { onInterruption = () => {} } = options;
  const closing = new AbortController();
  const { signal } = closing;
  const run = async (): Promise<void> => {
    for (let failures = 0; !signal.aborted; failures += 1) {
      const connection = new Connection(options, signal);
      try {
        await connection.read();
        if (!signal.aborted) onInterruption(ENDED);
      } catch (error) {
        if (signal.aborted) return;
        if (isPermanent(error))
          return onInterruption(error.code === "process_not_found" ? ENDED : toSentence(error.message));
        onInterruption(describe(error, connection));
      } finally {
        connection.close();
      }
      if (connection.hasReceived) failures = 0;
      await sleep(backoffMs(FIRST_RETRY_MS, failures, MAX_RETRY_MS), signal);
    }
  };
  void run();
  return () => closing.abort();
}

function describe(error: unknown, { isSilent }: Connection<unknown>): string {
  if (isSilent) return "No data received, reconnecting.";
  return error instanceof ApiError && error.status >= 400
    ? `Not available, retrying. ${toSentence(error.message)}`
    : "Connection lost, reconnecting.";
}

/** One attempt. It is always closed: browsers allow few connections to a service. */
class Connection<T> {
  isSilent = false;
  hasReceived = false;
  readonly #options: StreamOptions<T>;
  readonly #signal: AbortSignal;
  readonly #closing = new AbortController();
  #timer: ReturnType<typeof setTimeout> | undefined;

  constructor(options: StreamOptions<T>, signal: AbortSignal) {
    this.#options = options;
    this.#signal = signal;
    signal.addEventListener("abort", this.close);
  }

  /** Rejects when the connection breaks, and when the data cannot be parsed. */
  async read(): Promise<void> {
    const { path, request, createParser, onItem } = this.#options;
    this.#watchSilence();
    const { body } = await request(path, this.#closing.signal);
    const parser = createParser();
    const reader = body?.getReader();
    for (let read = await reader?.read(); read?.done === false; read = await reader?.read()) {
      this.#watchSilence();
      for (const item of parser.push(read.value)) onItem(item);
      this.hasReceived = true;
    }
  }

  readonly close = (): void => {
    clearTimeout(this.#timer);
    this.#signal.removeEventListener("abort", this.close);
    this.#closing.abort();
  };

  #watchSilence(): void {
    clearTimeout(this.#timer);
    this.#timer = setTimeout(() => {
      this.isSilent = true;
      this.close();
    }, this.#options.silenceMs ?? SILENCE_MS);
  }
}

/** The process is being restarted, or has too many viewers at the moment. */
const TEMPORARY = ["wrong_state", "viewers_limit_reached", "rate_limited"];

/** Deleted or not allowed: a retry would not help. */
const isPermanent = (error: unknown): error is ApiError =>
  error instanceof ApiError && error.status >= 400 && error.status < 500 && !TEMPORARY.includes(error.code);

const sleep = (ms: number, signal: AbortSignal): Promise<void> =>
  new Promise((resolve) => {
    const wake = (): void => {
      clearTimeout(timer);
      signal.removeEventListener("abort", wake);
      resolve();
    };
    const timer = setTimeout(wake, ms);
    signal.addEventListener("abort", wake);
  });
