/** Fetches time lines: of the whole day, and of the visible part with its tracks. */
import { useEffect, useState } from "preact/hooks";
import { useQuery } from "../../components/query.ts";
import { windhover } from "../../session.ts";
import { lengthOf, type Span } from "./axis.ts";
import { writeMoment } from "./clock.ts";
import { type History, readHistory } from "./history.ts";

const POLL_MS = 10_000;
/** Of a day that is over: what others review. */
const PAST_MS = 60_000;
const SETTLE_MS = 250;

const toInput = (sourceUuid: string, span: Span | null, ofFile = false) => ({
  source_uuid: sourceUuid,
  ...(span !== null && { from: writeMoment(span.fromMs, ofFile), to: writeMoment(span.toMs, ofFile) }),
});

/** `day`: null for a file, whose time line is that of the video. */
export const useTimeline = (sourceUuid: string, day: Span | null) =>
  useQuery(
    async (signal) => readHistory(await windhover.readTimeline(toInput(sourceUuid, day), { signal })),
    [sourceUuid, day?.fromMs],
    day !== null && day.toMs < Date.now() ? PAST_MS : POLL_MS,
  );

const covers = (outer: Span | null, inner: Span): boolean =>
  outer !== null && outer.fromMs <= inner.fromMs && outer.toMs >= inner.toMs;

/**
 * The tracks of the visible part, where the whole day has too many to list them. Null while they are not loaded. Fetched when
 * the view has come to rest, with a margin for the next movement.
 */
export function useDetail(sourceUuid: string, ofFile: boolean, whole: History, view: Span): History | null {
  const [detail, setDetail] = useState<History | null>(null);
  const isNeeded = whole.truncated.includes("tracks") && lengthOf(view) < lengthOf(whole) * 0.9;
  const isFine = covers(detail, view) && detail !== null && lengthOf(detail) <= lengthOf(view) * 6;
  useEffect(() => {
    if (!isNeeded || isFine) return undefined;
    const closing = new AbortController();
    const margin = lengthOf(view) / 2;
    const span = {
      fromMs: Math.max(whole.fromMs, view.fromMs - margin),
      toMs: Math.min(whole.toMs, view.toMs + margin),
    };
    const timer = setTimeout(() => {
      // Without it, the activity of the whole day stays on display.
      windhover.readTimeline(toInput(sourceUuid, span, ofFile), { signal: closing.signal }).then(
        (timeline) => setDetail(readHistory(timeline)),
        () => {},
      );
    }, SETTLE_MS);
    return () => {
      clearTimeout(timer);
      closing.abort();
    };
  }, [isNeeded, isFine, view.fromMs, view.toMs]);
  return isNeeded && covers(detail, view) ? detail : null;
}
