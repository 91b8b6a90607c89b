/**
 * Which live streams are recorded (table `source_recordings`), and rings: recordings that hold the last seconds of a stream
 * that is not recorded, for pre-roll and evidence of alerts.
 */
import type { RecordingMode } from "../../schemas/api/recording-setting.ts";
import { firstOf, type Queries, type Sql } from "./client.ts";
import { type PathSubject, pulledPathOf } from "./hub-paths.ts";
import type { RemovedSegment } from "./recordings.ts";

export interface RecordingSettingRow {
  readonly mode: RecordingMode;
  readonly preRollSeconds: number;
  readonly wantedUntil: Date | null;
  /** The recording in progress. */
  readonly recordingUuid: string | null;
}

/** Of a source without a setting: what is published to the service is recorded, what it pulls only on request. */
const usualMode = (sql: Queries) => sql`case when sources.hub_path is null then 'off' else 'always' end`;

/** Of a source of this user; null: there is none. */
export const findRecordingSetting = (
  sql: Queries,
  userUuid: string,
  sourceUuid: string,
): Promise<RecordingSettingRow | null> =>
  firstOf(sql<RecordingSettingRow[]>`
    select coalesce(mode, ${usualMode(sql)}) as mode, coalesce(pre_roll_seconds, 0) as pre_roll_seconds, wanted_until,
      (select recordings.uuid from recordings
       where source_uuid = sources.uuid and stopped_at is null and not is_ring
       order by started_at desc limit 1) as recording_uuid
    from sources left join source_recordings on source_uuid = sources.uuid
    where sources.user_uuid = ${userUuid} and sources.uuid = ${sourceUuid}`);

/** Undefined: as it was. */
export async function saveRecordingSetting(
  sql: Queries,
  sourceUuid: string,
  { mode, preRollSeconds }: { readonly mode?: RecordingMode | undefined; readonly preRollSeconds?: number | undefined },
): Promise<void> {
  await sql`
    insert into source_recordings (source_uuid, mode, pre_roll_seconds)
    select uuid, coalesce(${mode ?? null}::text, ${usualMode(sql)}), ${preRollSeconds ?? 0}
    from sources where uuid = ${sourceUuid}
    on conflict (source_uuid) do update set
      mode = ${mode === undefined ? sql`source_recordings.mode` : mode},
      pre_roll_seconds = ${preRollSeconds === undefined ? sql`source_recordings.pre_roll_seconds` : preRollSeconds},
      wanted_until = ${mode === undefined ? sql`source_recordings.wanted_until` : null}`;
}

/** Sources and processes that are recorded on alert are, for this long. */
export async function recordOnAlert(
  sql: Queries,
  notices: readonly { readonly sourceUuid: string; readonly processUuid: string }[],
  seconds: number,
): Promise<void> {
  if (notices.length === 0) return;
  // Not with every notice of a series.
  for (const [table, column, uuids] of [
    ["source_recordings", "source_uuid", notices.map(({ sourceUuid }) => sourceUuid)],
    ["process_recording_modes", "process_uuid", notices.map(({ processUuid }) => processUuid)],
  ] as const)
    await sql`
      update ${sql(table)} set wanted_until = now() + make_interval(secs => ${seconds})
      where ${sql(column)} in ${sql([...new Set(uuids)])} and mode = 'on_alert'
        and coalesce(wanted_until < now() + make_interval(secs => ${seconds * 0.9}), true)`;
}

export interface ProcessModeRow {
  readonly processUuid: string;
  readonly mode: RecordingMode;
  readonly wantedUntil: Date | null;
  readonly isWanted: boolean;
}

const processModes = (sql: Queries) => sql`
  select process_uuid, mode, wanted_until,
    mode = 'always' or (mode = 'on_alert' and coalesce(wanted_until > now(), false)) as is_wanted
  from process_recording_modes`;

/** Of all processes that have not ended. */
export const listProcessModes = (sql: Queries): Promise<readonly ProcessModeRow[]> => sql<ProcessModeRow[]>`
  ${processModes(sql)} join processes on processes.uuid = process_uuid where state not in ('finished', 'failed')`;

export const findProcessMode = (sql: Queries, processUuid: string): Promise<ProcessModeRow | null> =>
  firstOf(sql<ProcessModeRow[]>`${processModes(sql)} where process_uuid = ${processUuid}`);

export async function saveProcessMode(sql: Queries, processUuid: string, mode: RecordingMode): Promise<void> {
  await sql`
    insert into process_recording_modes (process_uuid, mode) values (${processUuid}, ${mode})
    on conflict (process_uuid) do update set mode = excluded.mode, wanted_until = null`;
}

/** What is to be recorded of a live stream. */
export interface WantedRecording extends PathSubject {
  readonly mode: RecordingMode;
  readonly preRollSeconds: number;
  /** `on_alert`: because of a recent notice, until `wantedUntil`. */
  readonly isAlerted: boolean;
  /** Null: there was no notice, or none within the last minute. */
  readonly wantedUntil: Date | null;
  /** An alert with a clip runs on it, or a clip is not complete. */
  readonly hasEvidence: boolean;
  /** A process pulls it, and publishes it when it is needed. */
  readonly isPulled: boolean;
}

/**
 * Of these live paths; of several sources with one path that of the protocol, else the newest. And of these sources, which
 * processes pull.
 */
export function findWanted(
  sql: Queries,
  published: readonly { readonly path: string; readonly protocol: string | null }[],
  pulled: readonly string[] = [],
): Promise<readonly WantedRecording[]> {
  const paths = published.map(({ path, protocol }) => ({ path, protocol }));
  return sql<WantedRecording[]>`
    with found as (
      (select distinct on (paths.path) sources.user_uuid, sources.uuid as source_uuid, sources.alias, paths.path,
        ${usualMode(sql)} as usual_mode, false as is_pulled
      from jsonb_to_recordset(${sql.json(paths)}) as paths (path text, protocol text)
        join users on users.username = split_part(paths.path, '/', 1)
        join sources on sources.user_uuid = users.uuid and sources.hub_path = paths.path
      order by paths.path, (sources.stream_type = paths.protocol) desc nulls last, sources.created_at desc)
      union all
      select sources.user_uuid, sources.uuid, sources.alias, ${pulledPathOf(sql)}, ${usualMode(sql)}, true
      from sources join users on users.uuid = sources.user_uuid
      where hub_path is null
        and sources.uuid in (select value::uuid from jsonb_array_elements_text(${sql.json([...pulled])})))
    select found.user_uuid, source_uuid, alias, path, is_pulled, coalesce(mode, usual_mode) as mode,
      coalesce(pre_roll_seconds, 0) as pre_roll_seconds,
      coalesce(wanted_until > now(), false) as is_alerted,
      case when wanted_until > now() - interval '1 minute' then wanted_until end as wanted_until,
      exists (
        select from processes join process_alerts on process_alerts.process_uuid = processes.uuid
          join alerts on alerts.uuid = alert_uuid
        where processes.source_uuid = found.source_uuid and processes.state not in ('finished', 'failed')
          and alerts.status = 'active' and process_alerts.configuration -> 'evidence' -> 'clip' is not null)
      or exists (
        select from evidence where evidence.source_uuid = found.source_uuid and state = 'pending') as has_evidence
    from found left join source_recordings using (source_uuid)`;
}

/** It becomes a recording, without the files that ended before. Resolves with those. */
export async function keepRing(
  sql: Sql,
  recordingUuid: string,
  preRollSeconds: number,
): Promise<readonly RemovedSegment[]> {
  return sql.begin(async (transaction) => {
    const old = await transaction<RemovedSegment[]>`
      delete from recording_segments as segments
      where recording_uuid = ${recordingUuid}
        and segments.started_at + make_interval(secs => segments.duration_ms / 1000.0)
          < now() - make_interval(secs => ${preRollSeconds})
        and exists (
          select from recording_segments as later
          where later.recording_uuid = segments.recording_uuid and later.index > segments.index)
      returning recording_uuid, index`;
    await transaction`
      update recordings set is_ring = false, started_at = coalesce(
        (select min(segments.started_at) from recording_segments as segments
         where segments.recording_uuid = recordings.uuid), started_at)
      where uuid = ${recordingUuid}`;
    return old;
  });
}

/** Files of a ring are kept for this long: the longest pre-roll or `before_seconds`, and the time to cut the clip. */
const KEPT_SECONDS = 75;

/**
 * Removes files of rings on this machine that are too old, unless a clip needs them, or above the limit of their user; all but
 * those being written.
 */
export const trimRings = (sql: Sql, nodeUuid: string, bytesPerUser: number): Promise<readonly RemovedSegment[]> =>
  sql<RemovedSegment[]>`
    with files as (
      select segments.recording_uuid, segments.index, source_uuid,
        segments.started_at + make_interval(secs => segments.duration_ms / 1000.0) as ended_at,
        sum(segments.size_bytes) over (
          partition by user_uuid order by segments.started_at desc, segments.recording_uuid) as total,
        stopped_at is not null or exists (
          select from recording_segments as later
          where later.recording_uuid = segments.recording_uuid and later.index > segments.index) as is_complete
      from recordings join recording_segments as segments on segments.recording_uuid = recordings.uuid
      where recordings.node_uuid = ${nodeUuid} and is_ring)
    delete from recording_segments as segments using files
    where segments.recording_uuid = files.recording_uuid and segments.index = files.index and is_complete
      and (total > ${bytesPerUser}
        or ended_at < now() - make_interval(secs => ${KEPT_SECONDS}) and not exists (
          select from evidence where evidence.source_uuid = files.source_uuid and state = 'pending'
            and happened_at - make_interval(secs => coalesce(before_ms, 0) / 1000.0 + 10) < ended_at))
    returning segments.recording_uuid, segments.index`;

/** Ended rings without files. */
export async function removeEmptyRings(sql: Sql, nodeUuid: string): Promise<void> {
  await sql`
    delete from recordings
    where node_uuid = ${nodeUuid} and is_ring and stopped_at is not null
      and not exists (select from recording_segments where recording_uuid = recordings.uuid)`;
}
