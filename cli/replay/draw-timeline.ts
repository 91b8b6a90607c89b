/** The timeline as SVG: a row for every alert and subscription, a mark for every notification. */

import { bar, COLOURS, FAINT, INK, label, line, page } from "../svg.ts";
import { formatTime } from "../text.ts";
import type { Sender, Sending } from "./sending.ts";

const WIDTH = 1000;
const LEFT = 190;
const RIGHT = 20;
const HEAD = 52;
const ROW = 26;
const FOOT = 30;
const MOST_NAME_CHARACTERS = 28;
const MOST_TICKS = 10;
/** Marks closer than this are merged. */
const LEAST_STEP = 0.5;

const STYLES: Readonly<Record<string, { readonly colour: string; readonly height: number }>> = {
  triggered: { colour: COLOURS[5], height: 18 },
  updated: { colour: COLOURS[4], height: 8 },
  cleared: { colour: COLOURS[2], height: 18 },
};
const WEBHOOK = { colour: COLOURS[0], height: 14 };
const SPAN = "#f6dfc8";

export type Mark = Pick<Sending, "timeMs" | "row" | "event">;

export interface Extent {
  readonly title: string;
  readonly startMs: number;
  readonly clipSeconds: number;
}

export function drawTimeline(senders: readonly Sender[], marks: readonly Mark[], extent: Extent): string {
  const seconds = Math.max(extent.clipSeconds, ...lastOf(marks, extent.startMs), 0.001);
  const across = (second: number): number => LEFT + (second / seconds) * (WIDTH - LEFT - RIGHT);
  const bottom = HEAD + senders.length * ROW;
  const rows = senders.flatMap((sender, row) => {
    const own = marks.filter((mark) => mark.row === row);
    return drawRow(
      sender,
      own,
      HEAD + row * ROW,
      (timeMs) => across((timeMs - extent.startMs) / 1000),
      across(seconds),
    );
  });
  return page(WIDTH, bottom + FOOT, [
    label(LEFT, 18, extent.title, { bold: true, size: 12 }),
    ...drawLegend(),
    ...drawScale(seconds, bottom, across),
    ...rows,
  ]);
}

const lastOf = (marks: readonly Mark[], startMs: number): readonly number[] => {
  const last = marks.at(-1);
  return last === undefined ? [] : [(last.timeMs - startMs) / 1000];
};

function drawRow(
  { kind, name }: Sender,
  marks: readonly Mark[],
  y: number,
  xOf: (timeMs: number) => number,
  right: number,
): readonly string[] {
  const middle = y + ROW / 2;
  const drawn = thin(marks, xOf).map(({ mark, x, count }) => {
    const { colour, height } = kind === "alert" ? (STYLES[mark.event] ?? WEBHOOK) : WEBHOOK;
    const hint = `${mark.event}, ${new Date(mark.timeMs).toISOString()}${count > 1 ? ` and ${count - 1} more` : ""}`;
    return bar(x - 1.25, middle - height / 2, 2.5, height, colour, hint);
  });
  return [
    line(LEFT, y + ROW, right, y + ROW, FAINT, 0.5),
    label(LEFT - 8, middle + 4, shorten(name), { anchor: "end" }),
    ...findSpans(marks).map(([fromMs, toMs]) => {
      const [from, to] = [xOf(fromMs), toMs === null ? right : xOf(toMs)];
      return bar(from, middle - 5, to - from, 10, SPAN, "triggered, not cleared");
    }),
    line(LEFT, middle, right, middle, FAINT, 0.5),
    ...drawn,
  ];
}

/** From each trigger to its clearing; none for alerts that are never cleared. */
function findSpans(marks: readonly Mark[]): readonly (readonly [fromMs: number, toMs: number | null])[] {
  if (!marks.some(({ event }) => event === "cleared")) return [];
  const spans: (readonly [number, number | null])[] = [];
  let fromMs: number | null = null;
  for (const { event, timeMs } of marks) {
    if (event === "triggered") fromMs ??= timeMs;
    if (event !== "cleared" || fromMs === null) continue;
    spans.push([fromMs, timeMs]);
    fromMs = null;
  }
  return fromMs === null ? spans : [...spans, [fromMs, null]];
}

/** Merges marks that would overlap. */
function thin(marks: readonly Mark[], xOf: (timeMs: number) => number) {
  const places = new Map<string, { readonly mark: Mark; readonly x: number; count: number }>();
  for (const mark of marks) {
    const x = xOf(mark.timeMs);
    const place = `${mark.event} ${Math.round(x / LEAST_STEP)}`;
    const known = places.get(place);
    if (known === undefined) places.set(place, { mark, x, count: 1 });
    else known.count += 1;
  }
  return [...places.values()];
}

const drawLegend = (): readonly string[] =>
  [...Object.entries(STYLES), ["webhook", WEBHOOK] as const].flatMap(([name, { colour, height }], index) => [
    bar(LEFT + index * 110, 35 - height / 2, 2.5, height, colour, name),
    label(LEFT + 8 + index * 110, 39, name, { size: 10 }),
  ]);

function drawScale(seconds: number, bottom: number, across: (second: number) => number): readonly string[] {
  return listSeconds(seconds).flatMap((second) => [
    line(across(second), HEAD, across(second), bottom, FAINT),
    label(across(second), bottom + 14, formatTime(second, seconds < 10 ? 1 : 0), {
      size: 9,
      anchor: "middle",
      colour: INK,
    }),
  ]);
}

/** Round steps of time. */
const STEPS = [0.1, 0.2, 0.5, 1, 2, 5, 10, 15, 30, 60, 120, 300, 600, 900, 1800, 3600, 7200, 21_600, 86_400];

export function listSeconds(seconds: number): readonly number[] {
  const step = STEPS.find((candidate) => seconds / candidate <= MOST_TICKS) ?? seconds;
  return Array.from({ length: Math.floor(seconds / step) + 1 }, (_, index) => index * step);
}

const shorten = (name: string): string =>
  name.length <= MOST_NAME_CHARACTERS ? name : `${name.slice(0, MOST_NAME_CHARACTERS - 1)}…`;
