/** Listings in pages: newest first, by time and uuid, so that rows added or removed meanwhile are neither repeated nor skipped. */
import { ServiceError } from "../service-error.ts";
import type { Fragment, Queries } from "./client.ts";

export interface PageRequest {
  readonly limit?: number | undefined;
  readonly cursor?: string | undefined;
}

export interface Page<T> {
  readonly rows: readonly T[];
  /** Null on the last page. */
  readonly nextCursor: string | null;
}

/** The last row of the previous page. */
interface PagePlace {
  /** As text: ISO 8601, as in records. */
  readonly createdAt: string | Date;
  readonly uuid: string;
}

const TIME = /^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{3}Z$/;
const UUID = /^[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}$/;

/** More rows than any listing has: the default of `limit`. */
const ALL = 2 ** 31 - 2;

/** `place`: if it is not the row's own. */
type PageRow = PagePlace & { readonly place?: PagePlace };

/**
 * One page of a table, ordered by the column `time`. `fetch` ends its query, which has a `where`, with the given part: which
 * rows, in which order, and how many.
 */
export async function fetchPage<T extends PageRow>(
  sql: Queries,
  request: PageRequest,
  time: string,
  fetch: (end: Fragment) => PromiseLike<readonly T[]>,
): Promise<Page<T>> {
  const [at, uuid] = [sql(time), sql(`${time.split(".")[0]}.uuid`)];
  const place = request.cursor === undefined ? null : readCursor(request.cursor);
  const after =
    place === null ? sql`` : sql`and (${at}, ${uuid}) < (${place.createdAt}::text::timestamptz, ${place.uuid})`;
  // One more than fits on the page.
  const end = sql`${after} order by ${at} desc, ${uuid} desc limit ${(request.limit ?? ALL) + 1}`;
  return cutPage(await fetch(end), request);
}

export function cutPage<T extends PageRow>(fetched: readonly T[], { limit }: PageRequest): Page<T> {
  if (limit === undefined || fetched.length <= limit) return { rows: fetched, nextCursor: null };
  const rows = fetched.slice(0, limit);
  const last = rows.at(-1);
  return { rows, nextCursor: last === undefined ? null : writeCursor(last.place ?? last) };
}

const writeCursor = ({ createdAt, uuid }: PagePlace): string =>
  Buffer.from(`${typeof createdAt === "string" ? createdAt : createdAt.toISOString()}/${uuid}`).toString("base64url");

/** Throws `invalid_input`. */
export function readCursor(cursor: string): PagePlace {
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
export const isoTime = (sql: Queries, column: string): Fragment =>
  sql`to_char(${sql(column)} at time zone 'UTC', 'YYYY-MM-DD"T"HH24:MI:SS.MS"Z"')`;

export function invalidCursor(): ServiceError {
  const message = "expected the `next_cursor` of an earlier response; omit it for the first page";
  return new ServiceError("invalid_input", { detail: `cursor: ${message}`, errors: [{ path: "cursor", message }] });
}
