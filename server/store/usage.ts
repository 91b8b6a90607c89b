/** Minutes: what was handed out and what was used. */
import type { Queries } from "./client.ts";

export interface UsageEntry {
  readonly processUuid: string;
  /** Of the claim under which it ran. */
  readonly fence: number;
  /** The whole so far under that claim, so that writing it twice counts once. */
  readonly runningMs: number;
}

/**
 * Any number of them at once. A count never goes back, and one of a claim that has been lost is not taken: its process
 * is counted by its new owner.
 */
export async function writeUsage(sql: Queries, entries: readonly UsageEntry[]): Promise<void> {
  if (entries.length === 0) return;
  const rows = entries.map((entry) => ({ ...entry, runningMs: Math.round(entry.runningMs) }));
  await sql`
    insert into usage (process_uuid, fence, user_uuid, running_ms)
    select processes.uuid, processes.fence, processes.user_uuid, max(entries."runningMs")
    from jsonb_to_recordset(${sql.json(rows)}) as entries ("processUuid" uuid, fence bigint, "runningMs" bigint)
    join processes on processes.uuid = entries."processUuid" and processes.fence = entries.fence
    group by processes.uuid
    on conflict (process_uuid, fence) do update
      set running_ms = greatest(usage.running_ms, excluded.running_ms), updated_at = now()`;
}

export interface Subscription {
  readonly userUuid: string;
  readonly username: string;
  readonly consumedMs: number;
  /** Null: unlimited. Never below 0. */
  readonly remainingMs: number | null;
  readonly pendingMs: number;
  readonly expiresAt: Date | null;
}

const columns = (sql: Queries) => sql`
  users.uuid as user_uuid, username, expires_at, pending_ms, used.ms as consumed_ms,
  case when allocated_ms is not null then greatest(allocated_ms - used.ms, 0) end as remaining_ms`;

const used = (sql: Queries) => sql`
  lateral (select coalesce(sum(running_ms), 0)::bigint as ms from usage where usage.user_uuid = users.uuid) as used`;

/** Null when there is no such user. */
export async function readSubscription(sql: Queries, userUuid: string): Promise<Subscription | null> {
  const [found] = await sql<Subscription[]>`
    select ${columns(sql)} from users, ${used(sql)} where users.uuid = ${userUuid}`;
  return found ?? null;
}

/** Of a master's children that are not revoked, by name. */
export async function listChildSubscriptions(sql: Queries, masterUuid: string): Promise<readonly Subscription[]> {
  return sql<Subscription[]>`
    select ${columns(sql)} from users, ${used(sql)}
    where users.master_uuid = ${masterUuid} and revoked_at is null order by username`;
}

/** Milliseconds; null for unlimited. Of a user that is not there: 0. */
export async function readRemainingMs(sql: Queries, userUuid: string): Promise<number | null> {
  const subscription = await readSubscription(sql, userUuid);
  return subscription === null ? 0 : subscription.remainingMs;
}
