/** A list that may be long: the newest of it, and more on request. It is asked for anew as a whole, so that nothing in it is old. */
import { useRef } from "preact/hooks";
import { type Asking, useAsked } from "../asking.ts";
import { html } from "../html.ts";

const PAGE = 50;
/** As many as the service tells at once. */
const MOST = 1000;

export interface Listing<T> extends Asking<T> {
  showMore(): void;
}

interface Page {
  readonly limit: number;
}

export function useListing<T>(
  list: (page: Page, signal: AbortSignal) => Promise<T>,
  keys: readonly unknown[],
  everyMs: number,
): Listing<T> {
  const limit = useRef(PAGE);
  const asking = useAsked((signal) => list({ limit: limit.current }, signal), keys, everyMs);
  const showMore = (): void => {
    limit.current = Math.min(limit.current + PAGE, MOST);
    asking.reload();
  };
  return { ...asking, showMore };
}

interface MoreNeeds {
  /** How many are shown. */
  readonly count: number;
  /** Of the answer: there is more. */
  readonly next: string | undefined;
  onMore(): void;
}

export const More = ({ count, next, onMore }: MoreNeeds) => {
  if (next === undefined) return null;
  if (count >= MOST) return html`<p class="hint more">The newest ${MOST} are shown.</p>`;
  return html`<div class="more"><button type="button" onClick=${onMore}>Show more</button></div>`;
};
