/** Which page is shown, by the address: one can go back, reload, and send it to somebody. */
import { signal } from "@preact/signals";
import { base } from "./session.ts";

const root = `${base}/console`;

export interface Place {
  /** Below `/console`: `["processes", "0198…"]`. */
  readonly parts: readonly string[];
  readonly query: URLSearchParams;
}

function read(): Place {
  const { pathname, search } = window.location;
  const path = pathname.startsWith(root) ? pathname.slice(root.length) : "";
  return { parts: path.split("/").filter(Boolean).map(decode), query: new URLSearchParams(search) };
}

/** As it is where it is no encoding of anything: such a page is not there, and that is all that is wrong. */
function decode(part: string): string {
  try {
    return decodeURIComponent(part);
  } catch {
    return part;
  }
}

export const place = signal<Place>(read());

/** `addressOf("processes", uuid)` */
export const addressOf = (...parts: readonly string[]): string =>
  [root, ...parts.map((part) => encodeURIComponent(part))].join("/");

/** Where keys go on when what had the focus is gone. */
export const focusContent = (): void => document.querySelector<HTMLElement>("main")?.focus();

export function go(address: string): void {
  window.history.pushState(null, "", address);
  place.value = read();
  focusContent();
  window.scrollTo(0, 0);
}

/** After something that took its time: who has gone elsewhere in the meantime is left there. */
export function goFrom(before: Place, address: string): void {
  if (place.value === before) go(address);
}

/** Clicks on links of our own change the page without loading it. */
export function followLinks(): void {
  window.addEventListener("popstate", () => {
    place.value = read();
  });
  document.addEventListener("click", (event) => {
    const link = (event.target as Element | null)?.closest?.("a");
    const isPlain = event.button === 0 && !event.metaKey && !event.ctrlKey && !event.shiftKey && !event.altKey;
    if (!link || !isPlain || link.target !== "" || link.hasAttribute("download") || event.defaultPrevented) return;
    const { origin, pathname, search } = new URL(link.href);
    if (origin !== window.location.origin || !pathname.startsWith(root)) return;
    event.preventDefault();
    go(pathname + search);
  });
}
