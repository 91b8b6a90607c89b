/**
 * Deliveries that wait for their destinations (table `parcels`). Locks: the destination first, then its deliveries; several
 * destinations in the order of their uuids, so that transactions never deadlock.
 */
import type { Queries } from "./client.ts";
import type { Target } from "./destinations.ts";

/** One notification for one destination, as it is stored and sent. */
export interface Delivery {
  /** Its number in the queue of the destination, given when it is stored. */
  readonly seq: number;
  /** The same in every copy that the receiver gets. */
  readonly id: string;
  readonly destinationUuid: string;
  /** JSON. Every attempt sends the same bytes. */
  readonly body: string;
}

export interface NewDelivery extends Omit<Delivery, "seq"> {
  /** It is not sent before, and can be amended until it is being sent. Default: now. */
  readonly dueAt?: Date;
}

export interface Trimmed {
  readonly uuid: string;
  readonly kind: Target["kind"];
  readonly dropped: number;
}

/** When the minimum interval since the last delivery is over; null: now. Ignored after the clock was set back. */
const findNotBefore = (sql: Queries) => sql`
  case when not is_closed and last_delivered_at <= now()
    then last_delivered_at + make_interval(secs => spacing_ms / 1000) end`;

/** The share by which a queue may exceed its limit before it is trimmed, so that not every insert has to trim. */
const SLACK = 0.01;

/**
 * Stores them in this order, except for destinations that are closed or removed, and ids that wait already. Queues longer
 * than `limit` lose their oldest; resolves with how many each lost.
 */
export async function insertDeliveries(
  sql: Queries,
  deliveries: readonly NewDelivery[],
  limit: number,
): Promise<readonly Trimmed[]> {
  if (deliveries.length === 0) return [];
  const news = deliveries.map(({ id, destinationUuid, body, dueAt }, at) => ({
    ...{ id, destinationUuid, body, at, dueAt: dueAt?.toISOString() ?? null },
  }));
  const ends = await sql<(Omit<Trimmed, "dropped"> & { lastSeq: number; trimmedSeq: number })[]>`
    with news as (
      select distinct on (uuid, id) "destinationUuid" as uuid, at, id, body, coalesce("dueAt", now()) as due_at,
        "dueAt" is not null as is_timed
      from jsonb_to_recordset(${sql.json(news)}) as news (
        "destinationUuid" uuid, at integer, id text, body text, "dueAt" timestamptz(3))
      order by uuid, id, at
    ), held as materialized (
      select uuid, next_seq, is_stopped, spacing_ms, ${findNotBefore(sql)} as not_before
      from destinations
      where uuid in (select uuid from news) and not is_closed
      order by uuid for no key update
    ), numbered as (
      select uuid, id, body, due_at, next_seq + row_number() over (partition by uuid order by at) - 1 as seq,
        due_at > now() or (is_timed and spacing_ms > 0 and (coalesce(not_before > now(), false) or exists (
          select from parcels where destination_uuid = news.uuid))) as is_open
      from news join held using (uuid)
      where not is_stopped and not exists (
        select from parcels where destination_uuid = news.uuid and parcels.id = news.id)
    ), refused as (
      update destinations set dropped = dropped + amount, next_seq = next_seq + amount
      from (select uuid, count(*) as amount from news join held using (uuid) where is_stopped group by uuid) as refused
      where destinations.uuid = refused.uuid
    ), counted as (
      update destinations set next_seq = next_seq + amount,
        wake_at = case when failures > 0 and wake_at is not null then wake_at else least(wake_at, due_at) end
      from (select uuid, count(*) as amount, min(due_at) as due_at from numbered group by uuid) as numbers
      where destinations.uuid = numbers.uuid
      returning destinations.uuid, kind, next_seq - 1 as last_seq, trimmed_seq
    ), inserted as (
      insert into parcels (destination_uuid, seq, id, body, due_at, is_open)
      select uuid, seq, id, body, due_at, is_open from numbered
      on conflict (destination_uuid, id) do nothing
    )
    select * from counted order by uuid`;
  const slack = Math.floor(limit * SLACK);
  const trimmed: Trimmed[] = [];
  for (const { uuid, kind, lastSeq, trimmedSeq } of ends) {
    const upTo = lastSeq - limit;
    if (upTo - trimmedSeq <= slack) continue;
    // Those that are being sent are skipped: they leave the queue soon anyway.
    const [{ dropped = 0 } = {}] = await sql<{ dropped: number }[]>`
      with oldest as (
        select seq from parcels where destination_uuid = ${uuid} and seq > ${trimmedSeq} and seq <= ${upTo}
        for update skip locked
      ), gone as (
        delete from parcels where destination_uuid = ${uuid} and seq in (select seq from oldest) returning seq
      )
      update destinations set trimmed_seq = greatest(trimmed_seq, ${upTo}), dropped = dropped + (select count(*) from gone)
      where uuid = ${uuid} returning (select count(*) from gone) as dropped`;
    if (dropped > 0) trimmed.push({ uuid, kind, dropped });
  }
  return trimmed;
}

export interface UserLimits {
  readonly count: number;
  readonly bytes: number;
  readonly bodyBytes: number;
}

/**
 * Drops the oldest deliveries of users that exceed the limits over all their destinations. Sums up the bytes only of users
 * who, by the number of their deliveries, could exceed the limit.
 */
export async function trimUsers(sql: Queries, { count, bytes, bodyBytes }: UserLimits): Promise<readonly Trimmed[]> {
  const suspects = await sql<{ userUuid: string }[]>`
    select user_uuid from destinations group by user_uuid
    having sum(greatest(0, next_seq - 1 - delivered - dropped)) > ${Math.min(count, Math.floor(bytes / bodyBytes))}`;
  const trimmed: Trimmed[] = [];
  for (const { userUuid } of suspects) trimmed.push(...(await trimUser(sql, userUuid, count, bytes)));
  return trimmed;
}

const trimUser = (sql: Queries, userUuid: string, count: number, bytes: number) => sql<Trimmed[]>`
  with sized as (
    select destination_uuid, seq, row_number() over newest as place, sum(octet_length(body)::bigint) over newest as bytes
    from parcels join destinations on uuid = destination_uuid
    where user_uuid = ${userUuid}
    window newest as (order by due_at desc, seq desc, destination_uuid)
  ), beyond as materialized (
    select destination_uuid, seq from sized where place > ${count} or bytes > ${bytes}
  ), held as materialized (
    select uuid from destinations where uuid in (select destination_uuid from beyond) order by uuid for no key update
  ), gone as (
    delete from parcels using beyond
    where parcels.destination_uuid = beyond.destination_uuid and parcels.seq = beyond.seq
      and beyond.destination_uuid in (select uuid from held)
    returning parcels.destination_uuid
  )
  update destinations set dropped = dropped + amount
  from (select destination_uuid, count(*) as amount from gone group by destination_uuid) as gone
  where uuid = destination_uuid returning uuid, kind, amount as dropped`;

/** Counts one dropped delivery for each of these, with a number: the length of a queue is computed from the numbers. */
export async function countDropped(sql: Queries, destinationUuids: readonly string[]): Promise<void> {
  for (const uuid of [...destinationUuids].sort())
    await sql`update destinations set dropped = dropped + 1, next_seq = next_seq + 1 where uuid = ${uuid}`;
}

/** Replaces body and time. False: it is being sent, or is no longer stored. */
export async function amendDelivery(sql: Queries, { id, destinationUuid, body, dueAt }: NewDelivery): Promise<boolean> {
  const amended = await sql`
    with held as materialized (
      select uuid from destinations where uuid = ${destinationUuid} for no key update
    ), amended as (
      update parcels set body = ${body}, due_at = coalesce(${dueAt ?? null}, now())
      where destination_uuid in (select uuid from held) and id = ${id} and is_open
      returning destination_uuid, due_at
    )
    update destinations set
      wake_at = case when failures > 0 and wake_at is not null then wake_at else least(wake_at, due_at) end
    from amended where uuid = destination_uuid`;
  return amended.count > 0;
}

export interface DestinationQueue {
  /** The number of the next delivery. */
  readonly nextSeq: number;
  /** Those that can be sent now, in order. */
  readonly deliveries: readonly Delivery[];
  /** When the first of the others can be sent; null when none is known. */
  readonly dueAt: Date | null;
  readonly isClosed: boolean;
  /** The target differs from the claimed one. */
  readonly isChanged: boolean;
}

interface DestinationColumns extends Pick<DestinationQueue, "nextSeq" | "isClosed" | "isChanged"> {
  /** It has a minimum interval between deliveries. */
  readonly isSpaced: boolean;
}

interface QueueRow extends Delivery, DestinationColumns {
  readonly isOpen: boolean;
  readonly isDue: boolean;
  readonly dueAt: Date;
}

/**
 * A delivery that is not due holds up those behind it. With a minimum interval only the first is returned, or all if they
 * are sent as one (`isCombined`). Null: the destination is removed, or claimed by another node.
 */
export async function readQueue(
  sql: Queries,
  { uuid, nodeUuid, target }: { readonly uuid: string; readonly nodeUuid: string; readonly target: Target },
  limits: { readonly count: number; readonly bytes: number; readonly isCombined?: boolean },
): Promise<DestinationQueue | null> {
  const rows = await sql<(QueueRow | (DestinationColumns & { seq: null }))[]>`
    select next_seq, is_closed, spacing_ms > 0 as is_spaced,
      target <> ${sql.typed.sealed(target)} as is_changed, seq, id, destination_uuid, body, is_open,
      greatest(due_at, ${findNotBefore(sql)}) as due_at, greatest(due_at, ${findNotBefore(sql)}) <= now() as is_due
    from destinations left join lateral (
      select *, sum(octet_length(body)) over (order by seq) - octet_length(body) as bytes_before
      from (select * from parcels where destination_uuid = ${uuid} order by seq limit ${limits.count}) as oldest
    ) as oldest on bytes_before < ${limits.bytes}
    where uuid = ${uuid} and node_uuid = ${nodeUuid} order by seq`;
  const [first] = rows;
  if (first === undefined) return null;
  const { isSpaced, nextSeq, isClosed, isChanged } = first;
  const destination = { nextSeq, isClosed, isChanged };
  const queue = rows.filter((row): row is QueueRow => row.seq !== null);
  const [head] = queue;
  if (head === undefined) return { ...destination, deliveries: [], dueAt: null };
  if (!head.isOpen && (!isSpaced || (limits.isCombined === true && head.isDue))) {
    const openAt = queue.findIndex(({ isOpen }) => isOpen);
    return { ...destination, deliveries: openAt < 0 ? queue : queue.slice(0, openAt), dueAt: null };
  }
  const ready = head.isOpen && head.isDue ? await closeDelivery(sql, uuid, head.seq) : head.isDue ? head : null;
  return { ...destination, deliveries: ready === null ? [] : [ready], dueAt: head.dueAt };
}

/** It can no longer be amended. Null: it was amended just now, and is not due. */
async function closeDelivery(sql: Queries, uuid: string, seq: number): Promise<Delivery | null> {
  const [closed] = await sql<Delivery[]>`
    update parcels set is_open = false
    where destination_uuid = ${uuid} and seq = ${seq} and is_open and due_at <= now()
    returning seq, id, destination_uuid, body`;
  return closed ?? null;
}

export type Receipt = Pick<Delivery, "destinationUuid" | "seq">;

/** Removes those that the receiver has, whichever node holds the destination now: they need not be sent again. */
export async function removeDelivered(sql: Queries, receipts: readonly Receipt[]): Promise<void> {
  await sql`
    with receipts as (
      select "destinationUuid" as uuid, seq from jsonb_to_recordset(${sql.json(receipts.map((one) => ({ ...one })))})
        as receipts ("destinationUuid" uuid, seq bigint)
    ), held as materialized (
      select uuid from destinations where uuid in (select uuid from receipts) order by uuid for no key update
    ), gone as (
      delete from parcels using receipts
      where destination_uuid = receipts.uuid and parcels.seq = receipts.seq and destination_uuid in (select uuid from held)
      returning destination_uuid
    )
    update destinations set delivered = delivered + amount, last_attempt_at = now(), last_delivered_at = now(),
      failures = 0, last_error = null
    from (select destination_uuid, count(*) as amount from gone group by destination_uuid) as gone
    where uuid = destination_uuid`;
}

export interface FailedAttempt extends Receipt {
  readonly nodeUuid: string;
  /** For the user, without secrets. */
  readonly reason: string;
  readonly retryMs: number;
  /** The delivery is dropped this long after its first attempt, 0: with this one; null: never. */
  readonly giveUpSeconds: number | null;
}

/** Schedules a retry, or drops the delivery: then true. Releases the destination. */
export async function recordFailure(sql: Queries, attempt: FailedAttempt): Promise<boolean> {
  const { destinationUuid, nodeUuid, seq, reason, retryMs, giveUpSeconds } = attempt;
  const [row] = await sql<{ isGivenUp: boolean }[]>`
    with held as materialized (
      select uuid from destinations where uuid = ${destinationUuid} and node_uuid = ${nodeUuid} for no key update
    ), gone as (
      delete from parcels where destination_uuid in (select uuid from held) and seq = ${seq}
        and coalesce(first_attempt_at, now()) <= now() - make_interval(secs => ${giveUpSeconds}::double precision)
      returning seq
    ), tried as (
      update parcels set attempts = attempts + 1, first_attempt_at = coalesce(first_attempt_at, now())
      where destination_uuid in (select uuid from held) and seq = ${seq} and seq not in (select seq from gone)
    )
    update destinations set failures = failures + 1, dropped = dropped + (select count(*) from gone),
      last_attempt_at = now(), last_error = ${reason}, node_uuid = null, lease_until = null,
      wake_at = now() + make_interval(secs => ${retryMs / 1000})
    where uuid in (select uuid from held)
    returning (select count(*) from gone) > 0 as is_given_up`;
  return row?.isGivenUp ?? false;
}

/** The receiver wants no more deliveries: drops those that wait, and all later ones. */
export async function stopDestination(sql: Queries, uuid: string, reason: string): Promise<void> {
  await sql`
    update destinations set is_stopped = true, last_error = ${reason}, last_attempt_at = now(), failures = failures + 1,
      node_uuid = null, lease_until = null, wake_at = case when is_closed then now() end
    where uuid = ${uuid}`;
  // Afterwards: deliveries that were committed while the update waited for its lock are visible now.
  await sql`
    with gone as (delete from parcels where destination_uuid = ${uuid} returning seq)
    update destinations set dropped = dropped + (select count(*) from gone) where uuid = ${uuid} and is_stopped`;
}
