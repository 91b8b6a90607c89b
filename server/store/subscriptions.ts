/** Subscriptions to processes. They are deleted when the process has ended and its last notifications are stored. */
import type { EventType, NotificationFormat } from "../../schemas/api/webhooks.ts";
import { ServiceError } from "../service-error.ts";
import { type Queries, type Sql, type TransactionSql, writtenRow } from "./client.ts";
import { closeDestination } from "./destinations.ts";
import { byCreation, fetchPage, filterBy, isoTime, type Page, type PageRequest } from "./page.ts";
import { type Claim, expectActiveProcess } from "./processes.ts";
import { lockUser } from "./users.ts";

export interface SubscriptionRow {
  readonly uuid: string;
  readonly userUuid: string;
  readonly processUuid: string;
  readonly eventType: EventType;
  /** With credentials, like the next. */
  readonly notificationUrl: string;
  readonly authUrl: string | null;
  readonly policy: { readonly backoff_seconds: number };
  readonly format: NotificationFormat;
  readonly secret: string;
  readonly createdAt: string;
  /** Of target-count: the last count. */
  readonly sentCount: number;
  /** The next notification is sent no sooner. */
  readonly nextAt: Date | null;
}

export type NewSubscriptionRow = Omit<SubscriptionRow, "createdAt" | "sentCount" | "nextAt">;

const columns = (sql: Queries) => sql`
  uuid, user_uuid, process_uuid, event_type, notification_url, auth_url, policy, format, secret, told_count as sent_count, next_at,
  ${isoTime(sql, "created_at")} as created_at`;

/** Rejects with `process_not_found`, `subscription_exists` and `subscriptions_limit_reached`, also when several run at once. */
export async function insertSubscription(
  sql: TransactionSql,
  row: NewSubscriptionRow,
  limit: number,
): Promise<SubscriptionRow> {
  const { userUuid, processUuid, eventType, notificationUrl } = row;
  await lockUser(sql, userUuid);
  await expectActiveProcess(sql, userUuid, processUuid);
  const [same] = await sql<{ uuid: string }[]>`
    select uuid from subscriptions
    where process_uuid = ${processUuid} and event_type = ${eventType} and notification_url = ${sql.typed.sealed(notificationUrl)}`;
  if (same !== undefined)
    throw new ServiceError("subscription_exists", {
      detail: `the subscription ${same.uuid} sends ${eventType} of this process to that address already; delete it first to change it (DELETE /subscriptions/${processUuid})`,
    });
  const [{ count = 0 } = {}] = await sql<{ count: number }[]>`
    select count(*) from subscriptions where user_uuid = ${userUuid}`;
  if (count >= limit)
    throw new ServiceError("subscriptions_limit_reached", {
      detail: `subscription limit reached for this key (${limit}); delete some first (DELETE /subscriptions/{process_uuid})`,
    });
  const sealed = {
    notificationUrl: sql.typed.sealed(notificationUrl),
    authUrl: sql.typed.sealed(row.authUrl),
    secret: sql.typed.sealed(row.secret),
  };
  return writtenRow(sql<SubscriptionRow[]>`
    insert into subscriptions ${sql({ ...row, ...sealed, policy: sql.json({ ...row.policy }) })}
    returning ${columns(sql)}`);
}

export const listSubscriptions = (
  sql: Queries,
  processUuid: string,
  request: PageRequest & { readonly eventType?: EventType | undefined } = {},
): Promise<Page<SubscriptionRow>> =>
  fetchPage(
    sql,
    request,
    byCreation<SubscriptionRow>("subscriptions"),
    (end) => sql<SubscriptionRow[]>`
      select ${columns(sql)} from subscriptions
      where process_uuid = ${processUuid} ${filterBy(sql, { event_type: request.eventType })} ${end}`,
  );

/** Resolves with those that existed, in the order of their uuids, in which their destinations are locked. */
export async function deleteSubscriptions(sql: Queries, uuids: readonly string[]): Promise<readonly string[]> {
  if (uuids.length === 0) return [];
  const gone = await sql<{ uuid: string }[]>`
    with held as materialized (
      select uuid from subscriptions where uuid in ${sql([...uuids])} order by uuid for update
    )
    delete from subscriptions where uuid in (select uuid from held) returning uuid`;
  return gone.map(({ uuid }) => uuid).sort();
}

/** Their waiting deliveries are still sent. */
export async function closeSubscriptions(sql: Sql, uuids: readonly string[]): Promise<void> {
  await sql.begin(async (transaction) => {
    const deleted = await deleteSubscriptions(transaction, uuids);
    // Pipelined: sent together, executed in this order.
    await Promise.all(deleted.map((uuid) => closeDestination(transaction, uuid)));
  });
}

/** Of processes that ended this long ago. */
export async function findLeftSubscriptions(sql: Queries, sinceSeconds: number, limit: number): Promise<string[]> {
  const left = await sql<{ uuid: string }[]>`
    select subscriptions.uuid from subscriptions join processes on processes.uuid = process_uuid
    where state in ('finished', 'failed') and finished_at < now() - make_interval(secs => ${sinceSeconds})
    order by subscriptions.uuid limit ${limit}`;
  return left.map(({ uuid }) => uuid);
}

/** What a subscription has stored. Written in the transaction of the delivery. */
export interface SubscriptionProgress {
  readonly uuid: string;
  /** The last delivery, and the number of tracks in it. */
  readonly parcelId: string | null;
  readonly parcelCount: number;
  /** A delivery waits for its receiver. */
  readonly isWaiting: boolean;
}

/** Locks them until the end of the transaction. Without those that are deleted, and all when the claim is lost. */
export async function lockProgress(
  sql: Queries,
  { uuid: processUuid, fence }: Claim,
  uuids: readonly string[],
): Promise<ReadonlyMap<string, SubscriptionProgress>> {
  const rows = await sql<SubscriptionProgress[]>`
    select subscriptions.uuid, parcel_id, parcel_count,
      exists (select from parcels where destination_uuid = subscriptions.uuid) as is_waiting
    from subscriptions join processes on processes.uuid = process_uuid
    where subscriptions.uuid in ${sql([...uuids])} and process_uuid = ${processUuid} and fence = ${fence}
    order by subscriptions.uuid for update of subscriptions`;
  return new Map(rows.map((row) => [row.uuid, row]));
}

export interface NewProgress extends Pick<SubscriptionRow, "uuid" | "sentCount"> {
  readonly parcelId: string;
  readonly parcelCount: number;
  readonly nextMs: number;
}

export async function saveProgress(sql: Queries, progress: readonly NewProgress[]): Promise<void> {
  if (progress.length === 0) return;
  await sql`
    update subscriptions set
      parcel_id = news."parcelId", parcel_count = news."parcelCount", told_count = news."sentCount",
      next_at = to_timestamp(news."nextMs" / 1000)
    from jsonb_to_recordset(${sql.json(progress.map((each) => ({ ...each })))})
      as news (uuid uuid, "parcelId" text, "parcelCount" integer, "sentCount" integer, "nextMs" double precision)
    where subscriptions.uuid = news.uuid`;
}
