/** The counts and the summary of a replay. */

import type { DetectionMessage } from "../../schemas/detection-message.ts";
import type { JsonRecord } from "../../schemas/json.ts";
import { alignTable, formatRate, formatTime, type Paint } from "../text.ts";
import { describeReceiver, formatClipTime, type Sender, type Sending } from "./sending.ts";

export interface Span {
  readonly startMs: number;
  readonly clipSeconds: number;
  /** Wall-clock time of the replay. */
  readonly seconds: number;
  readonly isInterrupted: boolean;
}

const rateOf = ({ clipSeconds, seconds }: Span): number => (seconds > 0 ? clipSeconds / seconds : 0);

export function formatSummary(senders: readonly Sender[], tally: Tally, span: Span, paint: Paint): string {
  const both = senders.map((sender, row) => ({ sender, tally: tally.rows[row] as RowTally }));
  const of = (kind: Sender["kind"]) => both.filter(({ sender }) => sender.kind === kind);
  const at = (timeMs: number | null): string => (timeMs === null ? "-" : formatClipTime(timeMs, span.startMs));
  const alerts = of("alert").map(({ sender, tally: { events, firstMs, lastMs } }) => [
    sender.name,
    ...["triggered", "updated", "cleared"].map((event) => String(events[event] ?? 0)),
    at(firstMs),
    at(lastMs),
    destinationsOf(sender),
  ]);
  const webhooks = of("webhook").map(({ sender, tally: { count, firstMs, lastMs } }) => [
    sender.name,
    String(count),
    at(firstMs),
    at(lastMs),
    destinationsOf(sender),
  ]);
  return [
    ...drawTable(["alert", "triggered", "updated", "cleared", "first", "last", "destination"], alerts, paint),
    ...drawTable(["subscription", "notifications", "first", "last", "destination"], webhooks, paint),
    describeSpan(tally, span),
    ...(tally.sent === 0 ? [explainSilence(tally)] : []),
  ].join("\n\n");
}

/** Empty without rows. The first and the last column are aligned left. */
function drawTable(heads: readonly string[], rows: readonly (readonly string[])[], paint: Paint): readonly string[] {
  const isLeft = (column: number): boolean => column === 0 || column === heads.length - 1;
  return rows.length === 0 ? [] : [alignTable(heads, rows, paint, isLeft)];
}

const destinationsOf = ({ to }: Sender): string => to.map(describeReceiver).join(", ") || "-";

function describeSpan(tally: Tally, span: Span): string {
  const speed = `${formatTime(span.clipSeconds, 1)} in ${span.seconds.toFixed(1)} s, ${formatRate(rateOf(span))} × real time`;
  const sent = `${tally.sent} notifications would have been sent.`;
  return `${span.isInterrupted ? "Interrupted: so far " : ""}${speed}. ${sent}`;
}

/** Why nothing would have been sent. */
export function explainSilence({ tracks, messages, untracked }: Tally): string {
  const none = "Nothing would have been sent.";
  if (messages === 0) return `${none} The graph sends no detection messages: it has no element \`detections\`.`;
  if (tracks.length === 0 && untracked > 0)
    return `${none} Objects were detected, but not tracked: the graph has no element \`track\`.`;
  if (tracks.length === 0) return `${none} There was no track in ${messages} frames.`;
  const count = tracks.reduce((sum, [, each]) => sum + each, 0);
  const list = tracks.map(([name, each]) => `${each} ${name}`).join(", ");
  return `${none} There ${count === 1 ? "was 1 track" : `were ${count} tracks`} in ${messages} frames: ${list}. Check the classes, the region and the minimum confidence, area and age of each filter.`;
}

export function summarise(senders: readonly Sender[], tally: Tally, span: Span): JsonRecord {
  const iso = (timeMs: number | null): string | null => (timeMs === null ? null : new Date(timeMs).toISOString());
  const rows = senders.map(({ kind, name, type, to }, row) => {
    const { events, count, firstMs, lastMs } = tally.rows[row] as RowTally;
    const times = { first: iso(firstMs), last: iso(lastMs), to };
    if (kind === "webhook") return { subscription: name, notifications: count, ...times };
    const { triggered = 0, updated = 0, cleared = 0 } = events;
    return { alert: name, type, triggered, updated, cleared, ...times };
  });
  return {
    type: "summary",
    interrupted: span.isInterrupted,
    rows,
    would_have_sent: tally.sent,
    clip_seconds: round(span.clipSeconds),
    seconds: round(span.seconds),
    clip_seconds_a_second: round(rateOf(span)),
    pictures: tally.messages,
    tracks: Object.fromEntries(tally.tracks),
  } as unknown as JsonRecord;
}

const round = (value: number): number => Math.round(value * 1000) / 1000;

/** Counts notifications per alert and subscription, and tracks per class. Memory is bounded by the number of tracks. */
export interface RowTally {
  readonly events: Readonly<Record<string, number>>;
  readonly count: number;
  readonly firstMs: number | null;
  readonly lastMs: number | null;
}

const NONE: RowTally = { events: {}, count: 0, firstMs: null, lastMs: null };

export class Tally {
  readonly #rows: RowTally[];
  /** By id. The class of a track may change: the last one counts. */
  readonly #classes = new Map<number, string>();
  #messages = 0;
  #untracked = 0;

  constructor(rows: number) {
    this.#rows = Array.from({ length: rows }, () => NONE);
  }

  get rows(): readonly RowTally[] {
    return this.#rows;
  }

  get sent(): number {
    return this.#rows.reduce((sum, { count }) => sum + count, 0);
  }

  /** Messages with untracked objects. */
  get untracked(): number {
    return this.#untracked;
  }

  get messages(): number {
    return this.#messages;
  }

  /** Tracks of each class, most first. */
  get tracks(): readonly (readonly [className: string, count: number])[] {
    const counts = new Map<string, number>();
    for (const name of this.#classes.values()) counts.set(name, (counts.get(name) ?? 0) + 1);
    return [...counts].sort((a, b) => b[1] - a[1] || (a[0] < b[0] ? -1 : 1));
  }

  see({ active_tracks }: DetectionMessage): void {
    this.#messages += 1;
    if (active_tracks.some(({ track_id }) => track_id === 0)) this.#untracked += 1;
    for (const { track_id, class_name } of active_tracks) if (track_id > 0) this.#classes.set(track_id, class_name);
  }

  count({ row, event, timeMs }: Sending): void {
    const before = this.#rows[row] ?? NONE;
    this.#rows[row] = {
      events: { ...before.events, [event]: (before.events[event] ?? 0) + 1 },
      count: before.count + 1,
      firstMs: before.firstMs ?? timeMs,
      lastMs: timeMs,
    };
  }
}
