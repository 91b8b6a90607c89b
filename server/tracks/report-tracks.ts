/**
 * The track report of a process as JSON, in chunks. Reads pages with one query each: a slow client holds no connection, and
 * memory is limited to two pages, as the next page is read while one is sent.
 */
import { beginEntry, endEntry, toPosix } from "../../tracks/report-entry.ts";
import type { Queries } from "../store/client.ts";
import {
  type ReportedProcess,
  type ReportRow,
  type ReportSelection,
  readEntries,
  readReportPage,
} from "../store/track-reports.ts";

export interface ReportOrder extends ReportSelection {
  readonly reportTimeMs: number;
  readonly windowMinutes: number;
  /** The process is running: tracks may be live. */
  readonly isActive: boolean;
  readonly withPatches: boolean;
  /** Only tracks with greater ids, or lesser ones if it is descending; null for all. */
  readonly after: number | null;
  /** Null: no limit. */
  readonly limit: number | null;
}

const TRACKS_PER_PAGE = 2_000;

export async function* reportTracks(sql: Queries, order: ReportOrder): AsyncGenerator<string> {
  const { processUuid, reportTimeMs, windowMinutes } = order;
  const head = { process_uuid: processUuid, report_time: toPosix(reportTimeMs), time_window_minutes: windowMinutes };
  let ahead = `${JSON.stringify(head).slice(0, -1)},"tracks":[`;
  let last = order.after ?? beginOf(order);
  for await (const rows of readPages(sql, order)) {
    const written = await writeTracks(sql, order, rows);
    last = rows.at(-1)?.trackId ?? last;
    if (written.length === 0) continue;
    yield ahead + written.join(",");
    ahead = ",";
  }
  const end = order.limit !== null && (await isMore(sql, order, last)) ? `,"next_cursor":"${writeCursor(last)}"` : "";
  yield `${ahead === "," ? "" : ahead}]${end}}`;
}

/** Before all ids. */
const beginOf = ({ isDescending }: ReportOrder): number => (isDescending ? Number.MAX_SAFE_INTEGER : 0);

/** Reads each page while the previous one is sent. */
async function* readPages(sql: Queries, order: ReportOrder): AsyncGenerator<readonly ReportRow[]> {
  const { limit, withPatches } = order;
  let left = limit ?? Number.POSITIVE_INFINITY;
  const read = async (after: number): Promise<readonly ReportRow[]> => {
    if (left <= 0) return [];
    return readReportPage(sql, order, { after, limit: Math.min(TRACKS_PER_PAGE, left), withPatches });
  };
  for (let rows = await read(order.after ?? beginOf(order)); rows.length > 0; ) {
    left -= rows.length;
    const next = read(rows.at(-1)?.trackId ?? 0);
    // Awaited after the page is sent: not unhandled until then.
    next.catch(() => {});
    yield rows;
    rows = await next;
  }
}

/** Without tracks that were deleted since their page was read. */
async function writeTracks(sql: Queries, order: ReportOrder, rows: readonly ReportRow[]): Promise<readonly string[]> {
  const unwritten = rows.flatMap(({ report, trackId }) => (report === null ? [trackId] : []));
  const entries = await readEntries(sql, order, unwritten);
  const made = new Map(entries.map((entry) => [entry.id, { ...entry, isLive: entry.isLive && order.isActive }]));
  return rows.flatMap(({ report, trackId, patch, enhanced }) => {
    const entry = made.get(trackId);
    const begin = report ?? (entry === undefined ? null : beginEntry(entry));
    return begin === null ? [] : [begin + endEntry(patch, enhanced)];
  });
}

const isMore = async (sql: Queries, order: ReportOrder, after: number): Promise<boolean> =>
  (await readReportPage(sql, order, { after, limit: 1, withPatches: false })).length > 0;

const CURSOR = /^[1-9]\d{0,15}$/;
const writeCursor = (trackId: number): string => Buffer.from(String(trackId)).toString("base64url");

/** The last track of the previous page; null: not a valid cursor. */
export function readReportCursor(cursor: string): number | null {
  const text = Buffer.from(cursor, "base64url").toString("latin1");
  return CURSOR.test(text) && Number.isSafeInteger(Number(text)) ? Number(text) : null;
}

interface ReportWindow {
  /** Null: from the beginning. */
  readonly since: Date | null;
  readonly windowMinutes: number;
}

interface WindowRule {
  readonly nowMs: number;
  readonly isActive: boolean;
  /** Of a running process. */
  readonly mostMinutes: number;
  /** Narrows the window, never widens it. */
  readonly asked: number | null;
}

const MINUTE_MS = 60_000;

type Times = Pick<ReportedProcess, "createdAt" | "startedAt" | "finishedAt">;

export function chooseWindow({ createdAt, startedAt, finishedAt }: Times, rule: WindowRule): ReportWindow {
  const { nowMs, isActive, mostMinutes, asked } = rule;
  if (isActive) {
    const windowMinutes = Math.min(asked ?? mostMinutes, mostMinutes);
    return { since: new Date(nowMs - windowMinutes * MINUTE_MS), windowMinutes };
  }
  const endMs = (finishedAt ?? createdAt).getTime();
  const lengthMinutes = Math.max(1, Math.ceil((endMs - (startedAt ?? createdAt).getTime()) / MINUTE_MS));
  if (asked === null || asked >= lengthMinutes) return { since: null, windowMinutes: lengthMinutes };
  return { since: new Date(endMs - asked * MINUTE_MS), windowMinutes: asked };
}
