/** Subscriptions to processes: gone with their process, when what was gathered for them is on its way. */
import type { EventType, NotificationFormat } from "../../schemas/api/webhooks.ts";
import { ServiceError } from "../service-error.ts";
import type { Queries, TransactionSql } from "./client.ts";
import { cutPage, isoTime, type Page, type PageRequest, readPage } from "./page.ts";
import { lockUser } from "./users.ts";

export interface SubscriptionRow {
  readonly uuid: string;
  readonly userUuid: string;
  readonly processUuid: string;
  readonly eventType: EventType;
  /** With credentials, as the next. */
  readonly notificationUrl: string;
  readonly authUrl: string | null;
  readonly policy: { readonly backoff_seconds: number };
  readonly format: NotificationFormat;
  readonly secret: string;
  readonly createdAt: string;
  /** Of target-count: what was told last. */
  readonly toldCount: number;
  /** The next notification comes no sooner. */
  readonly nextAt: Date | null;
}

export type NewSubscriptionRow = Omit<SubscriptionRow, "createdAt" | "toldCount" | "nextAt">;

const columns = (sql: Queries) => sql`
  uuid, user_uuid, process_uuid, event_type, notification_url, auth_url, policy, format, secret, told_count, next_at,
  ${isoTime(sql, sql`created_at`)} as created_at`;

/** Rejects with `process_not_found`, `subscription_exists` and `subscriptions_limit_reached`; of several at once, too. */
export async function insertSubscription(
  sql: TransactionSql,
  row: NewSubscriptionRow,
  most: number,
): Promise<SubscriptionRow> {
  const { userUuid, processUuid, eventType, notificationUrl } = row;
  await lockUser(sql, userUuid);
  await expectActive(sql, userUuid, processUuid);
  const [same] = await sql<{ uuid: string }[]>`
    select uuid from subscriptions
    where process_uuid = ${processUuid} and event_type = ${eventType} and notification_url = ${sql.typed.sealed(notificationUrl)}`;
  if (same !== undefined)
    throw new ServiceError("subscription_exists", {
      detail: `the subscription ${same.uuid} tells that address of ${eventType} of this process already; delete it first to change it (DELETE /subscriptions/${processUuid})`,
    });
  const [{ count = 0 } = {}] = await sql<{ count: number }[]>`
    select count(*) from subscriptions where user_uuid = ${userUuid}`;
  if (count >= most)
    throw new ServiceError("subscriptions_limit_reached", {
      detail: `${count} subscriptions are there and this key may have ${most}; delete some first (DELETE /subscriptions/{process_uuid})`,
    });
  const sealed = {
    notificationUrl: sql.typed.sealed(notificationUrl),
    authUrl: sql.typed.sealed(row.authUrl),
    secret: sql.typed.sealed(row.secret),
  };
  const [inserted] = await sql<SubscriptionRow[]>`
    insert into subscriptions ${sql({ ...row, ...sealed, policy: sql.json({ ...row.policy }) })}
    returning ${columns(sql)}`;
  if (inserted === undefined) throw new Error("the new subscription was not returned");
  return inserted;
}

/** Held until the end of the transaction: it cannot end unseen meanwhile. */
async function expectActive(sql: Queries, userUuid: string, processUuid: string): Promise<void> {
  const [process] = await sql<{ state: string }[]>`
    select state from processes where uuid = ${processUuid} and user_uuid = ${userUuid} for key share`;
  if (process !== undefined && process.state !== "finished" && process.state !== "failed") return;
  const found = process === undefined ? `there is no process ${processUuid}` : `the process ${processUuid} is ended`;
  throw new ServiceError("process_not_found", { detail: `${found}; GET /processes lists those that run` });
}

/** Newest first. */
export async function listSubscriptions(
  sql: Queries,
  processUuid: string,
  request: PageRequest = {},
): Promise<Page<SubscriptionRow>> {
  const { place, fetch } = readPage(request);
  const rows = await sql<SubscriptionRow[]>`
    select ${columns(sql)} from subscriptions
    where process_uuid = ${processUuid}
    ${place === null ? sql`` : sql`and (subscriptions.created_at, uuid) < (${place.createdAt}::text::timestamptz, ${place.uuid})`}
    order by subscriptions.created_at desc, uuid desc limit ${fetch}`;
  return cutPage(rows, request, (row) => row);
}

/** Resolves with those that were there, in the order of their uuids: whoever locks several does so. */
export async function deleteSubscriptions(sql: Queries, uuids: readonly string[]): Promise<readonly string[]> {
  if (uuids.length === 0) return [];
  const gone = await sql<{ uuid: string }[]>`
    with held as materialized (
      select uuid from subscriptions where uuid in ${sql([...uuids])} order by uuid for update
    )
    delete from subscriptions where uuid in (select uuid from held) returning uuid`;
  return gone.map(({ uuid }) => uuid).sort();
}

/** Of processes that ended a while ago: whoever held them has not seen to it. */
export async function findLeftSubscriptions(sql: Queries, sinceSeconds: number, most: number): Promise<string[]> {
  const left = await sql<{ uuid: string }[]>`
    select subscriptions.uuid from subscriptions join processes on processes.uuid = process_uuid
    where state in ('finished', 'failed') and finished_at < now() - make_interval(secs => ${sinceSeconds})
    order by subscriptions.uuid limit ${most}`;
  return left.map(({ uuid }) => uuid);
}
