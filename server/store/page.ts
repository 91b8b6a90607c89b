/** Listings in pages: newest first, by time and uuid, so that rows added or removed meanwhile are neither repeated nor skipped. */

import type { PendingQuery, Row } from "postgres";
import { ServiceError } from "../service-error.ts";
import type { Queries } from "./client.ts";

export interface PageRequest {
  readonly limit?: number | undefined;
  readonly cursor?: string | undefined;
}

export interface Page<T> {
  readonly rows: readonly T[];
  /** Null on the last page. */
  readonly nextCursor: string | null;
}

/** The last row of the previous page. In a query `createdAt` is `${createdAt}::text::timestamptz`. */
interface PagePlace {
  /** ISO 8601, as in records. */
  readonly createdAt: string;
  readonly uuid: string;
}

const TIME = /^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{3}Z$/;
const UUID = /^[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}$/;

/** More rows than any listing has: the default of `limit`. */
const ALL = 2 ** 31 - 2;

/** For a query: rows after `place` (null: from the first), one more than fits on the page. */
export function readPage({ limit, cursor }: PageRequest): { readonly place: PagePlace | null; readonly fetch: number } {
  return { place: cursor === undefined ? null : readCursor(cursor), fetch: (limit ?? ALL) + 1 };
}

/** The page, from the rows of such a query. */
export function cutPage<T>(fetched: readonly T[], { limit }: PageRequest, placeOf: (row: T) => PagePlace): Page<T> {
  if (limit === undefined || fetched.length <= limit) return { rows: fetched, nextCursor: null };
  const rows = fetched.slice(0, limit);
  const last = rows.at(-1);
  return { rows, nextCursor: last === undefined ? null : writeCursor(placeOf(last)) };
}

const writeCursor = ({ createdAt, uuid }: PagePlace): string =>
  Buffer.from(`${createdAt}/${uuid}`).toString("base64url");

function readCursor(cursor: string): PagePlace {
  const [createdAt = "", uuid = "", ...rest] = Buffer.from(cursor, "base64url").toString("latin1").split("/");
  if (rest.length === 0 && isTime(createdAt) && UUID.test(uuid)) return { createdAt, uuid };
  throw invalidCursor();
}

/** Valid for PostgreSQL: 31 February is not. */
function isTime(text: string): boolean {
  if (!TIME.test(text)) return false;
  const parsed = new Date(text);
  return !Number.isNaN(parsed.getTime()) && parsed.toISOString() === text;
}

/** A time as text, formatted by the database: listings neither parse nor format it for every row. */
export const isoTime = (sql: Queries, time: PendingQuery<Row[]>): PendingQuery<Row[]> =>
  sql`to_char(${time} at time zone 'UTC', 'YYYY-MM-DD"T"HH24:MI:SS.MS"Z"')`;

export function invalidCursor(): ServiceError {
  const message = "expected the `next_cursor` of an earlier response; omit it for the first page";
  return new ServiceError("invalid_input", { detail: `cursor: ${message}`, errors: [{ path: "cursor", message }] });
}
