/** Receivers, and whose turn it is to deliver to them. Time is the database's own: clocks of machines differ. */
import type { DeliveryStanding, Destination, Target } from "../delivery/delivery.ts";
import type { Queries } from "./client.ts";

export interface ClaimedDestination extends Destination {
  readonly isClosed: boolean;
  /** In a row. */
  readonly failures: number;
}

/** What waits goes to the new target, at once: another may be there. */
export async function saveDestination(sql: Queries, { uuid, userUuid, target }: Destination): Promise<void> {
  const spacingMs = (target.kind === "webhook" && target.spacingMs) || 0;
  const row = { uuid, userUuid, kind: target.kind, target: sql.typed.sealed(target), spacingMs };
  await sql`
    insert into destinations ${sql(row)}
    on conflict (uuid) do update set
      kind = excluded.kind, target = excluded.target, spacing_ms = excluded.spacing_ms, is_closed = false, is_stopped = false, failures = 0,
      last_error = case when destinations.target = excluded.target then destinations.last_error end,
      wake_at = case when destinations.wake_at is null then null else now() end`;
}

/** Woken even when nothing waits: whoever looks removes it then. What waited for its distance to the last waits no more. */
export async function closeDestination(sql: Queries, uuid: string): Promise<void> {
  await sql`update destinations set is_closed = true,
    wake_at = case when failures > 0 then coalesce(wake_at, now()) else now() end
    where uuid = ${uuid}`;
}

export async function removeDestination(sql: Queries, uuid: string): Promise<void> {
  await sql`delete from destinations where uuid = ${uuid}`;
}

/** Reckoned from what came and went: counting every parcel would take long just when many wait. */
const countWaiting = (sql: Queries) => sql`greatest(0, next_seq - 1 - delivered - dropped)`;

export async function readStandings(
  sql: Queries,
  uuids: readonly string[],
): Promise<ReadonlyMap<string, DeliveryStanding>> {
  if (uuids.length === 0) return new Map();
  const rows = await sql<(DeliveryStanding & { uuid: string })[]>`
    select uuid, delivered, dropped, last_attempt_at, last_delivered_at, last_error, ${countWaiting(sql)} as waiting
    from destinations where uuid in ${sql([...uuids])}`;
  return new Map(rows.map(({ uuid, ...standing }) => [uuid, standing]));
}

export interface DeliveryNumbers {
  readonly kind: Target["kind"];
  readonly destinations: number;
  readonly waiting: number;
  readonly failing: number;
}

/** Of all users. */
export const readNumbers = (sql: Queries): Promise<readonly DeliveryNumbers[]> => sql<DeliveryNumbers[]>`
  select kind, count(*) as destinations, count(*) filter (where failures > 0) as failing,
    coalesce(sum(${countWaiting(sql)}), 0)::bigint as waiting
  from destinations group by kind`;

export interface FreePlaces {
  /** For receivers that took the last one. */
  readonly healthy: number;
  /** For the others: those that hang must not take every place. */
  readonly failing: number;
}

export interface Claimer {
  readonly nodeUuid: string;
  readonly leaseSeconds: number;
}

/**
 * Those that have waited longest, up to the free places of each kind, first of the users with the fewest under way. One
 * user never has more than half of the places that the others leave: however many of its receivers hang, another user's
 * finds a place. Of two that ask at once, one gets it.
 */
export async function claimDestinations(
  sql: Queries,
  { nodeUuid, leaseSeconds }: Claimer,
  places: Readonly<Record<Target["kind"], FreePlaces>>,
): Promise<readonly ClaimedDestination[]> {
  const free = (["mqtt", "webhook"] as const).flatMap((kind) => [
    { kind, is_failing: false, amount: places[kind].healthy },
    { kind, is_failing: true, amount: places[kind].failing },
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
    returning uuid, user_uuid, target, is_closed, failures`;
}

/** Milliseconds until the next one wants to be looked at; null when none does. Those that others hold do not count. */
export async function findNextWakeMs(sql: Queries): Promise<number | null> {
  const [row] = await sql<{ ms: number | null }[]>`
    select (extract(epoch from min(greatest(wake_at, coalesce(lease_until, wake_at))) - now()) * 1000)::double precision as ms
    from destinations where wake_at is not null`;
  return row?.ms ?? null;
}

/** Of those that are being delivered to. Locked in one order, as everywhere: two that lock several never wait in a circle. */
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

/** Without a node: of everybody, for a database that is nobody else's. */
export async function freeLeases(sql: Queries, nodeUuid: string | null): Promise<void> {
  await sql`
    with held as (
      select uuid from destinations
      where node_uuid is not null and (${nodeUuid}::uuid is null or node_uuid = ${nodeUuid})
      order by uuid for no key update
    )
    update destinations set node_uuid = null, lease_until = null where uuid in (select uuid from held)`;
}

export interface Rest {
  readonly uuid: string;
  readonly nodeUuid: string;
  /** As it was claimed: what waits for one that was changed since may be due at once. */
  readonly target: Target;
  /** As it was when nothing more was found: what came since is looked at before anybody rests. */
  readonly nextSeq: number;
  /** Of the first that waits for its time. */
  readonly dueAt: Date | null;
  /** As it was then, too. */
  readonly isClosed: boolean;
}

/** Nothing can be sent now. False: something came, it was changed or closed, or it is another's. One that is closed and empty goes. */
export async function restDestination(sql: Queries, rest: Rest): Promise<boolean> {
  const { uuid, nodeUuid, target, nextSeq, dueAt, isClosed } = rest;
  const mine = sql`
    uuid = ${uuid} and node_uuid = ${nodeUuid} and target = ${sql.typed.sealed(target)} and next_seq = ${nextSeq}`;
  const rested = await sql`
    update destinations set wake_at = ${dueAt}, failures = 0, node_uuid = null, lease_until = null
    where ${mine} and is_closed = ${isClosed} and (not is_closed or ${dueAt !== null})`;
  if (rested.count > 0 || dueAt !== null) return rested.count > 0;
  const gone = await sql`delete from destinations where ${mine} and is_closed`;
  return gone.count > 0;
}

/** Others may go first; it is looked at again as soon as there is a place. */
export async function yieldDestination(sql: Queries, uuid: string, nodeUuid: string): Promise<void> {
  await sql`
    update destinations set wake_at = now(), node_uuid = null, lease_until = null
    where uuid = ${uuid} and node_uuid = ${nodeUuid}`;
}
