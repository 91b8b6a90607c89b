/** Notices of alerts that have happened. */
import type { AlertNotice } from "../../schemas/api/events.ts";
import type { EvidenceState } from "../../schemas/api/evidence.ts";
import { ServiceError } from "../service-error.ts";
import { type Fragment, firstOf, type Queries, type Sql } from "./client.ts";
import { type EvidenceRow, evidenceOf } from "./evidence.ts";
import { fetchPage, filterBy, type Page, type PageOrder, type PageRequest, type TimeRange, timeKey } from "./page.ts";

export interface NoticeRow {
  readonly uuid: string;
  /** When it happened. */
  readonly createdAt: Date;
  readonly body: AlertNotice;
  readonly reviewedAt: Date | null;
  readonly reviewedBy: string | null;
  readonly comment: string | null;
  /** Null: its alert had none. */
  readonly evidence: EvidenceRow | null;
}

/**
 * The image is a column of its own: PostgreSQL writes texts within JSON character by character, which took most of the time of
 * a page. `whole`: the body, which is stored in several pieces that every use of the column reads again.
 */
const columns = (sql: Queries, whole: Fragment = sql`notices.body`) => {
  const hasImage = sql`jsonb_typeof(${whole} #> '{data,patch,image}') is not distinct from 'string'`;
  return sql`notices.uuid, notices.happened_at as created_at,
    case when ${hasImage} then ${whole} #- '{data,patch,image}' else ${whole} end as body,
    case when ${hasImage} then ${whole} #>> '{data,patch,image}' end as image,
    reviewed_at, reviewed_by, comment, ${evidenceOf(sql)} as evidence`;
};

type StoredNotice = NoticeRow & { readonly image: string | null };

function toRow({ image, ...row }: StoredNotice): NoticeRow {
  if (image === null) return row;
  const { data } = row.body;
  return { ...row, body: { ...row.body, data: { ...data, patch: { ...(data.patch as object), image } } } };
}

export interface NewNotice {
  readonly userUuid: string;
  readonly notice: AlertNotice;
}

/** A notice that is stored already is left as it is. */
export async function insertNotices(sql: Queries, notices: readonly NewNotice[]): Promise<void> {
  if (notices.length === 0) return;
  const rows = notices.map(({ userUuid, notice }) => ({
    ...{ uuid: notice.id, userUuid, alertUuid: notice.alert_uuid, processUuid: notice.process_uuid },
    ...{ sourceUuid: notice.source_uuid, happenedAt: notice.timestamp, body: notice },
    classNames: [...new Set(notice.tracks.map(({ class_name }) => class_name))],
  }));
  await sql`
    with rows as (
      select * from jsonb_to_recordset(${sql.json(rows as never)}) as rows (
        uuid uuid, "userUuid" uuid, "alertUuid" uuid, "processUuid" uuid, "sourceUuid" uuid,
        "happenedAt" timestamptz(3), "classNames" jsonb, body jsonb)),
    inserted as (
      insert into notices (uuid, user_uuid, alert_uuid, process_uuid, source_uuid, happened_at, body)
      select uuid, "userUuid", "alertUuid", "processUuid", "sourceUuid", "happenedAt", body from rows
      on conflict (uuid) do nothing returning uuid)
    insert into notice_classes (user_uuid, class_name, happened_at, uuid)
    select distinct "userUuid", class_name, "happenedAt", uuid
    from rows join inserted using (uuid), jsonb_array_elements_text("classNames") as class_name`;
}

export interface NoticesRequest extends PageRequest {
  readonly happened: TimeRange;
  readonly alertUuid?: string | undefined;
  readonly processUuid?: string | undefined;
  readonly sourceUuid?: string | undefined;
  readonly className?: string | undefined;
  readonly isReviewed?: boolean | undefined;
  readonly evidence?: EvidenceState | undefined;
}

/** Rare classes and states of evidence are found by tables of their own, sorted by the same time. */
const orderOf = (table: string, uuid: string): PageOrder<NoticeRow> => ({
  ...{ uuid: `${table}.${uuid}`, uuidOf: (row) => row.uuid },
  keys: { timestamp: timeKey(`${table}.happened_at`, ({ createdAt }) => createdAt) },
});

export function listNotices(sql: Sql, userUuid: string, request: NoticesRequest): Promise<Page<NoticeRow>> {
  const { happened, alertUuid, processUuid, sourceUuid, className, isReviewed, evidence } = request;
  const [table, key, tables] =
    className !== undefined
      ? ["classes", "uuid", sql`notice_classes as classes join notices using (uuid)`]
      : evidence !== undefined
        ? ["evidence", "notice_uuid", sql`evidence join notices on notices.uuid = evidence.notice_uuid`]
        : ["notices", "uuid", sql`notices`];
  const filters = {
    ...{ class_name: className, [`${table}.happened_at`]: happened, "notices.alert_uuid": alertUuid },
    ...{ "notices.process_uuid": processUuid, "notices.source_uuid": sourceUuid },
    ...(table === "evidence" && { "evidence.state": evidence }),
  };
  const hasEvidence = sql`exists (
    select from evidence where evidence.notice_uuid = notices.uuid and evidence.state = ${evidence ?? ""})`;
  const direction = request.sort === "timestamp" ? sql`asc` : sql`desc`;
  return fetchPage(sql, request, orderOf(table, key), async (end) => {
    // The bodies of this page are read once each: `offset 0` keeps the planner from repeating the expression.
    const rows = await sql<StoredNotice[]>`
      select ${columns(sql, sql`opened.body`)} from (
        select notices.* from ${tables} where ${sql(table)}.user_uuid = ${userUuid} ${filterBy(sql, filters)}
        ${isReviewed === undefined ? sql`` : isReviewed ? sql`and reviewed_at is not null` : sql`and reviewed_at is null`}
        ${evidence === undefined || table === "evidence" ? sql`` : sql`and ${hasEvidence}`} ${end}
      ) as notices, lateral (select notices.body || '{}'::jsonb as body offset 0) as opened
      order by notices.happened_at ${direction}, notices.uuid ${direction}`;
    return rows.map(toRow);
  });
}

const notFound = (uuid: string): ServiceError =>
  new ServiceError("notice_not_found", { detail: `there is no notice ${uuid}; GET /notices lists yours` });

/** Rejects with `notice_not_found`, as the others here. */
export async function findNotice(sql: Queries, userUuid: string, uuid: string): Promise<NoticeRow> {
  const row = await firstOf(sql<StoredNotice[]>`
    select ${columns(sql)} from notices where user_uuid = ${userUuid} and uuid = ${uuid}`);
  if (row === null) throw notFound(uuid);
  return toRow(row);
}

interface Review {
  readonly userUuid: string;
  readonly uuid: string;
  /** Name of the user; null: it is not reviewed any longer. Undefined: as it was. */
  readonly reviewedBy?: string | null | undefined;
  /** Undefined: as it was. */
  readonly comment?: string | null | undefined;
}

export async function reviewNotice(sql: Queries, { userUuid, uuid, reviewedBy, comment }: Review): Promise<NoticeRow> {
  const row = await firstOf(sql<StoredNotice[]>`
    update notices set
      comment = ${comment === undefined ? sql`comment` : comment},
      reviewed_by = ${reviewedBy === undefined ? sql`reviewed_by` : reviewedBy},
      reviewed_at = ${reviewedBy === undefined ? sql`reviewed_at` : reviewedBy === null ? null : sql`coalesce(reviewed_at, now())`}
    where user_uuid = ${userUuid} and uuid = ${uuid} returning ${columns(sql)}`);
  if (row === null) throw notFound(uuid);
  return toRow(row);
}

export async function deleteNotice(sql: Queries, userUuid: string, uuid: string): Promise<void> {
  const { count } = await sql`delete from notices where user_uuid = ${userUuid} and uuid = ${uuid}`;
  if (count === 0) throw notFound(uuid);
}

/** Users keep their newest `most`. */
export async function trimNotices(sql: Queries, most: number): Promise<void> {
  await sql`
    with kept as materialized (
      select users.uuid, (
        select happened_at from notices where user_uuid = users.uuid
        order by happened_at desc, uuid desc offset ${most} limit 1) as until
      from users)
    delete from notices using kept where user_uuid = kept.uuid and happened_at <= kept.until`;
}

/** Up to `most`. Resolves with the number removed. */
export async function removeOldNotices(sql: Queries, before: Date, most: number): Promise<number> {
  const { count } = await sql`
    delete from notices
    where ctid = any(array(select ctid from notices where happened_at < ${before} limit ${most} for update skip locked))`;
  return count;
}
