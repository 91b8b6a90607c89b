/** Subscriptions to the events of a user. `sent_seq` is written in the transaction that queues deliveries. */
import { ServiceError } from "../service-error.ts";
import type { User } from "../user.ts";
import type { StoredOutput } from "./alerts.ts";
import { type Fragment, firstOf, type Queries, type TransactionSql, writtenRow } from "./client.ts";
import { byCreation, fetchPage, isoTime, type Page, type PageRequest } from "./page.ts";
import { lockUser } from "./users.ts";

export interface EventSubscriptionRow {
  readonly uuid: string;
  readonly userUuid: string;
  readonly output: readonly StoredOutput[];
  /** Empty: all. */
  readonly types: readonly string[];
  readonly sourceUuid: string | null;
  /** Of a key that is limited to them. Null: all, or `sourceUuid`. */
  readonly sourceUuids: readonly string[] | null;
  readonly sentSeq: number;
  readonly createdAt: string;
}

export type NewEventSubscriptionRow = Omit<EventSubscriptionRow, "sentSeq" | "createdAt">;

const columns = (sql: Queries) => sql`
  uuid, user_uuid, output, types, case when source_uuids is null then source_uuid end as source_uuid, source_uuids, sent_seq,
  ${isoTime(sql, "created_at")} as created_at`;

/** Whose subscriptions: those of a user, or, for a key that is limited to sources, those that send events of these only. */
type Reader = Pick<User, "uuid"> & { readonly key: Pick<User["key"], "sourceUuids"> };

const readableBy = (sql: Queries, { uuid, key: { sourceUuids } }: Reader): Fragment => sql`
  user_uuid = ${uuid} ${
    sourceUuids === null
      ? sql``
      : sql`and coalesce(source_uuids, jsonb_build_array(source_uuid)) <@ ${sql.json([...sourceUuids])}`
  }`;

/** It begins with the next event. Rejects with `subscriptions_limit_reached`; those of processes count, too. */
export async function insertEventSubscription(
  sql: TransactionSql,
  row: NewEventSubscriptionRow,
  limit: number,
): Promise<EventSubscriptionRow> {
  const { uuid, userUuid, output, types, sourceUuid, sourceUuids } = row;
  await lockUser(sql, userUuid);
  const [{ count = 0 } = {}] = await sql<{ count: number }[]>`
    select (select count(*) from subscriptions where user_uuid = ${userUuid})
      + (select count(*) from event_subscriptions where user_uuid = ${userUuid}) as count`;
  if (count >= limit)
    throw new ServiceError("subscriptions_limit_reached", {
      detail: `subscription limit reached for this key (${limit}); delete some first (DELETE /events/subscription/{subscription_uuid})`,
    });
  return writtenRow(sql<EventSubscriptionRow[]>`
    insert into event_subscriptions (uuid, user_uuid, output, types, source_uuid, source_uuids, sent_seq)
    values (${uuid}, ${userUuid}, ${sql.typed.sealed(output)}, ${sql.json([...types])},
      ${sourceUuid ?? sourceUuids?.[0] ?? null}, ${sourceUuids === null ? null : sql.json([...sourceUuids])},
      coalesce((select last_seq from event_counters where user_uuid = ${userUuid}), 0))
    returning ${columns(sql)}`);
}

/** Newest first. */
export const listEventSubscriptions = (
  sql: Queries,
  reader: Reader,
  request: PageRequest,
): Promise<Page<EventSubscriptionRow>> =>
  fetchPage(
    sql,
    request,
    byCreation<EventSubscriptionRow>("event_subscriptions"),
    (end) => sql<EventSubscriptionRow[]>`
      select ${columns(sql)} from event_subscriptions where ${readableBy(sql, reader)} ${end}`,
  );

const notFound = (uuid: string): ServiceError =>
  new ServiceError("subscription_not_found", {
    detail: `there is no subscription ${uuid}; GET /events/subscriptions lists yours`,
  });

/** Rejects with `subscription_not_found`, as the next. */
export async function findEventSubscription(sql: Queries, reader: Reader, uuid: string): Promise<EventSubscriptionRow> {
  const row = await firstOf(sql<EventSubscriptionRow[]>`
    select ${columns(sql)} from event_subscriptions where ${readableBy(sql, reader)} and uuid = ${uuid}`);
  if (row === null) throw notFound(uuid);
  return row;
}

export async function deleteEventSubscription(
  sql: Queries,
  reader: Reader,
  uuid: string,
): Promise<EventSubscriptionRow> {
  const row = await firstOf(sql<EventSubscriptionRow[]>`
    delete from event_subscriptions where ${readableBy(sql, reader)} and uuid = ${uuid} returning ${columns(sql)}`);
  if (row === null) throw notFound(uuid);
  return row;
}

/** In one round. */
const MAX_DUE = 100;

/** Those with events that are not queued. */
export async function findDueSubscriptions(sql: Queries): Promise<readonly string[]> {
  const rows = await sql<{ uuid: string }[]>`
    select uuid from event_subscriptions join event_counters using (user_uuid)
    where sent_seq < last_seq order by sent_seq, uuid limit ${MAX_DUE}`;
  return rows.map(({ uuid }) => uuid);
}

/** Null: it was deleted, or another node works on it. */
export const lockSubscription = (sql: Queries, uuid: string): Promise<EventSubscriptionRow | null> =>
  firstOf(sql<EventSubscriptionRow[]>`
    select ${columns(sql)} from event_subscriptions where uuid = ${uuid} for update skip locked`);

export async function saveSent(sql: Queries, uuid: string, seq: number): Promise<void> {
  await sql`update event_subscriptions set sent_seq = ${seq} where uuid = ${uuid}`;
}
