/**
 * What waits for receivers. Whoever locks a receiver and its parcels locks the receiver first, and several receivers in
 * the order of their uuids: nobody waits in a circle.
 */
import type { Target } from "../delivery/delivery.ts";
import type { Queries } from "./client.ts";

export interface NewParcel {
  readonly id: string;
  readonly destinationUuid: string;
  readonly body: string;
  /** Null: at once. */
  readonly dueAt: Date | null;
}

interface Place {
  readonly uuid: string;
  readonly kind: Target["kind"];
  readonly lastSeq: number;
  readonly trimmedSeq: number;
}

export interface Trimmed {
  readonly uuid: string;
  readonly kind: Target["kind"];
  readonly dropped: number;
}

/** For the sake of the distance to the last that has arrived. Null: at once. A clock that was set back counts for nothing. */
const findNotBefore = (sql: Queries) => sql`
  case when not is_closed and last_delivered_at <= now()
    then last_delivered_at + make_interval(secs => spacing_ms / 1000) end`;

/** So much of the bound may be exceeded before the oldest go, so that not every parcel pays for looking. */
const SLACK = 0.01;

/**
 * In this order. For receivers that are closed or gone nothing is kept; nor is an id that waits already. Says of whom
 * the oldest had to go, and how many.
 */
export async function insertParcels(
  sql: Queries,
  parcels: readonly NewParcel[],
  most: number,
): Promise<readonly Trimmed[]> {
  if (parcels.length === 0) return [];
  const news = parcels.map(({ dueAt, ...parcel }, at) => ({ ...parcel, at, dueAt: dueAt?.toISOString() ?? null }));
  const places = await sql<Place[]>`
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
  const slack = Math.floor(most * SLACK);
  const trimmed: Trimmed[] = [];
  for (const { uuid, kind, lastSeq, trimmedSeq } of places) {
    if (lastSeq - most - trimmedSeq <= slack) continue;
    const dropped = await trim(sql, { uuid, kind, lastSeq, trimmedSeq }, most);
    if (dropped > 0) trimmed.push({ uuid, kind, dropped });
  }
  return trimmed;
}

/** The oldest go. Those that are just being delivered are not in the way for long. */
async function trim(sql: Queries, { uuid, lastSeq, trimmedSeq }: Place, most: number): Promise<number> {
  const upTo = lastSeq - most;
  const [row] = await sql<{ trimmed: number }[]>`
    with oldest as (
      select seq from parcels where destination_uuid = ${uuid} and seq > ${trimmedSeq} and seq <= ${upTo}
      for update skip locked
    ), gone as (
      delete from parcels where destination_uuid = ${uuid} and seq in (select seq from oldest) returning seq
    )
    update destinations set trimmed_seq = greatest(trimmed_seq, ${upTo}), dropped = dropped + (select count(*) from gone)
    where uuid = ${uuid} returning (select count(*) from gone) as trimmed`;
  return row?.trimmed ?? 0;
}

export interface UserBounds {
  readonly most: number;
  readonly bytes: number;
  /** Of one parcel, at most. */
  readonly bodyBytes: number;
}

/**
 * Of users for whom more waits than may, to all their receivers together, the oldest go. Only of those who could have too
 * many bytes are the bytes counted: by the numbers of parcels, which are known.
 */
export async function trimUsers(sql: Queries, { most, bytes, bodyBytes }: UserBounds): Promise<readonly Trimmed[]> {
  const suspects = await sql<{ userUuid: string }[]>`
    select user_uuid from destinations group by user_uuid
    having sum(greatest(0, next_seq - 1 - delivered - dropped)) > ${Math.min(most, Math.floor(bytes / bodyBytes))}`;
  const trimmed: Trimmed[] = [];
  for (const { userUuid } of suspects) trimmed.push(...(await trimUser(sql, userUuid, { most, bytes })));
  return trimmed;
}

const trimUser = (
  sql: Queries,
  userUuid: string,
  { most, bytes }: Omit<UserBounds, "bodyBytes">,
): Promise<readonly Trimmed[]> => sql<Trimmed[]>`
  with sized as (
    select destination_uuid, seq, row_number() over newest as place, sum(octet_length(body)::bigint) over newest as bytes
    from parcels join destinations on uuid = destination_uuid
    where user_uuid = ${userUuid}
    window newest as (order by due_at desc, seq desc, destination_uuid)
  ), beyond as materialized (
    select destination_uuid, seq from sized where place > ${most} or bytes > ${bytes}
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

/** Never kept: for each of these one more is lost. All that are dropped have had a number, by which those that wait are reckoned. */
export async function countDropped(sql: Queries, destinationUuids: readonly string[]): Promise<void> {
  for (const uuid of [...destinationUuids].sort())
    await sql`update destinations set dropped = dropped + 1, next_seq = next_seq + 1 where uuid = ${uuid}`;
}

/** False: it is on its way, or gone. */
export async function amendParcel(sql: Queries, { id, destinationUuid, body, dueAt }: NewParcel): Promise<boolean> {
  const amended = await sql`
    with held as materialized (
      select uuid from destinations where uuid = ${destinationUuid} for no key update
    ), amended as (
      update parcels set body = ${body}, due_at = coalesce(${dueAt}, now())
      where destination_uuid in (select uuid from held) and id = ${id} and is_open
      returning destination_uuid, due_at
    )
    update destinations set
      wake_at = case when failures > 0 and wake_at is not null then wake_at else least(wake_at, due_at) end
    from amended where uuid = destination_uuid`;
  return amended.count > 0;
}

export interface WaitingParcel {
  readonly seq: number;
  readonly id: string;
  readonly body: string;
}

export interface Waiting {
  /** Of the next that will come. */
  readonly nextSeq: number;
  /** In order. */
  readonly parcels: readonly WaitingParcel[];
  /** When the first of those that are left may be sent; null when none is left that is known of. */
  readonly dueAt: Date | null;
  readonly isClosed: boolean;
  /** Its target is not the one that was claimed. */
  readonly isChanged: boolean;
}

interface ReceiverRow {
  readonly nextSeq: number;
  readonly isClosed: boolean;
  readonly isSpaced: boolean;
  readonly isChanged: boolean;
}

interface WaitingRow extends WaitingParcel, ReceiverRow {
  readonly isOpen: boolean;
  readonly isDue: boolean;
  readonly dueAt: Date;
}

/** One that waits for its time holds up those behind it. Null: the receiver is gone, or another's. */
export async function readWaiting(
  sql: Queries,
  { uuid, nodeUuid, target }: { readonly uuid: string; readonly nodeUuid: string; readonly target: Target },
  { most, bytes }: { readonly most: number; readonly bytes: number },
): Promise<Waiting | null> {
  const rows = await sql<(WaitingRow | (ReceiverRow & { seq: null }))[]>`
    select next_seq, is_closed, spacing_ms > 0 as is_spaced,
      target <> ${sql.typed.sealed(target)} as is_changed, seq, id, body, is_open,
      greatest(due_at, ${findNotBefore(sql)}) as due_at, greatest(due_at, ${findNotBefore(sql)}) <= now() as is_due
    from destinations left join lateral (
      select *, sum(octet_length(body)) over (order by seq) - octet_length(body) as bytes_before
      from (select * from parcels where destination_uuid = ${uuid} order by seq limit ${most}) as oldest
    ) as oldest on bytes_before < ${bytes}
    where uuid = ${uuid} and node_uuid = ${nodeUuid} order by seq`;
  const [first] = rows;
  if (first === undefined) return null;
  const { isSpaced, nextSeq, isClosed, isChanged } = first;
  const receiver = { nextSeq, isClosed, isChanged };
  const waiting = rows.filter((row): row is WaitingRow => row.seq !== null);
  const [head] = waiting;
  if (head === undefined) return { ...receiver, parcels: [], dueAt: null };
  if (!head.isOpen && !isSpaced) {
    const openAt = waiting.findIndex(({ isOpen }) => isOpen);
    return { ...receiver, parcels: openAt < 0 ? waiting : waiting.slice(0, openAt), dueAt: null };
  }
  const ready = head.isOpen && head.isDue ? await closeParcel(sql, uuid, head.seq) : head.isDue ? head : null;
  return { ...receiver, parcels: ready === null ? [] : [ready], dueAt: head.dueAt };
}

/** From now on it stays as it is. Null: it was amended just now, and is not due. */
async function closeParcel(sql: Queries, uuid: string, seq: number): Promise<WaitingParcel | null> {
  const [closed] = await sql<WaitingParcel[]>`
    update parcels set is_open = false
    where destination_uuid = ${uuid} and seq = ${seq} and is_open and due_at <= now()
    returning seq, id, body`;
  return closed ?? null;
}

export interface Receipt {
  readonly destinationUuid: string;
  readonly seq: number;
}

/** They have arrived. Written whoever holds the receivers by now: what has arrived need not be sent again. */
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

export interface FailedAttempt {
  readonly destinationUuid: string;
  readonly nodeUuid: string;
  readonly seq: number;
  /** For people, nothing secret in it. */
  readonly reason: string;
  readonly retryMs: number;
  /** So long after its first attempt it is given up; null: never. */
  readonly giveUpSeconds: number | null;
}

/** It is tried again later, or given up. True: it was given up. The receiver is free for others meanwhile. */
export async function noteFailure(sql: Queries, attempt: FailedAttempt): Promise<boolean> {
  const { destinationUuid, nodeUuid, seq, reason, retryMs, giveUpSeconds } = attempt;
  const [row] = await sql<{ isGivenUp: boolean }[]>`
    with held as materialized (
      select uuid from destinations where uuid = ${destinationUuid} and node_uuid = ${nodeUuid} for no key update
    ), gone as (
      delete from parcels where destination_uuid in (select uuid from held) and seq = ${seq}
        and first_attempt_at <= now() - make_interval(secs => ${giveUpSeconds}::double precision)
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

/** Its receiver wants nothing more: what waits is dropped, and what will come. */
export async function stopDestination(sql: Queries, uuid: string, reason: string): Promise<void> {
  await sql`
    update destinations set is_stopped = true, last_error = ${reason}, last_attempt_at = now(), failures = failures + 1,
      node_uuid = null, lease_until = null, wake_at = case when is_closed then now() end
    where uuid = ${uuid}`;
  // Afterwards: what was committed while this waited for its turn is seen now, and no more can come.
  await sql`
    with gone as (delete from parcels where destination_uuid = ${uuid} returning seq)
    update destinations set dropped = dropped + (select count(*) from gone) where uuid = ${uuid} and is_stopped`;
}
