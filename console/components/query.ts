/** What a page fetches from the service, and how it is shown while it loads, when it fails and when it is there. */
import { useEffect, useRef, useState } from "preact/hooks";
import type { ApiError, Process } from "../../client/client.ts";
import { html, type Markup } from "../html.ts";
import { Poller } from "../poller.ts";
import { windhover } from "../session.ts";
import { Failed, Loading } from "./states.ts";

interface Query<T> {
  /** The last known value, also while requests fail. */
  readonly value: T | undefined;
  /** Of the last request. */
  readonly error: ApiError | null;
  reload(): void;
}

const LOADING = { value: undefined, error: null };

/**
 * Fetches now, when `keys` change, and then every `intervalMs` (null: once). A hidden tab does not fetch. While requests
 * fail, the delay doubles.
 */
export function useQuery<T>(
  fetch: (signal: AbortSignal) => Promise<T>,
  keys: readonly unknown[],
  intervalMs: number | null = null,
): Query<T> {
  const [state, setState] = useState<Omit<Query<T>, "reload">>(LOADING);
  const reload = useRef(() => {});
  useEffect(() => {
    const poller = new Poller<T>({
      ...{ fetch, intervalMs, isVisible: () => !document.hidden },
      onValue: (value) => setState({ value, error: null }),
      onError: (error) => setState(({ value }) => ({ value, error })),
    });
    reload.current = poller.run;
    document.addEventListener("visibilitychange", poller.onVisibilityChange);
    setState(LOADING);
    poller.run();
    return () => {
      poller.close();
      document.removeEventListener("visibilitychange", poller.onVisibilityChange);
    };
  }, keys);
  return { ...state, reload: () => reload.current() };
}

/** Renders the value once it is loaded. After an error, the last known value stays below it. */
export function whenLoaded<T>({ value, error, reload }: Query<T>, render: (value: T) => Markup): Markup {
  if (value === undefined && error === null) return html`<${Loading} />`;
  const failed = error !== null && html`<${Failed} error=${error} onRetry=${reload} />`;
  return html`${failed}${value !== undefined && render(value)}`;
}

const PAGE_SIZE = 50;
/** The most that the service returns at once. */
const MAX_ITEMS = 1000;

/** The newest entries of a list, more on request. All of them are fetched again each time, so that none is out of date. */
export function useList<T>(
  fetch: (page: { limit: number }, signal: AbortSignal) => Promise<T>,
  keys: readonly unknown[],
  intervalMs: number,
) {
  const limit = useRef(PAGE_SIZE);
  const query = useQuery((signal) => fetch({ limit: limit.current }, signal), keys, intervalMs);
  const showMore = (): void => {
    limit.current = Math.min(limit.current + PAGE_SIZE, MAX_ITEMS);
    query.reload();
  };
  return { query, showMore };
}

interface MoreProps {
  /** How many are shown. */
  readonly count: number;
  /** `next_cursor` of the response. */
  readonly next: string | undefined;
  onMore(): void;
}

export const More = ({ count, next, onMore }: MoreProps) => {
  if (next === undefined) return null;
  if (count >= MAX_ITEMS) return html`<p class="hint more">Showing the newest ${MAX_ITEMS}.</p>`;
  return html`<div class="more"><button type="button" onClick=${onMore}>Show more</button></div>`;
};

const NAMES_MS = 15_000;

export type NameOf = (process: Pick<Process, "source_uuid" | "source_url">) => string;

/** Names processes by the alias of their source; by its address while the alias is unknown, or the source deleted. */
export function useSourceNames(): NameOf {
  const { value } = useQuery((signal) => windhover.listSources({}, { signal }), [], NAMES_MS);
  const names = new Map(value?.sources.map(({ uuid, alias }) => [uuid, alias]));
  return ({ source_uuid, source_url }) => names.get(source_uuid) ?? source_url;
}
