/** Times of a source: of day for a stream, from the start of the video for a file. Milliseconds on the page. Pure. */
import type { Source, Timeline } from "../../../client/client.ts";
import { formatDuration } from "../../components/format.ts";
import type { Span } from "./axis.ts";

export type Moment = Timeline["from"];

/** A file that is played as a live source has times of day. */
export const isFile = ({ type, loop }: Pick<Source, "type" | "loop">): boolean => type === "file" && !loop;

export const readMoment = (moment: Moment): number =>
  typeof moment === "number"
    ? moment * 1000
    : /^\d+(\.\d+)?$/.test(moment)
      ? Number(moment) * 1000
      : Date.parse(moment);

/** As the API expects it. */
export const writeMoment = (ms: number, ofFile: boolean): string =>
  ofFile ? String(Math.round(ms) / 1000) : new Date(ms).toISOString();

const two = (value: number): string => String(value).padStart(2, "0");

/** With seconds, in the time zone of the browser. */
export const formatMoment = (ms: number, ofFile: boolean): string =>
  formatTick(ofFile ? Math.floor(ms / 1000) * 1000 : ms, ofFile, true);

/** Of a tick: seconds only where they matter. */
export function formatTick(ms: number, ofFile: boolean, hasSeconds: boolean): string {
  if (ofFile) return formatDuration(ms / 1000);
  const at = new Date(ms);
  return `${two(at.getHours())}:${two(at.getMinutes())}${hasSeconds ? `:${two(at.getSeconds())}` : ""}`;
}

/** `2026-05-17`, in the time zone of the browser. */
export function dayOf(ms: number): string {
  const at = new Date(ms);
  return `${at.getFullYear()}-${two(at.getMonth() + 1)}-${two(at.getDate())}`;
}

/** From midnight to midnight: 23 or 25 hours when the clocks change. */
export function spanOfDay(day: string): Span {
  const [year = 1970, month = 1, date = 1] = day.split("-").map(Number);
  return { fromMs: new Date(year, month - 1, date).getTime(), toMs: new Date(year, month - 1, date + 1).getTime() };
}

export function addDays(day: string, count: number): string {
  const [year = 1970, month = 1, date = 1] = day.split("-").map(Number);
  return dayOf(new Date(year, month - 1, date + count, 12).getTime());
}
