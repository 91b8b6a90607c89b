/** Whether users may run processes. */
import { ServiceError } from "../service-error.ts";
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

/** Why this user's processes must stop; null when they may run. */
export function findLimit({
  remainingMs,
  isExpired,
  isRevoked,
}: Omit<Standing, "userUuid">): { readonly code: string; readonly detail: string } | null {
  if (isRevoked) return { code: "api_key_invalid", detail: "the key was revoked" };
  if (isExpired) return { code: "api_key_expired", detail: "the key has expired" };
  if (remainingMs !== null && remainingMs <= 0)
    return { code: "usage_limit_reached", detail: "the minutes of this key are used up" };
  return null;
}

/** Rejects with `usage_limit_reached`. */
export async function expectMinutes(sql: Queries, userUuid: string): Promise<void> {
  const [standing] = await readStandings(sql, [userUuid]);
  const error = standing === undefined ? null : findLimit(standing);
  if (error?.code === "usage_limit_reached")
    throw new ServiceError("usage_limit_reached", { detail: `${error.detail}; GET /user_info shows its minutes` });
}
