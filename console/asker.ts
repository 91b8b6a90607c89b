/** One thing that a page asks the service for: when it is asked, and what is known of it. */
import { ApiError } from "../client/client.ts";
import { backOffMs } from "./back-off.ts";

export type Asked<T> =
  | { readonly state: "loading" }
  /** `value`: what was known before. */
  | { readonly state: "failed"; readonly error: ApiError; readonly value?: T }
  | { readonly state: "known"; readonly value: T };

const LIMIT_MS = 30_000;
/** Between two tries of what is asked once, and got no answer. */
const RETRY_MS = 1_000;
/** Longest wait between two tries while the service is away. */
const MOST_MS = 15_000;

/** Those that wait for the service to come back: one that is answered wakes the others. */
const waiting = new Set<() => void>();

export interface AskerNeeds<T> {
  readonly everyMs: number | null;
  ask(signal: AbortSignal): Promise<T>;
  /** Whether anybody looks. */
  isSeen(): boolean;
  change(next: Asked<T> | ((before: Asked<T>) => Asked<T>)): void;
}

/** One question at a time: a new one takes the place of one that is not answered yet. After `end` there are none. */
export class Asker<T> {
  readonly #needs: AskerNeeds<T>;
  #timer: ReturnType<typeof setTimeout> | undefined;
  #current = new AbortController();
  #failures = 0;
  /** It is to be asked as soon as somebody looks. */
  #isDue = false;
  #isOver = false;

  constructor(needs: AskerNeeds<T>) {
    this.#needs = needs;
  }

  readonly run = (): void => {
    // Whoever did something on a page asks anew when that is done, and may have left the page by then.
    if (this.#isOver) return;
    this.#rest();
    this.#current = new AbortController();
    this.#isDue = !this.#needs.isSeen();
    if (!this.#isDue) void this.#inquire(this.#current);
  };

  readonly onShow = (): void => {
    if (this.#isDue && this.#needs.isSeen()) this.run();
  };

  end(): void {
    this.#isOver = true;
    this.#rest();
  }

  #rest(): void {
    waiting.delete(this.run);
    clearTimeout(this.#timer);
    this.#current.abort();
  }

  async #inquire(current: AbortController): Promise<void> {
    const late = new ApiError(0, { code: "no_answer", detail: `no answer within ${LIMIT_MS / 1000} s` });
    const limit = setTimeout(() => current.abort(late), LIMIT_MS);
    try {
      const value = await this.#needs.ask(current.signal);
      if (current === this.#current && !current.signal.aborted) this.#succeed(value);
    } catch (error) {
      if (current === this.#current && (!current.signal.aborted || error === late)) this.#fail(toApiError(error));
    } finally {
      clearTimeout(limit);
    }
  }

  #succeed(value: T): void {
    const wasAway = this.#failures > 0;
    this.#failures = 0;
    this.#needs.change({ state: "known", value });
    if (this.#needs.everyMs !== null) this.#timer = setTimeout(this.run, this.#needs.everyMs);
    if (wasAway) for (const wake of [...waiting]) wake();
  }

  #fail(error: ApiError): void {
    this.#failures += 1;
    this.#needs.change((before) => ({ state: "failed", error, ...("value" in before && { value: before.value }) }));
    const isAway = error.code === "no_answer" || error.status === 429 || error.status >= 500;
    if (isAway) waiting.add(this.run);
    else if (this.#needs.everyMs === null) return;
    const firstMs = this.#needs.everyMs ?? RETRY_MS;
    this.#timer = setTimeout(this.run, backOffMs(firstMs, this.#failures, Math.max(firstMs, MOST_MS)));
  }
}

export const toApiError = (error: unknown): ApiError =>
  error instanceof ApiError
    ? error
    : new ApiError(0, { code: "fault_here", detail: error instanceof Error ? error.message : String(error) });
