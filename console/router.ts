/** The address decides which page is shown: back, reload and shared links work. */
import { signal } from "@preact/signals";
import { base } from "./session.ts";

const root = `${base}/console`;

interface Route {
  /** Below `/console`: `["processes", "0198…"]`. */
  readonly segments: readonly string[];
  readonly query: URLSearchParams;
}

function readRoute(): Route {
  const { pathname, search } = window.location;
  const path = pathname.startsWith(root) ? pathname.slice(root.length) : "";
  return { segments: path.split("/").filter(Boolean).map(decode), query: new URLSearchParams(search) };
}

/** Malformed percent-encoding stays as it is and leads to "Page not found". */
function decode(segment: string): string {
  try {
    return decodeURIComponent(segment);
  } catch {
    return segment;
  }
}

export const route = signal<Route>(readRoute());

/** `linkTo("processes", uuid)` */
export const linkTo = (...segments: readonly string[]): string =>
  [root, ...segments.map((segment) => encodeURIComponent(segment))].join("/");

/** Takes the focus when the focused element was removed. */
export const focusContent = (): void => document.querySelector<HTMLElement>("main")?.focus();

export function navigate(address: string): void {
  window.history.pushState(null, "", address);
  route.value = readRoute();
  focusContent();
  window.scrollTo(0, 0);
}

/** After a slow action: a user who has left the page in the meantime stays where they are. */
export function navigateFrom(before: Route, address: string): void {
  if (route.value === before) navigate(address);
}

/** Links within the console change the page without loading it. */
export function interceptLinks(): void {
  window.addEventListener("popstate", () => {
    route.value = readRoute();
  });
  document.addEventListener("click", (event) => {
    const link = (event.target as Element | null)?.closest?.("a");
    const isPlain = event.button === 0 && !event.metaKey && !event.ctrlKey && !event.shiftKey && !event.altKey;
    if (!link || !isPlain || link.target !== "" || link.hasAttribute("download") || event.defaultPrevented) return;
    const { origin, pathname, search } = new URL(link.href);
    if (origin !== window.location.origin || !pathname.startsWith(root)) return;
    event.preventDefault();
    navigate(pathname + search);
  });
}
