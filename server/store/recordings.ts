/** Recordings of published streams, and their files, which are on the disk of one machine, or in a bucket (`files.ts`). */
import { ServiceError } from "../service-error.ts";
import { firstOf, type Queries, type Sql } from "./client.ts";
import { fetchPage, filterBy, isoTime, type Page, type PageOrder, type PageRequest, textKey, timeKey } from "./page.ts";
import { hasValidKey } from "./users.ts";

export interface SegmentRow {
  readonly index: number;
  readonly startedAtMs: number;
  readonly durationMs: number;
  /** As far as it is synced to disk. */
  readonly sizeBytes: number;
}

export interface RecordingRow {
  readonly uuid: string;
  readonly sourceUuid: string;
  readonly alias: string;
  /** When it started. */
  readonly createdAt: string;
  /** Null: in progress. */
  readonly stoppedAt: string | null;
  /** Why it ended before its stream. */
  readonly detail: string | null;
  /** By their index. */
  readonly segments: readonly SegmentRow[];
}

const segmentsOf = (sql: Queries) => sql`
  (select coalesce(jsonb_agg(jsonb_build_object(
      'index', index, 'startedAtMs', round(extract(epoch from recording_segments.started_at) * 1000),
      'durationMs', duration_ms, 'sizeBytes', size_bytes) order by index), '[]')
   from recording_segments where recording_uuid = recordings.uuid)`;

export interface RecordingsRequest extends PageRequest {
  readonly sourceUuid?: string | undefined;
  readonly alias?: string | undefined;
  /** Those that had not ended by then. */
  readonly since?: Date | undefined;
  /** Those that started before. */
  readonly until?: Date | undefined;
}

const ORDER: PageOrder<RecordingRow> = {
  ...{ uuid: "recordings.uuid", uuidOf: ({ uuid }) => uuid },
  keys: {
    started_at: timeKey("recordings.started_at", ({ createdAt }) => createdAt),
    alias: textKey("recordings.alias", ({ alias }) => alias),
  },
};

export async function listRecordings(
  sql: Sql,
  userUuid: string,
  request: RecordingsRequest,
): Promise<Page<RecordingRow>> {
  const { sourceUuid, alias, since, until } = request;
  return fetchPage(sql, request, ORDER, (end) => {
    return sql<RecordingRow[]>`
      select uuid, source_uuid, alias, detail, ${isoTime(sql, "started_at")} as created_at,
        ${isoTime(sql, "stopped_at")} as stopped_at, ${segmentsOf(sql)} as segments
      from recordings where user_uuid = ${userUuid} and not is_ring
      ${filterBy(sql, { source_uuid: sourceUuid, alias, "recordings.started_at": { to: until } })}
      ${since === undefined ? sql`` : sql`and coalesce(recordings.stopped_at >= ${since}, true)`} ${end}`;
  });
}

export interface FoundSegment {
  /** Of the recording. */
  readonly uuid: string;
  readonly index: number;
  readonly userUuid: string;
  readonly alias: string;
  readonly nodeUuid: string;
  readonly startedAt: Date;
  readonly sizeBytes: number;
  /** Its key in the bucket; null: it is on the disk of its node. */
  readonly storedKey: string | null;
}

const foundSegments = (sql: Queries) => sql`
  select recordings.uuid, segments.index, recordings.user_uuid, alias, recordings.node_uuid, segments.started_at,
    segments.size_bytes,
    (select key from files
     where kind = 'recording' and owner_uuid = recordings.uuid and files.index = segments.index
       and stored_at is not null and removed_at is null) as stored_key
  from recordings join recording_segments as segments on segments.recording_uuid = recordings.uuid
    join users on users.uuid = recordings.user_uuid`;

/** Null if it does not exist, or the key of its owner is not valid. */
export const findSegment = (sql: Queries, recording: string, index: number): Promise<FoundSegment | null> =>
  firstOf(sql<FoundSegment[]>`
    ${foundSegments(sql)} where recordings.uuid = ${recording} and segments.index = ${index} and ${hasValidKey(sql)}`);

/** The parts of a recording of this user, by their index; null: there is none. All but the last of one in progress are complete. */
export async function findRecordedParts(
  sql: Queries,
  userUuid: string,
  uuid: string,
): Promise<readonly { readonly index: number; readonly isComplete: boolean }[] | null> {
  const row = await firstOf(sql<{ stoppedAt: Date | null; indices: readonly number[] }[]>`
    select stopped_at, (
      select coalesce(jsonb_agg(index order by index), '[]') from recording_segments
      where recording_uuid = recordings.uuid) as indices
    from recordings where uuid = ${uuid} and user_uuid = ${userUuid} and not is_ring`);
  if (row === null) return null;
  const last = row.stoppedAt === null ? row.indices.at(-1) : undefined;
  return row.indices.map((index) => ({ index, isComplete: index !== last }));
}

interface SegmentRange {
  readonly userUuid: string;
  readonly sourceUuid: string;
  readonly from: Date;
  readonly to: Date;
}

/** Of one request. */
const MAX_SEGMENTS = 5_000;

/** The files of a source that may have frames between these times, oldest first. The newest may be longer than is stored. */
export const findSegments = (sql: Queries, range: SegmentRange): Promise<readonly FoundSegment[]> => sql<
  FoundSegment[]
>`
  ${foundSegments(sql)}
    -- Once for each recording, and not for each of its files.
    left join lateral (
      select max(later.index) as index from recording_segments as later
      where later.recording_uuid = recordings.uuid) as newest on recordings.stopped_at is null
  where recordings.user_uuid = ${range.userUuid} and recordings.source_uuid = ${range.sourceUuid}
    and segments.started_at < ${range.to}
    and (segments.index = newest.index
      or segments.started_at + make_interval(secs => segments.duration_ms / 1000.0 + 2) > ${range.from})
  order by segments.started_at, recordings.started_at limit ${MAX_SEGMENTS}`;

/** `segments`: those that are new or have changed. */
interface RecordingUpdate extends Omit<KeptRecording, "stoppedAt" | "detail"> {
  readonly end: { readonly stoppedAt: Date; readonly detail: string | null } | null;
}

/** Idempotent. In one statement, as every node does this all the time. Those that end without files are removed. */
export async function saveRecordings(sql: Sql, nodeUuid: string, updates: readonly RecordingUpdate[]): Promise<void> {
  if (updates.length === 0) return;
  const ended = updates.filter(({ end }) => end !== null).map(({ uuid }) => uuid);
  if (ended.length === 0) return writeRecordings(sql, nodeUuid, updates);
  await sql.begin(async (transaction) => {
    await writeRecordings(transaction, nodeUuid, updates);
    for (const uuid of ended) await removeIfEmpty(transaction, uuid);
  });
}

async function writeRecordings(sql: Queries, nodeUuid: string, updates: readonly RecordingUpdate[]): Promise<void> {
  const recordings = updates.map(({ uuid, userUuid, sourceUuid, alias, startedAt, end, isRing }) => ({
    ...{ uuid, userUuid, sourceUuid, alias, startedAt: startedAt.toISOString(), isRing },
    ...{ stoppedAt: end?.stoppedAt.toISOString() ?? null, detail: end?.detail ?? null },
  }));
  const segments = updates.flatMap(({ uuid, segments }) =>
    segments.map(({ index, startedAtMs, durationMs, sizeBytes }) => ({
      ...{ uuid, index, startedAt: new Date(startedAtMs).toISOString() },
      ...{ durationMs: Math.round(durationMs), sizeBytes },
    })),
  );
  await sql`
    with saved as (
      insert into recordings (uuid, user_uuid, source_uuid, alias, node_uuid, started_at, stopped_at, detail, is_ring)
      select uuid, "userUuid", "sourceUuid", alias, ${nodeUuid}::uuid, "startedAt", "stoppedAt", detail, "isRing"
      from jsonb_to_recordset(${sql.json(recordings)}) as recordings (
        uuid uuid, "userUuid" uuid, "sourceUuid" uuid, alias text, "startedAt" timestamptz, "stoppedAt" timestamptz,
        detail text, "isRing" boolean)
      on conflict (uuid) do update set stopped_at = excluded.stopped_at, detail = excluded.detail
      where excluded.stopped_at is not null)
    insert into recording_segments (recording_uuid, index, started_at, duration_ms, size_bytes)
    select uuid, index, "startedAt", "durationMs", "sizeBytes"
    from jsonb_to_recordset(${sql.json(segments)}) as segments (
      uuid uuid, index integer, "startedAt" timestamptz, "durationMs" bigint, "sizeBytes" bigint)
    on conflict (recording_uuid, index) do update
    set duration_ms = excluded.duration_ms, size_bytes = excluded.size_bytes`;
}

/** Updates a repaired file of a recording that has ended. */
export async function reviseSegment(sql: Queries, recording: string, segment: SegmentRow): Promise<void> {
  const { index, durationMs, sizeBytes } = segment;
  await sql`
    update recording_segments set duration_ms = ${Math.round(durationMs)}, size_bytes = ${sizeBytes}
    where recording_uuid = ${recording} and index = ${index}`;
}

/** Removes it if it has no files. */
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

/**
 * `removeFiles` is called first: the next start removes a row without files, but would restore files without a row. Rejects
 * with `recording_not_found`, with `recording_unavailable` while it is in progress, or with `elsewhere` if its files are on
 * another machine.
 */
export async function deleteRecording(
  sql: Sql,
  { userUuid, uuid, nodeUuid }: Pick<RecordingUpdate, "userUuid" | "uuid"> & { readonly nodeUuid: string },
  removeFiles: () => Promise<void>,
  elsewhere: (nodeUuid: string) => ServiceError,
): Promise<void> {
  await sql.begin(async (transaction) => {
    const [row] = await transaction<{ nodeUuid: string; stoppedAt: Date | null; isStored: boolean }[]>`
      select node_uuid, stopped_at, not exists (
        select from recording_segments as segments where segments.recording_uuid = recordings.uuid
          and segments.stored_at is null) as is_stored
      from recordings where uuid = ${uuid} and user_uuid = ${userUuid} for update`;
    if (row === undefined) throw recordingNotFound(uuid);
    if (row.stoppedAt === null)
      throw new ServiceError("recording_unavailable", {
        detail: "this recording is in progress; it can be deleted when its stream has stopped",
      });
    if (row.nodeUuid !== nodeUuid && !row.isStored) throw elsewhere(row.nodeUuid);
    await removeFiles();
    await transaction`delete from recordings where uuid = ${uuid}`;
  });
}

export const recordingNotFound = (uuid: string): ServiceError =>
  new ServiceError("recording_not_found", {
    detail: `there is no recording ${uuid} with this part; GET /sources/recordings lists yours`,
  });

/** A recording with files on the disk of this machine. */
export interface KeptRecording extends Omit<RecordingRow, "createdAt" | "stoppedAt"> {
  readonly userUuid: string;
  readonly startedAt: Date;
  readonly stoppedAt: Date | null;
  /** The last seconds of a stream that is not recorded. */
  readonly isRing: boolean;
}

export interface RemovedSegment {
  readonly recordingUuid: string;
  readonly index: number;
}

/** Assigns these recordings, whose files this machine has, to it. Resolves with those that exist. */
export async function claimRecordings(
  sql: Queries,
  nodeUuid: string,
  uuids: readonly string[],
): Promise<readonly KeptRecording[]> {
  if (uuids.length === 0) return [];
  return sql<KeptRecording[]>`
    update recordings set node_uuid = ${nodeUuid}
    where uuid in (select value::uuid from jsonb_array_elements_text(${sql.json(uuids)}))
    returning uuid, user_uuid, source_uuid, alias, started_at, stopped_at, detail, is_ring,
      ${segmentsOf(sql)} as segments`;
}

/** Deletes all others, which have no files here or in the bucket. Only for a private database. Resolves with their number. */
export async function forgetOthers(sql: Queries, uuids: readonly string[]): Promise<number> {
  const { count } = await sql`
    delete from recordings
    where uuid not in (select value::uuid from jsonb_array_elements_text(${sql.json(uuids)}))
      and not exists (
        select from files where kind = 'recording' and owner_uuid = recordings.uuid and stored_at is not null)`;
  return count;
}

async function forgetSegments(sql: Queries, recording: string, indices: readonly number[]): Promise<void> {
  if (indices.length === 0) return;
  await sql`delete from recording_segments where recording_uuid = ${recording} and index in ${sql(indices)}`;
}

/** Files that are neither on the disk of this machine nor in the bucket. Resolves with their number. */
export async function forgetMissing(sql: Queries, recording: string, indices: readonly number[]): Promise<number> {
  if (indices.length === 0) return 0;
  const { count } = await sql`
    delete from recording_segments as segments where recording_uuid = ${recording} and index in ${sql(indices)}
      and segments.stored_at is null`;
  return count;
}

/** Those of this machine that ended before, and those of machines that no longer exist. */
export async function removeOldRecordings(sql: Sql, nodeUuid: string, before: Date): Promise<readonly string[]> {
  const rows = await sql<{ uuid: string }[]>`
    delete from recordings
    where stopped_at < ${before} and (node_uuid = ${nodeUuid} or node_uuid not in (select uuid from nodes))
    returning uuid`;
  return rows.map(({ uuid }) => uuid);
}

/** Files that ended before, of recordings that continued: all but the last. */
export const removeOldSegments = (sql: Sql, nodeUuid: string, before: Date): Promise<readonly RemovedSegment[]> =>
  sql<RemovedSegment[]>`
    delete from recording_segments as segments using recordings
    where recordings.uuid = segments.recording_uuid and recordings.node_uuid = ${nodeUuid}
      and segments.started_at + make_interval(secs => segments.duration_ms / 1000.0) < ${before}
      and exists (
        select from recording_segments as later
        where later.recording_uuid = segments.recording_uuid and later.index > segments.index)
    returning segments.recording_uuid, segments.index`;

interface OldestSegment extends RemovedSegment {
  readonly endedAt: Date;
  readonly sizeBytes: number;
}

/** On the disk of this machine, by user. */
export async function readRecordedBytes(sql: Sql, nodeUuid: string): Promise<ReadonlyMap<string, number>> {
  const rows = await sql<{ userUuid: string; bytes: number }[]>`
    select user_uuid, sum(segments.size_bytes)::bigint as bytes
    from recording_segments as segments join recordings on recordings.uuid = segments.recording_uuid
    where recordings.node_uuid = ${nodeUuid}
      and segments.stored_at is null
    group by user_uuid`;
  return new Map(rows.map(({ userUuid, bytes }) => [userUuid, bytes]));
}

/** Of one user, on the disk of this machine; null if there is none but those being written. */
export const findOldestSegment = (sql: Sql, nodeUuid: string, userUuid: string): Promise<OldestSegment | null> =>
  firstOf(sql<OldestSegment[]>`
    select segments.recording_uuid, segments.index, segments.size_bytes,
      segments.started_at + make_interval(secs => segments.duration_ms / 1000.0) as ended_at
    from recording_segments as segments join recordings on recordings.uuid = segments.recording_uuid
    where recordings.node_uuid = ${nodeUuid} and recordings.user_uuid = ${userUuid}
      and segments.stored_at is null
      and (recordings.stopped_at is not null or exists (
        select from recording_segments as later
        where later.recording_uuid = segments.recording_uuid and later.index > segments.index))
    order by ended_at, segments.index limit 1`);

/** With its recording, if that has ended and has no other files. */
export async function removeSegment(sql: Sql, { recordingUuid, index }: RemovedSegment): Promise<void> {
  await forgetSegments(sql, recordingUuid, [index]);
  await removeIfEmpty(sql, recordingUuid);
}
