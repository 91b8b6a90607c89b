import type { Queries } from "./client.ts";

/** Until the end of the transaction: whatever counts against a limit of this user waits. Taken first, before any row. */
export async function lockUser(sql: Queries, userUuid: string): Promise<void> {
  await sql`select pg_advisory_xact_lock(hashtextextended(${userUuid}, 7))`;
}
