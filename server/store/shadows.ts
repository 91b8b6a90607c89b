/** Shadows of processes, as far as they count against the limits of their users. */
import type { Queries, Sql } from "./client.ts";
import { expectProcessRoom } from "./processes.ts";
import { lockUser } from "./users.ts";

/** Counts it from now on, for this time at most. Rejects with `processes_limit_reached`. */
export async function reserveShadow(
  sql: Sql,
  { userUuid, processUuid }: { readonly userUuid: string; readonly processUuid: string },
  seconds: number,
  limit: number,
): Promise<void> {
  await sql.begin(async (sql) => {
    await lockUser(sql, userUuid);
    await expectProcessRoom(sql, userUuid, limit);
    await sql`
      update processes set shadow_until = now() + make_interval(secs => ${seconds})
      where uuid = ${processUuid} and user_uuid = ${userUuid}`;
  });
}

export async function releaseShadow(sql: Queries, processUuid: string): Promise<void> {
  await sql`update processes set shadow_until = null where uuid = ${processUuid}`;
}
