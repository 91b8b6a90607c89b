/**
 * The track report of a process in JSON, piece by piece. Read page by page, each in a query of its own: a client that takes
 * its time holds no connection, and a report of any length takes the memory of two pages: while one is sent the next is read.
 */
import { beginEntry, endEntry, toPosix } from "../../tracks/report-entry.ts";
import type { Queries } from "../store/client.ts";
import { type ReportPlace, type ReportRow, readEntries, readReportPage } from "../store/track-reports.ts";

export interface ReportOrder extends ReportPlace {
  readonly reportTimeMs: number;
  readonly windowMinutes: number;
  /** It may still see them. */
  readonly isActive: boolean;
  readonly withPatches: boolean;
  /** Those above this one; 0 for all. */
  readonly after: number;
  /** Null: to the end. */
  readonly limit: number | null;
}

const TRACKS_A_PAGE = 2_000;

export async function* reportTracks(sql: Queries, order: ReportOrder): AsyncGenerator<string> {
  const { processUuid, reportTimeMs, windowMinutes } = order;
  const head = { process_uuid: processUuid, report_time: toPosix(reportTimeMs), time_window_minutes: windowMinutes };
  let ahead = `${JSON.stringify(head).slice(0, -1)},"tracks":[`;
  let last = order.after;
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

/** Each while the one before is sent. */
async function* readPages(sql: Queries, order: ReportOrder): AsyncGenerator<readonly ReportRow[]> {
  const { limit, withPatches } = order;
  let left = limit ?? Number.POSITIVE_INFINITY;
  const read = async (after: number): Promise<readonly ReportRow[]> => {
    if (left <= 0) return [];
    return readReportPage(sql, order, { after, limit: Math.min(TRACKS_A_PAGE, left), withPatches });
  };
  for (let rows = await read(order.after); rows.length > 0; ) {
    left -= rows.length;
    const next = read(rows.at(-1)?.trackId ?? 0);
    // Awaited when the page is sent; until then nobody listens.
    next.catch(() => {});
    yield rows;
    rows = await next;
  }
}

/** One that was deleted since its page was read is left out. */
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

/** The track behind which to go on; null: it is no cursor of ours. */
export function readReportCursor(cursor: string): number | null {
  const text = Buffer.from(cursor, "base64url").toString("latin1");
  return CURSOR.test(text) && Number.isSafeInteger(Number(text)) ? Number(text) : null;
}
