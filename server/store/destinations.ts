/**
 * Destinations of deliveries, and which node sends to them. Compares only times of the database: the clocks of nodes differ.
 */
import type { Queries } from "./client.ts";

export const TARGET_KINDS = ["mqtt", "webhook", "email"] as const;

export type Target =
  | {
      readonly kind: "mqtt";
      /** `mqtt://host:port` or `mqtts://host:port`, without credentials. */
      readonly url: string;
      readonly topic: string;
      readonly qos: 0 | 1 | 2;
      readonly username: string | null;
      readonly password: string | null;
    }
  | {
      readonly kind: "webhook";
      readonly url: string;
      /** Of Standard Webhooks: `whsec_` and base64. */
      readonly secret: string;
      /** Where to log in, with credentials if any. */
      readonly authUrl: string | null;
      /** The minimum interval between two deliveries, until the destination is closed. */
      readonly spacingMs?: number;
      /** Of a body that is not JSON. */
      readonly contentType?: string;
      /** Further headers, with their secrets. */
      readonly headers?: Readonly<Record<string, string>>;
    }
  | {
      readonly kind: "email";
      readonly to: readonly string[];
      /** As of webhooks. What waits meanwhile is sent in one mail. */
      readonly spacingMs?: number;
    };

/** One output of an alert, or one subscription. */
export interface Destination {
  readonly uuid: string;
  readonly userUuid: string;
  readonly target: Target;
}

export interface ClaimedDestination extends Destination {
  /** In a row. */
  readonly failures: number;
}

export interface DeliveryStatus {
  readonly waiting: number;
  readonly delivered: number;
  /** The queue was full, or attempts failed for too long. */
  readonly dropped: number;
  readonly lastAttemptAt: Date | null;
  readonly lastDeliveredAt: Date | null;
  /** Of the last attempt, without secrets; null when it succeeded. */
  readonly lastError: string | null;
}

/** Creates or changes it. Waiting deliveries go to the new target, at once. */
export async function saveDestination(sql: Queries, { uuid, userUuid, target }: Destination): Promise<void> {
  const spacingMs = (target.kind !== "mqtt" && target.spacingMs) || 0;
  const row = { uuid, userUuid, kind: target.kind, target: sql.typed.sealed(target), spacingMs };
  await sql`
    insert into destinations ${sql(row)}
    on conflict (uuid) do update set
      kind = excluded.kind, target = excluded.target, spacing_ms = excluded.spacing_ms, is_closed = false, is_stopped = false, failures = 0,
      last_error = case when destinations.target = excluded.target then destinations.last_error end,
      wake_at = case when destinations.wake_at is null then null else now() end`;
}

/**
 * It accepts no more deliveries. Those that wait are sent without the minimum interval; then the outbox removes it, which
 * is why it is woken even when its queue is empty.
 */
export async function closeDestination(sql: Queries, uuid: string): Promise<void> {
  await sql`update destinations set is_closed = true,
    wake_at = case when failures > 0 then coalesce(wake_at, now()) else now() end
    where uuid = ${uuid}`;
}

/** With its queue. */
export async function removeDestination(sql: Queries, uuid: string): Promise<void> {
  await sql`delete from destinations where uuid = ${uuid}`;
}

/** Computed: counting rows would be slow just when many wait. */
const countWaiting = (sql: Queries) => sql`greatest(0, next_seq - 1 - delivered - dropped)`;

export async function readStatuses(
  sql: Queries,
  uuids: readonly string[],
): Promise<ReadonlyMap<string, DeliveryStatus>> {
  if (uuids.length === 0) return new Map();
  const rows = await sql<(DeliveryStatus & { uuid: string })[]>`
    select uuid, delivered, dropped, last_attempt_at, last_delivered_at, last_error, ${countWaiting(sql)} as waiting
    from destinations where uuid in ${sql([...uuids])}`;
  return new Map(rows.map(({ uuid, ...status }) => [uuid, status]));
}

export interface DeliveryNumbers {
  readonly kind: Target["kind"];
  readonly destinations: number;
  readonly waiting: number;
  readonly failing: number;
}

export const readNumbers = (sql: Queries): Promise<readonly DeliveryNumbers[]> => sql<DeliveryNumbers[]>`
  select kind, count(*) as destinations, count(*) filter (where failures > 0) as failing,
    coalesce(sum(${countWaiting(sql)}), 0)::bigint as waiting
  from destinations group by kind`;

export interface FreeSlots {
  /** For destinations whose last attempt succeeded. */
  readonly healthy: number;
  /** For the others: receivers that hang must not occupy every slot. */
  readonly failing: number;
}

export interface Claimer {
  readonly nodeUuid: string;
  readonly leaseSeconds: number;
}

/**
 * Claims destinations with due deliveries, up to the free slots: users with the fewest claims first, then the longest
 * waiting. One user gets at most half of the slots that others leave free, so that its hanging receivers cannot block other
 * users. Of two nodes that claim at once, one gets the destination.
 */
export async function claimDestinations(
  sql: Queries,
  { nodeUuid, leaseSeconds }: Claimer,
  slots: Readonly<Record<Target["kind"], FreeSlots>>,
): Promise<readonly ClaimedDestination[]> {
  const free = TARGET_KINDS.flatMap((kind) => [
    { kind, is_failing: false, amount: slots[kind].healthy },
    { kind, is_failing: true, amount: slots[kind].failing },
  ]);
  return sql<ClaimedDestination[]>`
    with free as (
      select * from jsonb_to_recordset(${sql.json(free)}) as free (kind text, is_failing boolean, amount integer)
    ), busy as (
      select user_uuid, kind, failures > 0 as is_failing, count(*) as amount,
        count(*) filter (where node_uuid = ${nodeUuid}) as here
      from destinations
      where node_uuid is not null and lease_until >= now() group by user_uuid, kind, failures > 0
    ), due as (
      select uuid, kind, is_failing, wake_at, coalesce(here, 0) as here,
        row_number() over mine as nth, coalesce(amount, 0) + row_number() over mine as turn
      from (select *, failures > 0 as is_failing from destinations) as destinations
        left join busy using (user_uuid, kind, is_failing)
      where wake_at <= now() and (lease_until is null or lease_until < now())
      window mine as (partition by kind, is_failing, user_uuid order by wake_at, uuid)
    ), ranked as (
      select uuid, amount, row_number() over (partition by kind, is_failing order by turn, wake_at, uuid) as place
      from due join free using (kind, is_failing)
      where here + nth <= greatest(1, (amount + here) / 2)
    ), chosen as (
      select uuid from ranked where place <= amount
    ), held as (
      select uuid from destinations
      where uuid in (select uuid from chosen) and wake_at <= now() and (lease_until is null or lease_until < now())
      for no key update skip locked
    )
    update destinations set node_uuid = ${nodeUuid}, lease_until = now() + make_interval(secs => ${leaseSeconds})
    where uuid in (select uuid from held)
    returning uuid, user_uuid, target, failures`;
}

/** Milliseconds until the next one is due and not leased by a node; null when none is. */
export async function findNextWakeMs(sql: Queries): Promise<number | null> {
  const [row] = await sql<{ ms: number | null }[]>`
    select (extract(epoch from min(greatest(wake_at, coalesce(lease_until, wake_at))) - now()) * 1000)::double precision as ms
    from destinations where wake_at is not null`;
  return row?.ms ?? null;
}

export async function renewLeases(
  sql: Queries,
  { nodeUuid, leaseSeconds }: Claimer,
  uuids: readonly string[],
): Promise<void> {
  if (uuids.length === 0) return;
  await sql`
    with held as (
      select uuid from destinations where uuid in ${sql([...uuids])} and node_uuid = ${nodeUuid}
      order by uuid for no key update
    )
    update destinations set lease_until = now() + make_interval(secs => ${leaseSeconds})
    where uuid in (select uuid from held)`;
}

/** Of this node; null: of all nodes. */
export async function freeLeases(sql: Queries, nodeUuid: string | null): Promise<void> {
  await sql`
    with held as (
      select uuid from destinations
      where node_uuid is not null and (${nodeUuid}::uuid is null or node_uuid = ${nodeUuid})
      order by uuid for no key update
    )
    update destinations set node_uuid = null, lease_until = null where uuid in (select uuid from held)`;
}

export interface IdleDestination {
  readonly uuid: string;
  readonly nodeUuid: string;
  readonly target: Target;
  /** The rest as read with its queue. */
  readonly nextSeq: number;
  readonly dueAt: Date | null;
  readonly isClosed: boolean;
}

/**
 * Releases a destination with no delivery to send now, and removes it when it is closed and empty. False when it has changed
 * since its queue was read.
 */
export async function releaseIdle(sql: Queries, idle: IdleDestination): Promise<boolean> {
  const { uuid, nodeUuid, target, nextSeq, dueAt, isClosed } = idle;
  const unchanged = sql`
    uuid = ${uuid} and node_uuid = ${nodeUuid} and target = ${sql.typed.sealed(target)} and next_seq = ${nextSeq}`;
  const released = await sql`
    update destinations set wake_at = ${dueAt}, failures = 0, node_uuid = null, lease_until = null
    where ${unchanged} and is_closed = ${isClosed} and (not is_closed or ${dueAt !== null})`;
  if (released.count > 0 || dueAt !== null) return released.count > 0;
  const removed = await sql`delete from destinations where ${unchanged} and is_closed`;
  return removed.count > 0;
}

/** Releases a destination that has more to send, so that others get the slot first. */
export async function requeueDestination(sql: Queries, uuid: string, nodeUuid: string): Promise<void> {
  await sql`
    update destinations set wake_at = now(), node_uuid = null, lease_until = null
    where uuid = ${uuid} and node_uuid = ${nodeUuid}`;
}
