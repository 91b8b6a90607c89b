/** Polls one resource of the service: timing, retries and cancellation. */
import { ApiError } from "../client/client.ts";

const TIMEOUT_MS = 30_000;
/** First retry of a resource that is fetched only once. */
const RETRY_MS = 1_000;
/** Longest delay between retries while the service is unavailable. */
const MAX_RETRY_MS = 15_000;

/** Exponential backoff with a jitter of 25 %, so that browsers do not retry in step. */
export const backoffMs = (firstMs: number, failures: number, maxMs: number): number =>
  Math.min(firstMs * 2 ** failures, maxMs) * (0.75 + Math.random() / 2);

/** Pollers that found the service unavailable: the first one that succeeds wakes the others. */
const waiting = new Set<() => void>();

interface PollerOptions<T> {
  /** Null: fetch once, retry until there is a response. */
  readonly intervalMs: number | null;
  fetch(signal: AbortSignal): Promise<T>;
  isVisible(): boolean;
  onValue(value: T): void;
  onError(error: ApiError): void;
}

/** One request at a time: `run` aborts a pending one. After `close` there are none. */
export class Poller<T> {
  readonly #options: PollerOptions<T>;
  #timer: ReturnType<typeof setTimeout> | undefined;
  #request = new AbortController();
  #failures = 0;
  /** `run` was called while the page was hidden. */
  #isDue = false;
  #isClosed = false;

  constructor(options: PollerOptions<T>) {
    this.#options = options;
  }

  readonly run = (): void => {
    // An action may finish, and reload, after the user has left the page.
    if (this.#isClosed) return;
    this.#cancel();
    this.#request = new AbortController();
    this.#isDue = !this.#options.isVisible();
    if (!this.#isDue) void this.#fetch(this.#request);
  };

  readonly onVisibilityChange = (): void => {
    if (this.#isDue && this.#options.isVisible()) this.run();
  };

  close(): void {
    this.#isClosed = true;
    this.#cancel();
  }

  #cancel(): void {
    waiting.delete(this.run);
    clearTimeout(this.#timer);
    this.#request.abort();
  }

  async #fetch(request: AbortController): Promise<void> {
    const late = new ApiError(0, { code: "no_answer", detail: `no response within ${TIMEOUT_MS / 1000} s` });
    const timeout = setTimeout(() => request.abort(late), TIMEOUT_MS);
    try {
      const value = await this.#options.fetch(request.signal);
      if (request === this.#request && !request.signal.aborted) this.#succeed(value);
    } catch (error) {
      if (request === this.#request && (!request.signal.aborted || error === late)) this.#fail(toApiError(error));
    } finally {
      clearTimeout(timeout);
    }
  }

  #succeed(value: T): void {
    const hadFailed = this.#failures > 0;
    this.#failures = 0;
    this.#options.onValue(value);
    if (this.#options.intervalMs !== null) this.#timer = setTimeout(this.run, this.#options.intervalMs);
    if (hadFailed) for (const wake of [...waiting]) wake();
  }

  #fail(error: ApiError): void {
    this.#failures += 1;
    this.#options.onError(error);
    const isUnavailable = error.code === "no_answer" || error.status === 429 || error.status >= 500;
    if (isUnavailable) waiting.add(this.run);
    else if (this.#options.intervalMs === null) return;
    const firstMs = this.#options.intervalMs ?? RETRY_MS;
    this.#timer = setTimeout(this.run, backoffMs(firstMs, this.#failures, Math.max(firstMs, MAX_RETRY_MS)));
  }
}

export const toApiError = (error: unknown): ApiError =>
  error instanceof ApiError
    ? error
    : new ApiError(0, { code: "client_error", detail: error instanceof Error ? error.message : String(error) });
