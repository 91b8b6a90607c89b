/** Listings in pages: newest first, by time and uuid, so that what comes and goes meanwhile neither repeats nor hides a row. */
import { ServiceError } from "../service-error.ts";

export interface PageRequest {
  readonly limit?: number | undefined;
  readonly cursor?: string | undefined;
}

export interface Page<T> {
  readonly rows: readonly T[];
  /** Null: that was all. */
  readonly nextCursor: string | null;
}

/** The last row of the page before. In a query `createdAt` is `${createdAt}::text::timestamptz`. */
export interface PagePlace {
  /** As records show it. */
  readonly createdAt: string;
  readonly uuid: string;
}

const TIME = /^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{3}Z$/;
const UUID = /^[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}$/;

/** More rows than any listing has: what `limit` is where none was given. */
const ALL = 2 ** 31 - 2;

/** For a query: rows after `place` (null: from the first on), one more than the page holds. */
export function readPage({ limit, cursor }: PageRequest): { readonly place: PagePlace | null; readonly fetch: number } {
  return { place: cursor === undefined ? null : readCursor(cursor), fetch: (limit ?? ALL) + 1 };
}

/** From the rows of such a query. */
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

export function invalidCursor(): ServiceError {
  const message = "expected the `next_cursor` of an earlier answer; leave it out to begin at the first page";
  return new ServiceError("invalid_input", { detail: `cursor: ${message}`, errors: [{ path: "cursor", message }] });
}

/** What Postgres would take as a time: 31 February looks like one. */
function isTime(text: string): boolean {
  if (!TIME.test(text)) return false;
  const parsed = new Date(text);
  return !Number.isNaN(parsed.getTime()) && parsed.toISOString() === text;
}
