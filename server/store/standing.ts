/** Whether users may continue to run processes. */
import type { Queries } from "./client.ts";

export interface Standing {
  readonly userUuid: string;
  /** Null: unlimited. Never below 0. */
  readonly remainingMs: number | null;
  readonly isExpired: boolean;
  readonly isRevoked: boolean;
}

/** Of users that exist. */
export async function readStandings(sql: Queries, userUuids: readonly string[]): Promise<readonly Standing[]> {
  if (userUuids.length === 0) return [];
  return sql<Standing[]>`
    select uuid as user_uuid, coalesce(expires_at <= now(), false) as is_expired, revoked_at is not null as is_revoked,
      case when allocated_ms is not null then greatest(0, allocated_ms - (
        select coalesce(sum(running_ms), 0)::bigint from usage where usage.user_uuid = users.uuid)) end as remaining_ms
    from users where uuid in ${sql([...userUuids])}`;
}
