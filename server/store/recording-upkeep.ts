/** Recordings as a machine keeps them in order: those on its own disk. What is deleted here is told, for its files to follow. */
import type { Queries, Sql } from "./client.ts";
import type { SegmentRow } from "./recordings.ts";

export interface KeptRecording {
  readonly uuid: string;
  readonly userUuid: string;
  readonly sourceUuid: string;
  readonly alias: string;
  readonly startedAt: Date;
  readonly stoppedAt: Date | null;
  readonly detail: string | null;
  /** By their index. */
  readonly segments: readonly SegmentRow[];
}

export interface RemovedSegment {
  readonly recordingUuid: string;
  readonly index: number;
}

/** Those of these whose rows are there, and from now on this machine's: it has their files. */
export async function claimRecordings(
  sql: Queries,
  nodeUuid: string,
  uuids: readonly string[],
): Promise<readonly KeptRecording[]> {
  if (uuids.length === 0) return [];
  return sql<KeptRecording[]>`
    update recordings set node_uuid = ${nodeUuid}
    where uuid in (select value::uuid from jsonb_array_elements_text(${sql.json(uuids)}))
    returning uuid, user_uuid, source_uuid, alias, started_at, stopped_at, detail,
      (select coalesce(jsonb_agg(jsonb_build_object(
          'index', index, 'startedAtMs', round(extract(epoch from recording_segments.started_at) * 1000),
          'durationMs', duration_ms, 'sizeBytes', size_bytes) order by index), '[]')
       from recording_segments where recording_uuid = recordings.uuid) as segments`;
}

/** Of a database that is ours alone: what no folder is there for is nowhere. Resolves with how many. */
export async function forgetOthers(sql: Queries, uuids: readonly string[]): Promise<number> {
  const { count } = await sql`
    delete from recordings
    where uuid not in (select value::uuid from jsonb_array_elements_text(${sql.json(uuids)}))`;
  return count;
}

export async function forgetSegments(sql: Queries, recording: string, indices: readonly number[]): Promise<void> {
  if (indices.length === 0) return;
  await sql`delete from recording_segments where recording_uuid = ${recording} and index in ${sql(indices)}`;
}

/** Ended before; its own, and those of machines that are not there any more. */
export async function removeOldRecordings(sql: Sql, nodeUuid: string, before: Date): Promise<readonly string[]> {
  const rows = await sql<{ uuid: string }[]>`
    delete from recordings
    where stopped_at < ${before} and (node_uuid = ${nodeUuid} or node_uuid not in (select uuid from nodes))
    returning uuid`;
  return rows.map(({ uuid }) => uuid);
}

/** Files that ended before, of recordings that went on: all but the last one. */
export async function removeOldSegments(sql: Sql, nodeUuid: string, before: Date): Promise<readonly RemovedSegment[]> {
  return sql<RemovedSegment[]>`
    delete from recording_segments as segments using recordings
    where recordings.uuid = segments.recording_uuid and recordings.node_uuid = ${nodeUuid}
      and segments.started_at + make_interval(secs => segments.duration_ms / 1000.0) < ${before}
      and exists (
        select from recording_segments as later
        where later.recording_uuid = segments.recording_uuid and later.index > segments.index)
    returning segments.recording_uuid, segments.index`;
}

export interface OldestSegment extends RemovedSegment {
  readonly endedAt: Date;
  readonly sizeBytes: number;
}

/** On this machine, by user. */
export async function readRecordedBytes(sql: Sql, nodeUuid: string): Promise<ReadonlyMap<string, number>> {
  const rows = await sql<{ userUuid: string; bytes: string }[]>`
    select user_uuid, sum(segments.size_bytes) as bytes
    from recording_segments as segments join recordings on recordings.uuid = segments.recording_uuid
    where recordings.node_uuid = ${nodeUuid} group by user_uuid`;
  return new Map(rows.map(({ userUuid, bytes }) => [userUuid, Number(bytes)]));
}

/** Of one user; null when there is none, but for those that are being written. */
export async function findOldestSegment(sql: Sql, nodeUuid: string, userUuid: string): Promise<OldestSegment | null> {
  const [row] = await sql<OldestSegment[]>`
    select segments.recording_uuid, segments.index, segments.size_bytes,
      segments.started_at + make_interval(secs => segments.duration_ms / 1000.0) as ended_at
    from recording_segments as segments join recordings on recordings.uuid = segments.recording_uuid
    where recordings.node_uuid = ${nodeUuid} and recordings.user_uuid = ${userUuid}
      and (recordings.stopped_at is not null or exists (
        select from recording_segments as later
        where later.recording_uuid = segments.recording_uuid and later.index > segments.index))
    order by ended_at, segments.index limit 1`;
  return row === undefined ? null : { ...row, sizeBytes: Number(row.sizeBytes) };
}

/** With its recording, when that has ended and this was the last of it. */
export async function removeSegment(sql: Sql, { recordingUuid, index }: RemovedSegment): Promise<void> {
  await forgetSegments(sql, recordingUuid, [index]);
  await sql`
    delete from recordings where uuid = ${recordingUuid} and stopped_at is not null
      and not exists (select from recording_segments where recording_uuid = recordings.uuid)`;
}
