/** Room for uploads that are under way. The room of a machine that is gone is freed with the machine. */
import type { Queries, Sql } from "./client.ts";
import { lockUser } from "./lock-user.ts";

export interface RoomRequest {
  /** Of the upload. */
  readonly uuid: string;
  readonly userUuid: string;
  readonly nodeUuid: string;
  /** All that it needs so far, and all that it would like. */
  readonly atLeast: number;
  readonly atMost: number;
  /** What the user may store. */
  readonly limit: number;
}

/** How much the upload may take in all from now on; null when there is not as much as it needs. */
export async function reserveRoom(sql: Sql, request: RoomRequest): Promise<number | null> {
  const { uuid, userUuid, nodeUuid, atLeast, atMost, limit } = request;
  return sql.begin(async (transaction) => {
    await lockUser(transaction, userUuid);
    const [{ used = 0 } = {}] = await transaction<{ used: number }[]>`
      select
        (select coalesce(sum(file_bytes), 0) from sources where user_uuid = ${userUuid})::bigint
        + (select coalesce(sum(bytes), 0) from upload_reservations
           where user_uuid = ${userUuid} and uuid <> ${uuid})::bigint as used`;
    const granted = Math.min(atMost, limit - used);
    if (granted < atLeast) return null;
    await transaction`
      insert into upload_reservations (uuid, user_uuid, node_uuid, bytes)
      values (${uuid}, ${userUuid}, ${nodeUuid}, ${granted})
      on conflict (uuid) do update set bytes = excluded.bytes`;
    return granted;
  });
}

export async function releaseRoom(sql: Queries, uuids: readonly string[]): Promise<void> {
  await sql`delete from upload_reservations where uuid in ${sql(uuids)}`;
}

/** The largest video of the user within these bounds, or null: an upload that may turn out to be it needs no room. */
export async function findLargestVideo(
  sql: Sql,
  userUuid: string,
  leastBytes: number,
  mostBytes: number,
): Promise<number | null> {
  const [row] = await sql<{ largest: number | null }[]>`
    select max(file_bytes) as largest from sources
    where user_uuid = ${userUuid} and file_bytes between ${leastBytes} and ${Math.min(mostBytes, Number.MAX_SAFE_INTEGER)}`;
  return row?.largest ?? null;
}

/** Of these names of files, those that a source has. */
export async function findKeptFiles(sql: Sql, names: readonly string[]): Promise<ReadonlySet<string>> {
  if (names.length === 0) return new Set();
  const rows = await sql<{ fileName: string }[]>`select file_name from sources where file_name in ${sql(names)}`;
  return new Set(rows.map(({ fileName }) => fileName));
}
