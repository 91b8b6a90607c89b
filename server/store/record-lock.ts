import type { Sql } from "./client.ts";

/** Runs `work`, which uses other connections, while no other node or request has the lock of this name. */
export async function lockRecord(sql: Sql, name: string, work: () => Promise<void>): Promise<void> {
  let isDone = false;
  try {
    await sql.begin(async (transaction) => {
      await transaction`select pg_advisory_xact_lock(hashtextextended(${name}, 0))`;
      await work();
      isDone = true;
    });
  } catch (error) {
    // The lock was lost after the work was done: the request has not failed.
    if (!isDone) throw error;
  }
}
