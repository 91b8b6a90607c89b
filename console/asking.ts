/** What a page asks the service for, again and again while it is looked at. */
import { useEffect, useRef, useState } from "preact/hooks";
import { ApiError } from "../client/client.ts";
import { signOut } from "./session.ts";

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

/** Longest wait between two tries while the service is away. */
const MOST_MS = 15_000;

/**
 * Asks at once, whenever `keys` change, and then every `everyMs` (null: once). A tab that nobody sees does not ask. While
 * it fails the last known value stays, and the wait doubles.
 */
export function useAsked<T>(
  ask: (signal: AbortSignal) => Promise<T>,
  keys: readonly unknown[],
  everyMs: number | null = null,
): Asking<T> {
  const [asked, setAsked] = useState<Asked<T>>({ state: "loading" });
  const again = useRef(() => {});
  useEffect(() => {
    const ending = new AbortController();
    let timer: ReturnType<typeof setTimeout> | undefined;
    let failures = 0;
    const run = async (): Promise<void> => {
      clearTimeout(timer);
      if (!document.hidden)
        try {
          const value = await ask(ending.signal);
          failures = 0;
          if (!ending.signal.aborted) setAsked({ state: "known", value });
        } catch (error) {
          if (ending.signal.aborted) return;
          const fault = toApiError(error);
          failures += 1;
          if (fault.code === "api_key_invalid" || fault.code === "api_key_expired") return signOut();
          setAsked((before) => ({ state: "failed", error: fault, ...("value" in before && { value: before.value }) }));
        }
      if (ending.signal.aborted || everyMs === null) return;
      timer = setTimeout(run, Math.min(everyMs * 2 ** failures, Math.max(everyMs, MOST_MS)));
    };
    again.current = () => void run();
    const onShow = () => !document.hidden && everyMs !== null && void run();
    document.addEventListener("visibilitychange", onShow);
    setAsked({ state: "loading" });
    void run();
    return () => {
      ending.abort();
      clearTimeout(timer);
      document.removeEventListener("visibilitychange", onShow);
    };
  }, keys);
  return { asked, reload: () => again.current() };
}

export const toApiError = (error: unknown): ApiError =>
  error instanceof ApiError ? error : new ApiError(0, { code: "fault_here", detail: String(error) });
