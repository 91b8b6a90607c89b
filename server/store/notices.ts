/** Notices of alerts that have happened. */
import type { AlertNotice } from "../../schemas/api/events.ts";
import { ServiceError } from "../service-error.ts";
import { firstOf, type Queries, type Sql } from "./client.ts";
import { type EvidenceRow, evidenceOf } from "./evidence.ts";
import { fetchPage, type Page, type PageRequest } from "./page.ts";

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

const columns = (sql: Queries) =>
  sql`notices.uuid, notices.happened_at as created_at, body, reviewed_at, reviewed_by, comment,
    ${evidenceOf(sql)} as evidence`;

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
  readonly from?: Date | undefined;
  readonly to?: Date | undefined;
  readonly alertUuid?: string | undefined;
  readonly processUuid?: string | undefined;
  readonly sourceUuid?: string | undefined;
  readonly className?: string | undefined;
  readonly isReviewed?: boolean | undefined;
}

/** The newest first. */
export function listNotices(sql: Sql, userUuid: string, request: NoticesRequest): Promise<Page<NoticeRow>> {
  const { from, to, alertUuid, processUuid, sourceUuid, className, isReviewed } = request;
  const [table, time] =
    className === undefined ? ["notices", "notices.happened_at"] : ["classes", "classes.happened_at"];
  const ofClass =
    className === undefined
      ? sql`notices where`
      : sql`notice_classes as classes join notices using (uuid) where class_name = ${className} and`;
  return fetchPage(
    sql,
    request,
    time,
    (end) => sql<NoticeRow[]>`
      select ${columns(sql)} from ${ofClass} ${sql(table)}.user_uuid = ${userUuid}
      ${from === undefined ? sql`` : sql`and ${sql(time)} >= ${from}`}
      ${to === undefined ? sql`` : sql`and ${sql(time)} < ${to}`}
      ${alertUuid === undefined ? sql`` : sql`and alert_uuid = ${alertUuid}`}
      ${processUuid === undefined ? sql`` : sql`and process_uuid = ${processUuid}`}
      ${sourceUuid === undefined ? sql`` : sql`and source_uuid = ${sourceUuid}`}
      ${isReviewed === undefined ? sql`` : isReviewed ? sql`and reviewed_at is not null` : sql`and reviewed_at is null`}
      ${end}`,
  );
}

const notFound = (uuid: string): ServiceError =>
  new ServiceError("notice_not_found", { detail: `there is no notice ${uuid}; GET /notices lists yours` });

/** Rejects with `notice_not_found`, as the others here. */
export async function findNotice(sql: Queries, userUuid: string, uuid: string): Promise<NoticeRow> {
  const row = await firstOf(sql<NoticeRow[]>`
    select ${columns(sql)} from notices where user_uuid = ${userUuid} and uuid = ${uuid}`);
  if (row === null) throw notFound(uuid);
  return row;
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
  const row = await firstOf(sql<NoticeRow[]>`
    update notices set
      comment = ${comment === undefined ? sql`comment` : comment},
      reviewed_by = ${reviewedBy === undefined ? sql`reviewed_by` : reviewedBy},
      reviewed_at = ${reviewedBy === undefined ? sql`reviewed_at` : reviewedBy === null ? null : sql`coalesce(reviewed_at, now())`}
    where user_uuid = ${userUuid} and uuid = ${uuid} returning ${columns(sql)}`);
  if (row === null) throw notFound(uuid);
  return row;
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
