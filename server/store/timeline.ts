/** What happened on one source in a time range: recordings, processes, tracks and notices. */
import type { AlertEventName } from "../../schemas/alerts.ts";
import type { Queries } from "./client.ts";
import type { ProcessState } from "./processes.ts";

export interface SourceRange {
  readonly userUuid: string;
  readonly sourceUuid: string;
  readonly from: Date;
  readonly to: Date;
}

/** Unix times in milliseconds. */
export interface Span {
  readonly fromMs: number;
  readonly toMs: number;
}

/** Of each part, more than is answered. */
export const MOST = {
  segments: 20_000,
  processes: 100,
  tracks: 50_000,
  listedTracks: 1000,
  classes: 20,
  notices: 2000,
};

const epochMs = (sql: Queries, column: string) => sql`round(extract(epoch from ${sql(column)}) * 1000)::bigint`;

/** In order of time; of files that may overlap. The files of a recording follow one another. */
export const listRecordedSpans = (sql: Queries, range: SourceRange): Promise<readonly Span[]> => sql<Span[]>`
  select ${epochMs(sql, "segments.started_at")} as from_ms,
    ${epochMs(sql, "segments.started_at")} + segments.duration_ms as to_ms
  from recordings cross join lateral (
    select started_at, duration_ms from recording_segments
    where recording_uuid = recordings.uuid and started_at < ${range.to}
      and started_at >= coalesce((
        select max(started_at) from recording_segments
        where recording_uuid = recordings.uuid and started_at <= ${range.from}), '-infinity')
      and started_at + make_interval(secs => duration_ms / 1000.0) > ${range.from}) as segments
  where recordings.user_uuid = ${range.userUuid} and recordings.source_uuid = ${range.sourceUuid}
    and recordings.started_at < ${range.to} and coalesce(recordings.stopped_at > ${range.from}, true)
    -- The last seconds of a stream that is not recorded: they are gone in a moment.
    and not recordings.is_ring
  order by 1 limit ${MOST.segments + 1}`;

export interface AnalysedRow {
  readonly uuid: string;
  readonly state: ProcessState;
  readonly startedAt: Date;
  readonly finishedAt: Date | null;
}

/** Processes that have started on a source, newest first. `range`: that ran in it. */
export const listAnalysed = (
  sql: Queries,
  { userUuid, sourceUuid }: Pick<SourceRange, "userUuid" | "sourceUuid">,
  range: Pick<SourceRange, "from" | "to"> | null,
): Promise<readonly AnalysedRow[]> => sql<AnalysedRow[]>`
  select uuid, state, started_at, finished_at from processes
  where user_uuid = ${userUuid} and source_uuid = ${sourceUuid} and started_at is not null
  ${range === null ? sql`` : sql`and started_at < ${range.to} and coalesce(finished_at > ${range.from}, true)`}
  order by created_at desc limit ${MOST.processes + 1}`;

/** A process, and the part of its time that is asked for. */
export interface ProcessWindow extends Span {
  readonly uuid: string;
  /** Subtracted from its times. */
  readonly zeroMs: number;
}

const windowsOf = (sql: Queries, windows: readonly ProcessWindow[]) => sql`
  (select uuid, "zeroMs" as zero_ms, to_timestamp("fromMs" / 1000.0) as begins, to_timestamp("toMs" / 1000.0) as ends
   from jsonb_to_recordset(${sql.json(windows.map((one) => ({ ...one })))})
     as windows (uuid uuid, "zeroMs" double precision, "fromMs" numeric, "toMs" numeric))`;

/** Each index is used for the tracks that it finds quickly: short ones by their first time, long ones by their last. */
const tracksOf = (sql: Queries, windows: readonly ProcessWindow[]) => sql`
  select windows.uuid as process_uuid, track_id, class_name,
    extract(epoch from greatest(first_seen, begins)) * 1000 - zero_ms as from_ms,
    extract(epoch from least(last_seen, ends)) * 1000 - zero_ms as to_ms
  from ${windowsOf(sql, windows)} as windows cross join lateral (
    (select track_id, class_name, first_seen, last_seen from tracks
     where process_uuid = windows.uuid and first_seen < ends and first_seen >= begins - interval '1 hour'
       and last_seen >= begins and last_seen - first_seen <= interval '1 hour'
     order by first_seen limit ${MOST.tracks + 1})
    union all
    (select track_id, class_name, first_seen, last_seen from tracks
     where process_uuid = windows.uuid and last_seen - first_seen > interval '1 hour' and last_seen >= begins
       and first_seen < ends
     limit ${MOST.listedTracks + 1})) as found
  limit ${MOST.tracks + 1}`;

export interface ActivityRow extends Span {
  readonly className: string;
  /** Number of tracks. */
  readonly tracks: number;
  /** Of all classes. */
  readonly total: number;
  /** Place of the class, from 1: the one with the most tracks is the first. */
  readonly rank: number;
}

/**
 * Tracks of a class whose pauses are shorter than `resolutionMs` are one row, but for those that begin in another part of
 * `partMs`: long activity shows when it was busy. By class, in order of time.
 */
export async function listActivity(
  sql: Queries,
  windows: readonly ProcessWindow[],
  { resolutionMs, partMs }: { readonly resolutionMs: number; readonly partMs: number },
): Promise<readonly ActivityRow[]> {
  if (windows.length === 0) return [];
  return sql<ActivityRow[]>`
    with found as materialized (${tracksOf(sql, windows)}),
    classes as (
      select class_name, row_number() over (order by count(*) desc, class_name) as rank from found group by class_name),
    marked as (
      select *, from_ms > ${resolutionMs}::double precision + max(to_ms) over (
        partition by class_name order by from_ms, to_ms rows between unbounded preceding and 1 preceding) as is_later
      from found),
    numbered as (
      select *, count(*) filter (where is_later) over (partition by class_name order by from_ms, to_ms
        rows unbounded preceding) as number from marked)
    select class_name, round(min(from_ms))::bigint as from_ms, round(max(to_ms))::bigint as to_ms,
      count(*)::integer as tracks, (select count(*)::integer from found) as total, min(rank)::integer as rank
    from numbered join classes using (class_name) where rank <= ${MOST.classes + 1}
    group by class_name, number, floor(from_ms / ${partMs}::double precision) order by class_name, 2`;
}

export interface ListedTrack extends Span {
  readonly processUuid: string;
  readonly trackId: number;
  readonly className: string;
}

/** In order of time. */
export const listTracks = (sql: Queries, windows: readonly ProcessWindow[]): Promise<readonly ListedTrack[]> => sql<
  ListedTrack[]
>`
  select process_uuid, track_id, class_name, round(from_ms)::bigint as from_ms, round(to_ms)::bigint as to_ms
  from (${tracksOf(sql, windows)}) as found order by from_ms, track_id`;

export interface MarkedNotice {
  readonly uuid: string;
  readonly alertUuid: string;
  readonly alias: string;
  readonly processUuid: string;
  readonly atMs: number;
  readonly event: AlertEventName;
  readonly classes: readonly string[];
  readonly isReviewed: boolean;
}

const noticeColumns = (sql: Queries) => sql`
  notices.uuid, alert_uuid, alias, process_uuid, event, reviewed_at is not null as is_reviewed,
  to_jsonb(array(select class_name from notice_classes where notice_classes.uuid = notices.uuid order by 1)) as classes`;

/** The newest first. */
export const listMarks = (sql: Queries, range: SourceRange): Promise<readonly MarkedNotice[]> => sql<MarkedNotice[]>`
  select ${noticeColumns(sql)}, ${epochMs(sql, "happened_at")} as at_ms from notices
  where user_uuid = ${range.userUuid} and source_uuid = ${range.sourceUuid}
    and happened_at >= ${range.from} and happened_at < ${range.to}
  order by happened_at desc, notices.uuid desc limit ${MOST.notices + 1}`;

/** Of these processes, with times that begin at their zero. The latest first. */
export const listProcessMarks = (
  sql: Queries,
  userUuid: string,
  windows: readonly ProcessWindow[],
): Promise<readonly MarkedNotice[]> => sql<MarkedNotice[]>`
  select ${noticeColumns(sql)}, round(extract(epoch from happened_at) * 1000 - zero_ms)::bigint as at_ms
  from ${windowsOf(sql, windows)} as windows cross join lateral (
    select * from notices where user_uuid = ${userUuid} and process_uuid = windows.uuid
      and happened_at >= begins and happened_at < ends
    order by happened_at desc limit ${MOST.notices + 1}) as notices
  order by at_ms desc, notices.uuid desc limit ${MOST.notices + 1}`;
