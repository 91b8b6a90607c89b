/** Recordings of what was published, and the files they consist of. Files are on the disk of one machine. */
import { ServiceError } from "../service-error.ts";
import type { Queries, Sql } from "./client.ts";
import { isoTime } from "./iso-time.ts";
import { cutPage, type Page, type PageRequest, readPage } from "./page.ts";

export interface SegmentRow {
  readonly index: number;
  readonly startedAtMs: number;
  readonly durationMs: number;
  /** As far as it is safe on the disk. */
  readonly sizeBytes: number;
}

export interface RecordingRow {
  readonly uuid: string;
  readonly sourceUuid: string;
  readonly alias: string;
  readonly startedAt: string;
  /** Null: it goes on. */
  readonly stoppedAt: string | null;
  /** Why it ended, if not because its stream did. */
  readonly detail: string | null;
  /** By their index. */
  readonly segments: readonly SegmentRow[];
}

export interface RecordingsRequest extends PageRequest {
  readonly sourceUuid?: string;
  /** Those that went on at some time since. */
  readonly since?: Date;
  /** Those that had begun before. */
  readonly until?: Date;
}

export async function listRecordings(
  sql: Sql,
  userUuid: string,
  request: RecordingsRequest,
): Promise<Page<RecordingRow>> {
  const { place, fetch } = readPage(request);
  const { sourceUuid, since, until } = request;
  const rows = await sql<RecordingRow[]>`
    select uuid, source_uuid, alias, detail, ${isoTime(sql, sql`started_at`)} as started_at,
      ${isoTime(sql, sql`stopped_at`)} as stopped_at,
      (select coalesce(jsonb_agg(jsonb_build_object(
          'index', index, 'startedAtMs', round(extract(epoch from recording_segments.started_at) * 1000),
          'durationMs', duration_ms, 'sizeBytes', size_bytes) order by index), '[]')
       from recording_segments where recording_uuid = recordings.uuid) as segments
    from recordings where user_uuid = ${userUuid}
    ${sourceUuid === undefined ? sql`` : sql`and source_uuid = ${sourceUuid}`}
    ${since === undefined ? sql`` : sql`and coalesce(recordings.stopped_at >= ${since}, true)`}
    ${until === undefined ? sql`` : sql`and recordings.started_at < ${until}`}
    ${place === null ? sql`` : sql`and (recordings.started_at, uuid) < (${place.createdAt}::text::timestamptz, ${place.uuid})`}
    order by recordings.started_at desc, uuid desc limit ${fetch}`;
  return cutPage(rows, request, ({ startedAt, uuid }) => ({ createdAt: startedAt, uuid }));
}

export interface FoundSegment {
  readonly userUuid: string;
  readonly alias: string;
  readonly nodeUuid: string;
  readonly startedAt: Date;
  readonly sizeBytes: number;
}

/** Null when there is none, or the key of its owner is not good any more. */
export async function findSegment(sql: Queries, recording: string, index: number): Promise<FoundSegment | null> {
  const [row] = await sql<FoundSegment[]>`
    select user_uuid, alias, node_uuid, recording_segments.started_at, size_bytes
    from recordings join recording_segments on recording_uuid = recordings.uuid
      join users on users.uuid = user_uuid
    where recordings.uuid = ${recording} and index = ${index}
      and users.revoked_at is null and coalesce(users.expires_at > now(), true)`;
  return row ?? null;
}

export interface RecordingUpdate {
  readonly uuid: string;
  readonly userUuid: string;
  readonly sourceUuid: string;
  readonly alias: string;
  readonly nodeUuid: string;
  readonly startedAt: Date;
  /** Those that are new or have grown. */
  readonly segments: readonly SegmentRow[];
  readonly end: { readonly stoppedAt: Date; readonly detail: string | null } | null;
}

/** Writing the same twice changes nothing. */
export async function saveRecording(sql: Sql, update: RecordingUpdate): Promise<void> {
  const { uuid, userUuid, sourceUuid, alias, nodeUuid, startedAt, segments, end } = update;
  await sql.begin(async (transaction) => {
    await transaction`
      insert into recordings (uuid, user_uuid, source_uuid, alias, node_uuid, started_at)
      values (${uuid}, ${userUuid}, ${sourceUuid}, ${alias}, ${nodeUuid}, ${startedAt})
      on conflict (uuid) do nothing`;
    await saveSegments(transaction, uuid, segments);
    if (end !== null) await closeRecording(transaction, uuid, end.stoppedAt, end.detail);
  });
}

export async function saveSegments(sql: Queries, recording: string, segments: readonly SegmentRow[]): Promise<void> {
  for (const { index, startedAtMs, durationMs, sizeBytes } of segments)
    await sql`
      insert into recording_segments (recording_uuid, index, started_at, duration_ms, size_bytes)
      values (${recording}, ${index}, ${new Date(startedAtMs)}, ${Math.round(durationMs)}, ${sizeBytes})
      on conflict (recording_uuid, index) do update
      set duration_ms = excluded.duration_ms, size_bytes = excluded.size_bytes`;
}

/** Of a recording that has ended: a file that was repaired since. */
export async function reviseSegment(sql: Queries, recording: string, segment: SegmentRow): Promise<void> {
  const { index, durationMs, sizeBytes } = segment;
  await sql`
    update recording_segments set duration_ms = ${Math.round(durationMs)}, size_bytes = ${sizeBytes}
    where recording_uuid = ${recording} and index = ${index}`;
}

/** One of which nothing is there is gone. */
export async function closeRecording(
  sql: Queries,
  uuid: string,
  stoppedAt: Date,
  detail: string | null,
): Promise<void> {
  await sql`update recordings set stopped_at = ${stoppedAt}, detail = ${detail} where uuid = ${uuid}`;
  await removeIfEmpty(sql, uuid);
}

const removeIfEmpty = (sql: Queries, uuid: string) => sql`
  delete from recordings where uuid = ${uuid} and stopped_at is not null
    and not exists (select from recording_segments where recording_uuid = recordings.uuid)`;

export interface Deletion {
  readonly userUuid: string;
  readonly uuid: string;
  /** The machine that is to delete it. */
  readonly nodeUuid: string;
}

/**
 * `removeFiles` goes first: a row without files is put in order by the next start, files without a row would come back.
 * Rejects with `recording_not_found`, or `recording_unavailable` while it goes on or where its files are elsewhere.
 */
export async function deleteRecording(
  sql: Sql,
  { userUuid, uuid, nodeUuid }: Deletion,
  removeFiles: () => Promise<void>,
): Promise<void> {
  await sql.begin(async (transaction) => {
    const [row] = await transaction<{ nodeUuid: string; stoppedAt: Date | null }[]>`
      select node_uuid, stopped_at from recordings where uuid = ${uuid} and user_uuid = ${userUuid} for update`;
    if (row === undefined) throw recordingNotFound(uuid);
    if (row.stoppedAt === null)
      throw new ServiceError("recording_unavailable", {
        detail: "this recording goes on; it can be deleted when its stream has stopped",
      });
    if (row.nodeUuid !== nodeUuid)
      throw new ServiceError("recording_unavailable", {
        detail: "the files of this recording are on another machine, which alone can delete them",
      });
    await removeFiles();
    await transaction`delete from recordings where uuid = ${uuid}`;
  });
}

export const recordingNotFound = (uuid: string): ServiceError =>
  new ServiceError("recording_not_found", {
    detail: `there is no such part of a recording ${uuid}; GET /sources/recordings lists yours`,
  });
