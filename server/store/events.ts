/**
 * The event log of each user (table `events`). Triggers and the functions here store events in the transaction of the change;
 * `numberEvents` numbers them once they are committed. Readers see only numbered ones.
 */
import type { AccountEventType, EventData } from "../../schemas/api/account-events.ts";
import type { Fragment, Queries, Sql } from "./client.ts";
import { invalidCursor, type Page, type PageRequest } from "./page.ts";

export interface EventRow {
  readonly seq: number;
  readonly uuid: string;
  readonly type: AccountEventType;
  readonly happenedAt: Date;
  readonly sourceUuid: string | null;
  readonly processUuid: string | null;
  readonly data: EventData;
}

export interface NewEvent {
  readonly userUuid: string;
  readonly type: AccountEventType;
  readonly sourceUuid?: string;
  readonly data: EventData;
  /** It may be found more than once, and is stored once. */
  readonly key?: string;
}

/** The share of a quota from which on it is nearly used up. */
export const NEAR_SHARE = 0.9;

export async function insertEvent(sql: Queries, { userUuid, type, sourceUuid, data, key }: NewEvent): Promise<void> {
  await sql`
    insert into events (user_uuid, type, source_uuid, data, key)
    values (${userUuid}, ${type}, ${sourceUuid ?? null}, ${sql.json({ ...data } as never)}, ${key ?? null})
    on conflict do nothing`;
}

/** Any number, the same for all nodes. */
const NUMBERING_LOCK = 7_027_035;
/** In one transaction. */
const MAX_NUMBERED = 1000;

/**
 * Numbers what is committed, in its order, up to a limit. One node at a time. Resolves with whether there were any; false
 * while another node does it, unless `waits`: then it is done after this call.
 */
export async function numberEvents(sql: Sql, { waits = false } = {}): Promise<boolean> {
  const [{ hasNew = false } = {}] = await sql<{ hasNew: boolean }[]>`
    select exists (select from events where seq is null) as has_new`;
  if (!hasNew) return false;
  return sql.begin(async (transaction) => {
    if (waits) await transaction`select pg_advisory_xact_lock(${NUMBERING_LOCK})`;
    else {
      const [{ isLocked = false } = {}] = await transaction<{ isLocked: boolean }[]>`
        select pg_try_advisory_xact_lock(${NUMBERING_LOCK}) as is_locked`;
      if (!isLocked) return false;
    }
    // After the lock, in a snapshot of its own: it sees what the node before has numbered.
    const numbered = await transaction`
      with new as (
        select id, user_uuid from events where seq is null order by id limit ${MAX_NUMBERED}
      ), places as (
        select id, user_uuid, row_number() over (partition by user_uuid order by id) as place from new
      ), counted as (
        insert into event_counters (user_uuid, last_seq)
        select user_uuid, count(*) from new group by user_uuid order by user_uuid
        on conflict (user_uuid) do update set last_seq = event_counters.last_seq + excluded.last_seq
        returning user_uuid, last_seq
      ), firsts as (
        select user_uuid, last_seq - (select count(*) from new where new.user_uuid = counted.user_uuid) as before
        from counted
      )
      update events set seq = before + place
      from places join firsts using (user_uuid) where events.id = places.id`;
    return numbered.count > 0;
  });
}

/** The last numbers of these users; one without events is left out. */
export async function readLastNumbers(
  sql: Queries,
  userUuids: readonly string[],
): Promise<ReadonlyMap<string, number>> {
  if (userUuids.length === 0) return new Map();
  const rows = await sql<{ userUuid: string; lastSeq: number }[]>`
    select user_uuid, last_seq from event_counters where user_uuid in ${sql([...userUuids])}`;
  return new Map(rows.map(({ userUuid, lastSeq }) => [userUuid, lastSeq]));
}

/** The first and the last event that is stored, and the last number that was given. */
export async function readRange(sql: Queries, userUuid: string): Promise<{ first: number | null; last: number }> {
  const [{ first = null, last = 0 } = {}] = await sql<{ first: number | null; last: number | null }[]>`
    select (select min(seq) from events where user_uuid = ${userUuid}) as first,
      (select last_seq from event_counters where user_uuid = ${userUuid}) as last`;
  return { first, last: last ?? 0 };
}

export interface EventFilter {
  /** Empty, or undefined: all. */
  readonly types?: readonly string[] | undefined;
  readonly processUuid?: string | undefined;
  readonly sourceUuid?: string | undefined;
  /** Of the key: only events of these sources. Null: all events. */
  readonly sourceUuids?: readonly string[] | null | undefined;
  readonly from?: Date | undefined;
  readonly to?: Date | undefined;
}

const COLUMNS = "seq, uuid, type, happened_at, source_uuid, process_uuid, data";

const matches = (sql: Queries, userUuid: string, filter: EventFilter): Fragment => {
  const { types = [], processUuid, sourceUuid, sourceUuids = null, from, to } = filter;
  return sql`user_uuid = ${userUuid}
    ${types.length === 0 ? sql`` : sql`and type in ${sql([...types])}`}
    ${processUuid === undefined ? sql`` : sql`and process_uuid = ${processUuid}`}
    ${sourceUuid === undefined ? sql`` : sql`and source_uuid = ${sourceUuid}`}
    ${sourceUuids === null ? sql`` : sql`and source_uuid in ${sql([...sourceUuids])}`}
    ${from === undefined ? sql`` : sql`and happened_at >= ${from}`}
    ${to === undefined ? sql`` : sql`and happened_at < ${to}`}`;
};

/** Oldest first. `upTo`: the last one. */
export const readEvents = (
  sql: Queries,
  userUuid: string,
  filter: EventFilter,
  { after, upTo, limit }: { readonly after: number; readonly upTo?: number; readonly limit: number },
): Promise<readonly EventRow[]> => sql<EventRow[]>`
  select ${sql.unsafe(COLUMNS)} from events
  where ${matches(sql, userUuid, filter)} and seq > ${after} ${upTo === undefined ? sql`` : sql`and seq <= ${upTo}`}
  order by seq limit ${limit}`;

const CURSOR = /^[1-9][0-9]{0,14}$/;

/** Newest first; with `after`, the oldest after that number first. */
export async function listEvents(
  sql: Queries,
  userUuid: string,
  request: EventFilter & PageRequest & { readonly limit: number; readonly after?: number | undefined },
): Promise<Page<EventRow>> {
  const { limit, cursor, after } = request;
  if (cursor !== undefined && !CURSOR.test(cursor)) throw invalidCursor();
  const place = cursor === undefined ? null : Number(cursor);
  // One more than fits on the page.
  const rows =
    after !== undefined
      ? await readEvents(sql, userUuid, request, { after: Math.max(after, place ?? 0), limit: limit + 1 })
      : await sql<EventRow[]>`
          select ${sql.unsafe(COLUMNS)} from events
          where ${matches(sql, userUuid, request)} and seq is not null ${place === null ? sql`` : sql`and seq < ${place}`}
          order by seq desc limit ${limit + 1}`;
  const page = rows.slice(0, limit);
  return { rows: page, nextCursor: rows.length > limit ? String(page.at(-1)?.seq ?? 0) : null };
}

/** In one statement. */
const MAX_REMOVED = 1000;

/** Removes what is too old, and of each user all but the newest `perUser`. */
export async function trimEvents(sql: Queries, before: Date, perUser: number): Promise<void> {
  for (;;) {
    const { count } = await sql`
      delete from events where id in (
        select id from events where happened_at < ${before} and seq is not null limit ${MAX_REMOVED})`;
    if (count < MAX_REMOVED) break;
  }
  for (;;) {
    const { count } = await sql`
      delete from events where id in (
        select id from event_counters join events using (user_uuid)
        where seq <= last_seq - ${perUser} limit ${MAX_REMOVED})`;
    if (count < MAX_REMOVED) return;
  }
}
