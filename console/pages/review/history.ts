/** What happened on a source, in milliseconds: notices by filter, the next and the previous one, recorded ranges. Pure. */
import type { Timeline } from "../../../client/client.ts";
import { isIn, type Span } from "./axis.ts";
import { readMoment } from "./clock.ts";

export interface Mark extends Omit<Timeline["notices"][number], "at"> {
  readonly atMs: number;
}

export interface Activity extends Span {
  readonly className: string;
  readonly tracks: number;
}

export interface History extends Span {
  readonly recorded: readonly Span[];
  readonly processes: readonly (Span & { readonly uuid: string; readonly isRunning: boolean })[];
  readonly activity: readonly Activity[];
  readonly tracks: readonly (Span & { readonly className: string })[];
  readonly marks: readonly Mark[];
  readonly truncated: Timeline["truncated"];
}

const spanOf = ({ from, to }: Pick<Timeline, "from" | "to">): Span => ({
  fromMs: readMoment(from),
  toMs: readMoment(to),
});

export function readHistory(timeline: Timeline): History {
  const whole = spanOf(timeline);
  return {
    ...whole,
    recorded: timeline.recorded.map(spanOf),
    processes: timeline.processes.map(({ process_uuid: uuid, from, to }) => ({
      ...{ uuid, isRunning: to === null },
      ...{ fromMs: readMoment(from), toMs: to === null ? whole.toMs : readMoment(to) },
    })),
    activity: timeline.activity.map((one) => ({ ...spanOf(one), className: one.class_name, tracks: one.tracks })),
    tracks: timeline.tracks.map((one) => ({ ...spanOf(one), className: one.class_name })),
    marks: timeline.notices.map(({ at, ...notice }) => ({ ...notice, atMs: readMoment(at) })),
    truncated: timeline.truncated,
  };
}

export interface Filter {
  /** Empty: all. */
  readonly className: string;
  readonly alertUuid: string;
  readonly reviewed: "" | "true" | "false";
}

export const NO_FILTER: Filter = { className: "", alertUuid: "", reviewed: "" };

export const matches = ({ className, alertUuid, reviewed }: Filter, mark: Mark): boolean =>
  (className === "" || mark.classes.includes(className)) &&
  (alertUuid === "" || mark.alert_uuid === alertUuid) &&
  (reviewed === "" || mark.reviewed === (reviewed === "true"));

/**
 * The notice after or before the current one; without one, the next after or before the time. Several can have the same
 * time. `marks` are in order of time.
 */
export function stepMark(
  marks: readonly Mark[],
  { uuid, atMs }: { readonly uuid: string | null; readonly atMs: number },
  step: 1 | -1,
): Mark | null {
  const current = uuid === null ? -1 : marks.findIndex((mark) => mark.uuid === uuid);
  if (current !== -1) return marks[current + step] ?? null;
  return (step === 1 ? marks.find((mark) => mark.atMs > atMs) : marks.findLast((mark) => mark.atMs < atMs)) ?? null;
}

/** The recorded range with this time. */
export const rangeAt = (ranges: readonly Span[], ms: number): Span | null =>
  ranges.find((range) => isIn(range, ms)) ?? null;

/** The next recorded time from this one on; null: there is none. */
export function nextRecorded(ranges: readonly Span[], ms: number): number | null {
  const range = ranges.find(({ toMs }) => toMs > ms);
  return range === undefined ? null : Math.max(ms, range.fromMs);
}

/** The process whose detections are shown: the newest one that ran in this time. */
export const processIn = (processes: History["processes"], { fromMs, toMs }: Span): string | null =>
  processes.find((process) => process.fromMs < toMs && process.toMs > fromMs)?.uuid ?? null;

/** Classes with their number of tracks, the most frequent first. */
export function countTracks(activity: readonly Activity[]): readonly (readonly [className: string, tracks: number])[] {
  const counts = new Map<string, number>();
  for (const { className, tracks } of activity) counts.set(className, (counts.get(className) ?? 0) + tracks);
  return [...counts].sort(([a, first], [b, second]) => second - first || a.localeCompare(b));
}
