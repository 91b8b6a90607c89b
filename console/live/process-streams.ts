/** Events and frames of running processes. */
import { useEffect, useRef } from "preact/hooks";
import { html } from "../html.ts";
import { request } from "../session.ts";
import { EventParser, type FeedFrame, FeedParser, type ServerEvent } from "./parsers.ts";
import { openStream, type StreamOptions } from "./stream.ts";

const FRAME_TIMEOUT_MS = 15_000;
/** Without HTTP/2, browsers open six connections to a server; the page itself needs some of them. */
const MAX_SUBSCRIPTIONS = 4;

const feedPath = (processUuid: string): string => `/process/${processUuid}/feed?overlay=none`;

/** Returns a function that closes the stream. */
export const openEvents = (processUuid: string, onItem: (event: ServerEvent) => void): (() => void) =>
  openStream({ request, path: `/process/${processUuid}/events`, createParser: () => new EventParser(), onItem });

/** Frames, only while the tab is visible: they cost the service an encoder. Returns a function that closes the stream. */
export function openFeed(
  processUuid: string,
  handlers: Pick<StreamOptions<FeedFrame>, "onItem" | "onInterruption">,
): () => void {
  const options = { request, path: feedPath(processUuid), createParser: () => new FeedParser(), ...handlers };
  let close: (() => void) | null = null;
  const stop = (): void => {
    close?.();
    close = null;
  };
  const update = (): void => {
    if (document.hidden) stop();
    else close ??= openStream(options);
  };
  document.addEventListener("visibilitychange", update);
  update();
  return () => {
    document.removeEventListener("visibilitychange", update);
    stop();
  };
}

/** One frame as an object URL, which the caller revokes. Rejects with an error whose message is shown to the user. */
export const fetchFrame = async (processUuid: string, signal: AbortSignal): Promise<string> =>
  (await fetchStill(processUuid, signal)).url;

export interface Still {
  readonly url: string;
  /** As in detection messages. */
  readonly timestamp: string;
}

/** The same, with the time of the frame. */
export async function fetchStill(processUuid: string, signal: AbortSignal): Promise<Still> {
  const closing = new AbortController();
  const close = () => closing.abort();
  const timer = setTimeout(close, FRAME_TIMEOUT_MS);
  signal.addEventListener("abort", close);
  try {
    const { body } = await request(feedPath(processUuid), closing.signal);
    const parser = new FeedParser();
    const reader = body?.getReader();
    for (let read = await reader?.read(); read?.done === false; read = await reader?.read()) {
      const [frame] = parser.push(read.value);
      if (frame === undefined) continue;
      const url = URL.createObjectURL(new Blob([frame.jpeg as BlobPart], { type: "image/jpeg" }));
      return { url, timestamp: frame.timestamp };
    }
    throw new Error("the process ended before its first frame");
  } catch (error) {
    throw closing.signal.aborted
      ? new Error(`no frame within ${FRAME_TIMEOUT_MS / 1000} s; is the process paused?`)
      : error;
  } finally {
    clearTimeout(timer);
    signal.removeEventListener("abort", close);
    close();
  }
}

/**
 * Events of the newest of these processes. Open subscriptions stay when the list changes: a new one would miss events in
 * between.
 */
export function useProcessEvents(
  processUuids: readonly string[],
  onEvent: (processUuid: string, event: ServerEvent) => void,
): void {
  const handler = useRef(onEvent);
  handler.current = onEvent;
  const open = useRef(new Map<string, () => void>()).current;
  // UUIDs of version 7 sort by their time of creation.
  const wanted = [...processUuids].sort().reverse().slice(0, MAX_SUBSCRIPTIONS);
  useEffect(() => {
    for (const [uuid, close] of open) {
      if (wanted.includes(uuid)) continue;
      close();
      open.delete(uuid);
    }
    for (const uuid of wanted)
      if (!open.has(uuid))
        open.set(
          uuid,
          openEvents(uuid, (event) => handler.current(uuid, event)),
        );
  }, [wanted.join(" ")]);
  useEffect(
    () => () => {
      for (const close of open.values()) close();
    },
    [],
  );
}

/** `count`: running processes. */
export const SubscriptionLimit = ({ count }: { count: number }) =>
  count > MAX_SUBSCRIPTIONS &&
  html`<p class="hint">Only from the ${MAX_SUBSCRIPTIONS} newest of ${count} running processes.</p>`;
