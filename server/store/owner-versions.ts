/** The version of what a user's listings show: raised by triggers in the transaction of each change (migration 014). */
import { BatchedReads } from "../async/batched-reads.ts";
import type { Sql } from "./client.ts";

const reads = new WeakMap<Sql, BatchedReads<string, number>>();

/** Includes every change that was committed before this call, by any node. Simultaneous calls share a query. */
export async function readOwnerVersion(sql: Sql, userUuid: string): Promise<number> {
  let ofDatabase = reads.get(sql);
  if (ofDatabase === undefined) {
    ofDatabase = new BatchedReads((userUuids) => readVersions(sql, userUuids));
    reads.set(sql, ofDatabase);
  }
  return (await ofDatabase.get(userUuid)) ?? 0;
}

async function readVersions(sql: Sql, userUuids: readonly string[]): Promise<ReadonlyMap<string, number>> {
  // As text: one prepared statement for any number of users.
  const rows = await sql<{ userUuid: string; version: number }[]>`
    select user_uuid, version from owner_versions where user_uuid = any(${`{${userUuids.join()}}`}::uuid[])`;
  return new Map(rows.map(({ userUuid, version }) => [userUuid, version]));
}
