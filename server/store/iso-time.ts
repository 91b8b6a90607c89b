import type { PendingQuery, Row } from "postgres";
import type { Queries } from "./client.ts";

type Fragment = PendingQuery<Row[]>;

/** A time as records show it: made by the database, it is neither parsed nor written again for every row of a listing. */
export const isoTime = (sql: Queries, time: Fragment): Fragment =>
  sql`to_char(${time} at time zone 'UTC', 'YYYY-MM-DD"T"HH24:MI:SS.MS"Z"')`;
