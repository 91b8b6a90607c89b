/** What a page asks the service for, again and again while it is looked at. */
import { useEffect, useRef, useState } from "preact/hooks";
import { ApiError } from "../client/client.ts";
import { backOffMs } from "./back-off.ts";

export type Asked<T> =
  | { readonly state: "loading" }
  /** `value`: what was known before. */
  | { readonly state: "failed"; readonly error: ApiError; readonly value?: T }
  | { readonly state: "known"; readonly value: T };

export interface Asking<T> {
  readonly asked: Asked<T>;
  /** Asks now. */
  reload(): void;
}

const LIMIT_MS = 30_000;
/** Between two tries of what is asked once, and got no answer. */
const RETRY_MS = 1_000;
/** Longest wait between two tries while the service is away. */
const MOST_MS = 15_000;

/** Those that wait for the service to come back: one that is answered wakes the others. */
const waiting = new Set<() => void>();

/**
 * Asks at once, whenever `keys` change, and then every `everyMs` (null: until there is an answer). A tab that nobody sees
 * does not ask. While it fails the last known value stays, and the wait doubles.
 */
export function useAsked<T>(
  ask: (signal: AbortSignal) => Promise<T>,
  keys: readonly unknown[],
  everyMs: number | null = null,
): Asking<T> {
  const [asked, setAsked] = useState<Asked<T>>({ state: "loading" });
  const again = useRef(() => {});
  useEffect(() => {
    const asker = new Asker(ask, everyMs, setAsked);
    again.current = () => asker.run();
    document.addEventListener("visibilitychange", asker.onShow);
    setAsked({ state: "loading" });
    asker.run();
    return () => {
      asker.end();
      document.removeEventListener("visibilitychange", asker.onShow);
    };
  }, keys);
  return { asked, reload: () => again.current() };
}

type Change<T> = (next: Asked<T> | ((before: Asked<T>) => Asked<T>)) => void;

/** One question at a time: a new one takes the place of one that is not answered yet. */
class Asker<T> {
  readonly #ask: (signal: AbortSignal) => Promise<T>;
  readonly #everyMs: number | null;
  readonly #change: Change<T>;
  #timer: ReturnType<typeof setTimeout> | undefined;
  #current = new AbortController();
  #failures = 0;
  /** It is to be asked as soon as somebody looks. */
  #isDue = false;

  constructor(ask: (signal: AbortSignal) => Promise<T>, everyMs: number | null, change: Change<T>) {
    this.#ask = ask;
    this.#everyMs = everyMs;
    this.#change = change;
  }

  readonly run = (): void => {
    this.end();
    this.#current = new AbortController();
    this.#isDue = document.hidden;
    if (!this.#isDue) void this.#inquire(this.#current);
  };

  readonly onShow = (): void => {
    if (this.#isDue && !document.hidden) this.run();
  };

  end(): void {
    waiting.delete(this.run);
    clearTimeout(this.#timer);
    this.#current.abort();
  }

  async #inquire(current: AbortController): Promise<void> {
    const late = new ApiError(0, { code: "no_answer", detail: `no answer within ${LIMIT_MS / 1000} s` });
    const limit = setTimeout(() => current.abort(late), LIMIT_MS);
    try {
      const value = await this.#ask(current.signal);
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
    this.#change({ state: "known", value });
    if (this.#everyMs !== null) this.#timer = setTimeout(this.run, this.#everyMs);
    if (wasAway) for (const wake of [...waiting]) wake();
  }

  #fail(error: ApiError): void {
    this.#failures += 1;
    this.#change((before) => ({ state: "failed", error, ...("value" in before && { value: before.value }) }));
    const isAway = error.code === "no_answer" || error.status === 429 || error.status >= 500;
    if (isAway) waiting.add(this.run);
    else if (this.#everyMs === null) return;
    const firstMs = this.#everyMs ?? RETRY_MS;
    this.#timer = setTimeout(this.run, backOffMs(firstMs, this.#failures, Math.max(firstMs, MOST_MS)));
  }
}

export const toApiError = (error: unknown): ApiError =>
  error instanceof ApiError
    ? error
    : new ApiError(0, { code: "fault_here", detail: error instanceof Error ? error.message : String(error) });
