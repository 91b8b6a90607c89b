/**
 * Compares the events of alert rules of two runs on different kinds of machines. Rounding moves boxes, and with them the
 * frame in which a rule is met; it does not change what happens. Pure.
 */
import type { Json } from "../../schemas/json.ts";
import type { Difference } from "./difference.ts";
import type { Said } from "./golden.ts";

interface SeenEvent {
  readonly alert: string;
  readonly event: string;
  readonly timeMs: number;
  readonly tracks: readonly Json[];
}

/** Null for any other message. */
export function readEvent({ message }: Said): SeenEvent | null {
  const { alert, event, timeMs, tracks } = message;
  if (typeof alert !== "string" || typeof event !== "string" || typeof timeMs !== "number") return null;
  return Array.isArray(tracks) ? { alert, event, timeMs, tracks } : null;
}

/** Each rule sends the same events in the same order, within `apartMs` of each other, with the same number of tracks. */
export function compareEvents(
  golden: readonly SeenEvent[],
  now: readonly SeenEvent[],
  apartMs: number,
): readonly Difference[] {
  const names = [...new Set([...golden, ...now].map(({ alert }) => alert))];
  return names.flatMap((name) => {
    const [was, is] = [golden, now].map((events) => events.filter(({ alert }) => alert === name));
    const count = Math.max(was?.length ?? 0, is?.length ?? 0);
    return Array.from({ length: count }, (_, index) => comparePair(name, was?.[index], is?.[index], apartMs)).flat();
  });
}

function comparePair(
  name: string,
  was: SeenEvent | undefined,
  is: SeenEvent | undefined,
  apartMs: number,
): readonly Difference[] {
  const differ = (what: string): readonly Difference[] => [
    {
      ...{ kind: was === undefined || is === undefined ? "message" : "value", frame: null, track: null, amount: null },
      ...{ timeMs: (was ?? is)?.timeMs ?? null, what: `alert "${name}": ${what}`, golden: show(was), now: show(is) },
    },
  ];
  if (is === undefined) return differ(`the event ${was?.event} is missing`);
  if (was === undefined) return differ(`the event ${is.event} is new`);
  if (was.event !== is.event) return differ(`the event is ${is.event}, was ${was.event}`);
  if (Math.abs(was.timeMs - is.timeMs) > apartMs)
    return differ(`${is.event} is at ${is.timeMs} ms, was at ${was.timeMs} ms`);
  const isAsMany = was.tracks.length === is.tracks.length;
  return isAsMany ? [] : differ(`${is.event} has ${is.tracks.length} tracks, had ${was.tracks.length}`);
}

const show = (event: SeenEvent | undefined): Json =>
  event === undefined
    ? null
    : { alert: event.alert, event: event.event, timeMs: event.timeMs, tracks: event.tracks.length };
