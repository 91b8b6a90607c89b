/**
 * Listings in pages: filtered, and sorted by an indexed value and the uuid, so that rows added or removed meanwhile are
 * neither repeated nor skipped.
 */
import { invalidInput, ServiceError } from "../service-error.ts";
import type { Fragment, Queries } from "./client.ts";

export interface PageRequest {
  readonly limit?: number | undefined;
  readonly cursor?: string | undefined;
  /** Name of a sort key; with `-` in front: descending. Default: the first key of the listing, descending. */
  readonly sort?: string | undefined;
  /** Only what belongs to these sources: set for a key that is limited to them. */
  readonly sourceUuids?: readonly string[] | null | undefined;
}

/** The source of a row, by the table of the listing, where it is not a column of its own. Null: rows belong to no source. */
const SOURCES: Readonly<Record<string, string | null>> = {
  ...{ sources: "sources.uuid", classes: "notices.source_uuid", evidence: "notices.source_uuid", alerts: null },
  // Those of the process that it is attached to or runs on.
  ...{ outputs: "processes.source_uuid", process_alerts: "processes.source_uuid" },
};

export interface Page<T> {
  readonly rows: readonly T[];
  /** Null on the last page. */
  readonly nextCursor: string | null;
}

/** A value that rows are sorted by. It is never null, and has an index together with the user and the uuid. */
export interface SortKey<T> {
  readonly type: "time" | "text";
  by(sql: Queries): Fragment;
  /** Of a row. Times as text: ISO 8601, as in records. */
  of(row: T): string | Date;
}

/** What rows of a table can be sorted by; the first key is the default. */
export interface PageOrder<T, Name extends string = string> {
  /** Column with the uuid of a row, and that uuid. */
  readonly uuid: string;
  uuidOf(row: T): string;
  readonly keys: Readonly<Record<Name, SortKey<T>>>;
}

export const timeKey = <T>(column: string, of: (row: T) => string | Date): SortKey<T> => ({
  ...{ type: "time", by: (sql) => sql`${sql(column)}`, of },
});
export const textKey = <T>(column: string, of: (row: T) => string): SortKey<T> => ({
  ...{ type: "text", by: (sql) => sql`${sql(column)}`, of },
});

/** Rows with `createdAt` and `uuid`, sorted by `created_at` of the table. */
export const byCreation = <T extends { readonly createdAt: string | Date; readonly uuid: string }>(table: string) =>
  ({
    uuid: `${table}.uuid`,
    uuidOf: ({ uuid }: T) => uuid,
    keys: { created_at: timeKey<T>(`${table}.created_at`, ({ createdAt }) => createdAt) },
  }) satisfies PageOrder<T>;

/** The same, or by `alias`. */
export const byCreationOrAlias = <
  T extends { readonly createdAt: string | Date; readonly uuid: string; readonly alias: string },
>(
  table: string,
) => {
  const order = byCreation<T>(table);
  return { ...order, keys: { ...order.keys, alias: textKey<T>(`${table}.alias`, ({ alias }) => alias) } };
};

/** More rows than any listing has: the default of `limit`. */
const ALL = 2 ** 31 - 2;

/**
 * One page. `fetch` ends its query, which has a `where`, with the given part: which rows, in which order, and how many.
 * `order`: only the order, for a query around it.
 */
export async function fetchPage<T>(
  sql: Queries,
  request: PageRequest,
  order: PageOrder<T>,
  fetch: (end: Fragment, order: Fragment) => PromiseLike<readonly T[]>,
): Promise<Page<T>> {
  const { sort, key, isDescending, usual } = readSort(request.sort, order);
  const begin = request.cursor === undefined ? null : readCursor(request.cursor, key.type, { sort, usual });
  const [by, uuid] = [key.by(sql), sql(order.uuid)];
  const after =
    begin === null
      ? sql``
      : sql`and (${by}, ${uuid}) ${isDescending ? sql`<` : sql`>`} (${sqlValue(sql, key.type, begin.value)}, ${begin.uuid})`;
  const direction = isDescending ? sql`desc` : sql`asc`;
  const { limit } = request;
  // One more than fits on the page.
  const sorted = sql`order by ${by} ${direction}, ${uuid} ${direction}`;
  const end = sql`${ofSources(sql, request, order.uuid)} ${after} ${sorted} limit ${(limit ?? ALL) + 1}`;
  const fetched = await fetch(end, sorted);
  if (limit === undefined || fetched.length <= limit) return { rows: fetched, nextCursor: null };
  const rows = fetched.slice(0, limit);
  const last = rows.at(-1);
  if (last === undefined) return { rows, nextCursor: null };
  const value = key.of(last);
  const place = { value: typeof value === "string" ? value : value.toISOString(), uuid: order.uuidOf(last) };
  return { rows, nextCursor: writeCursor(place, { sort, usual }) };
}

function ofSources(sql: Queries, { sourceUuids }: PageRequest, uuidColumn: string): Fragment {
  if (sourceUuids == null) return sql``;
  const [table = ""] = uuidColumn.split(".");
  const column = table in SOURCES ? SOURCES[table] : `${table}.source_uuid`;
  return column == null ? sql`and false` : sql`and ${sql(column)} in ${sql([...sourceUuids])}`;
}

function readSort<T>(asked: string | undefined, { keys }: PageOrder<T>) {
  const names = Object.keys(keys);
  const usual = `-${names[0]}`;
  const sort = asked ?? usual;
  const isDescending = sort.startsWith("-");
  const key = keys[isDescending ? sort.slice(1) : sort];
  if (key !== undefined) return { sort, key, isDescending, usual };
  const expected = names.flatMap((each) => [each, `-${each}`]).join(", ");
  throw invalidInput([{ path: "sort", message: `expected one of ${expected}` }]);
}

const sqlValue = (sql: Queries, type: SortKey<unknown>["type"], value: string): Fragment =>
  type === "time" ? sql`${value}::text::timestamptz` : sql`${value}::text`;

/** The last row of the previous page. */
interface PagePlace {
  readonly value: string;
  readonly uuid: string;
}

/** The order of a request, and the default of its listing. */
interface Sort {
  readonly sort: string;
  readonly usual: string;
}

/** The cursor of the default order does not name it. */
export const writeCursor = ({ value, uuid }: PagePlace, { sort, usual }: Sort): string =>
  Buffer.from(`${value}/${uuid}${sort === usual ? "" : `/${sort}`}`).toString("base64url");

const TIME = /^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{3}Z$/;
const UUID = /^[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}$/;

/** Throws `invalid_input`, also for a cursor of another order. */
export function readCursor(cursor: string, type: SortKey<unknown>["type"], { sort, usual }: Sort): PagePlace {
  const parts = Buffer.from(cursor, "base64url").toString("utf8").split("/");
  const of = UUID.test(parts.at(-1) ?? "") ? usual : parts.pop();
  const uuid = parts.pop() ?? "";
  const value = parts.join("/");
  // The database cannot store NUL.
  const isValid = type === "time" ? isTime(value) : !value.includes("\0");
  if (of === sort && UUID.test(uuid) && isValid) return { value, uuid };
  throw invalidCursor();
}

/** Valid for PostgreSQL: 31 February is not. */
function isTime(text: string): boolean {
  if (text === UNENDED) return true;
  if (!TIME.test(text)) return false;
  const parsed = new Date(text);
  return !Number.isNaN(parsed.getTime()) && parsed.toISOString() === text;
}

/** For a time that is not known yet: later than all others. */
export const UNENDED = "infinity";

/** A time as text, formatted by the database: listings neither parse nor format it for every row. */
export const isoTime = (sql: Queries, column: string): Fragment =>
  sql`to_char(${sql(column)} at time zone 'UTC', 'YYYY-MM-DD"T"HH24:MI:SS.MS"Z"')`;

export function invalidCursor(): ServiceError {
  const message = "expected the `next_cursor` of an earlier response with the same `sort`; omit it for the first page";
  return new ServiceError("invalid_input", { detail: `cursor: ${message}`, errors: [{ path: "cursor", message }] });
}

/** From `from` on, before `to`. */
export interface TimeRange {
  readonly from?: Date | undefined;
  readonly to?: Date | undefined;
}

type Wanted = string | number | boolean | TimeRange | undefined;

/** One condition for each column whose value is asked for, each after an `and`. Undefined: any. */
export function filterBy(sql: Queries, wanted: Readonly<Record<string, Wanted>>): Fragment {
  let all = sql``;
  for (const [column, value] of Object.entries(wanted)) {
    if (value === undefined) continue;
    if (typeof value !== "object") all = sql`${all} and ${sql(column)} = ${value}`;
    else {
      if (value.from !== undefined) all = sql`${all} and ${sql(column)} >= ${value.from}`;
      if (value.to !== undefined) all = sql`${all} and ${sql(column)} < ${value.to}`;
    }
  }
  return all;
}
