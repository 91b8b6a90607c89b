/** What is sent, one line each, for people. */
import type { TrackEntry } from "../../schemas/detection-message.ts";
import type { Json, JsonRecord } from "../../schemas/json.ts";
import type { Colour, Paint } from "../terminal.ts";
import { padTo } from "../text.ts";
import { formatClipTime, type Sender, type Sending } from "./sending.ts";

const COLOURS: Readonly<Record<string, Colour>> = { triggered: "yellow", updated: "blue", cleared: "green" };
const TIME_COLUMNS = 9;
const EVENT_COLUMNS = 12;
const MOST_NAME_COLUMNS = 24;
const MOST_TRACKS = 4;
const MOST_VALUE_CHARACTERS = 32;

/** @param senders of all rows, so that columns stand below each other */
export function formatSending(
  { timeMs, row, event, body }: Sending,
  senders: readonly Sender[],
  startMs: number,
  paint: Paint,
): string {
  const sender = senders[row];
  const width = Math.min(MOST_NAME_COLUMNS, Math.max(...senders.map(({ name }) => name.length)));
  const name = cut(sender?.name ?? "", MOST_NAME_COLUMNS);
  const colour = COLOURS[event] ?? "cyan";
  const what = sender?.kind === "alert" ? event : "webhook";
  return [
    paint("dim", formatClipTime(timeMs, startMs).padStart(TIME_COLUMNS)),
    padTo(paint("bold", name), width),
    padTo(paint(colour, what), EVENT_COLUMNS),
    sender?.kind === "alert" ? briefNotice(body) : briefWebhook(body),
  ]
    .join("  ")
    .trimEnd();
}

function briefNotice(body: JsonRecord): string {
  const tracks = body.tracks as readonly TrackEntry[];
  return [listTracks(tracks), briefData(body.data as JsonRecord)].filter((part) => part !== "").join("  ");
}

function listTracks(tracks: readonly TrackEntry[]): string {
  const shown = tracks.slice(0, MOST_TRACKS).map(({ track_id, class_name }) => `${class_name} ${track_id}`);
  const more = tracks.length - shown.length;
  return [...shown, ...(more > 0 ? [`${more} more`] : [])].join(", ");
}

function briefData(data: JsonRecord): string {
  return Object.entries(data)
    .flatMap(([name, value]) => {
      const text = briefValue(value);
      return text === null ? [] : [`${name} ${text}`];
    })
    .join(", ");
}

/** Pictures and whatever else is long are left to the lines of `--json`. */
function briefValue(value: Json | undefined): string | null {
  if (value === null || value === undefined || (Array.isArray(value) && value.length === 0)) return null;
  const text = typeof value === "string" ? value : JSON.stringify(value);
  return text.length > MOST_VALUE_CHARACTERS ? null : text;
}

function briefWebhook({ track_count, previous_count }: JsonRecord): string {
  if (previous_count !== undefined) return `${track_count} targets, ${previous_count} before`;
  return `${track_count} new ${track_count === 1 ? "track" : "tracks"}`;
}

const cut = (text: string, columns: number): string =>
  text.length <= columns ? text : `${text.slice(0, columns - 1)}…`;
