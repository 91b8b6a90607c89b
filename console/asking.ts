/** What a page asks the service for, again and again while it is looked at. */
import { useEffect, useRef, useState } from "preact/hooks";
import { type Asked, Asker } from "./asker.ts";

export interface Asking<T> {
  readonly asked: Asked<T>;
  /** Asks now. */
  reload(): void;
}

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
    const asker = new Asker({ ask, everyMs, isSeen: () => !document.hidden, change: setAsked });
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
