/** Files in a bucket that all nodes share. Nothing is in this table while files are in the data folder. */
import { type Fragment, firstOf, type Queries, type Sql } from "./client.ts";

/** Files of processes, by kind: `<folder>/<process>/<index><extension>` in the data folder. */
export const PROCESS_FILES = {
  "process-recording": { folder: "process-recordings", extension: ".mp4" },
  detections: { folder: "detections", extension: ".ndjson.gz" },
} as const;
export type ProcessFileKind = keyof typeof PROCESS_FILES;
const PROCESS_KINDS = Object.keys(PROCESS_FILES) as ProcessFileKind[];

export type FileKind = "video" | "recording" | "evidence" | "clip" | ProcessFileKind;

export interface FileRow {
  /** In the bucket. */
  readonly key: string;
  readonly kind: FileKind;
  /** Of the source, the recording or the process; and which of its files. */
  readonly ownerUuid: string;
  readonly index: number;
  readonly userUuid: string;
  /** Which node has it while it is not stored. */
  readonly nodeUuid: string;
  readonly sizeBytes: number;
  readonly sha256: Buffer | null;
  /** When its content last changed. */
  readonly writtenAt: Date;
  /** Null: it is not in the bucket yet. */
  readonly storedAt: Date | null;
  /** Times of what is in it. Null: not known. */
  readonly firstAt: Date | null;
  readonly lastAt: Date | null;
}

const columns = (sql: Queries): Fragment =>
  sql`key, kind, owner_uuid, index, user_uuid, node_uuid, size_bytes, sha256, written_at, stored_at, first_at,
    last_at`;

export type NewFile = Pick<FileRow, "key" | "kind" | "ownerUuid" | "index" | "userUuid" | "nodeUuid">;

/** Before it is put: whatever happens then, its object is found and removed. */
export async function expectFile(sql: Queries, file: NewFile): Promise<void> {
  const { key, kind, ownerUuid, index, userUuid, nodeUuid } = file;
  await sql`
    insert into files (key, kind, owner_uuid, index, user_uuid, node_uuid)
    values (${key}, ${kind}, ${ownerUuid}, ${index}, ${userUuid}, ${nodeUuid})
    on conflict (key) do update set node_uuid = excluded.node_uuid where files.stored_at is null`;
}

/** Its content is in the bucket. False: it was removed meanwhile. */
export async function confirmFile(
  sql: Queries,
  {
    key,
    sizeBytes,
    sha256,
    writtenAt = null,
  }: Pick<FileRow, "key" | "sizeBytes" | "sha256"> & { writtenAt?: Date | null },
): Promise<boolean> {
  const [{ count = 0 } = {}] = await sql<{ count: number }[]>`
    with confirmed as (
      update files set stored_at = now(), size_bytes = ${sizeBytes}, sha256 = ${sha256},
        written_at = coalesce(${writtenAt}::timestamptz, written_at)
      where key = ${key} and removed_at is null
      returning kind, owner_uuid, index),
    marked as (
      update recording_segments as segments set stored_at = now() from confirmed
      where confirmed.kind = 'recording' and segments.recording_uuid = confirmed.owner_uuid
        and segments.index = confirmed.index)
    select count(*) from confirmed`;
  return count > 0;
}

export const findStoredFile = (
  sql: Queries,
  kind: FileKind,
  ownerUuid: string,
  index: number,
): Promise<FileRow | null> =>
  firstOf(sql<FileRow[]>`
    select ${columns(sql)} from files
    where kind = ${kind} and owner_uuid = ${ownerUuid} and index = ${index} and stored_at is not null
      and removed_at is null`);

/** Any node removes their objects. */
export async function removeFiles(sql: Queries, keys: readonly string[]): Promise<void> {
  if (keys.length === 0) return;
  await sql`update files set removed_at = now() where key in ${sql([...keys])} and removed_at is null`;
}

/** A video whose source was not registered. Whether it was may be unknown to the caller: its commit may have succeeded. */
export async function removeUnregistered(sql: Queries, key: string): Promise<void> {
  await sql`
    update files set removed_at = now()
    where key = ${key} and removed_at is null and not exists (select from sources where uuid = owner_uuid)`;
}

/** Oldest first. */
export async function listRemoved(sql: Queries, limit: number): Promise<readonly string[]> {
  const rows = await sql<{ key: string }[]>`
    select key from files where removed_at is not null order by removed_at limit ${limit}`;
  return rows.map(({ key }) => key);
}

/** Their objects are removed. */
export async function forgetFiles(sql: Queries, keys: readonly string[]): Promise<void> {
  if (keys.length === 0) return;
  await sql`delete from files where key in ${sql([...keys])} and removed_at is not null`;
}

/** Uploads of nodes that no longer exist: they were never registered. */
export async function removeAbandoned(sql: Queries): Promise<void> {
  await sql`
    update files set removed_at = now()
    where kind = 'video' and stored_at is null and removed_at is null and node_uuid not in (select uuid from nodes)
      and not exists (select from sources where uuid = owner_uuid)`;
}

interface NewProcessFile {
  readonly kind: ProcessFileKind;
  readonly processUuid: string;
  readonly nodeUuid: string;
  readonly leastIndex: number;
}

/** The row of the next file of a process that this node runs; null: it does not any longer. The key has its fence. */
export async function addProcessFile(
  sql: Sql,
  { kind, processUuid, nodeUuid, leastIndex }: NewProcessFile,
): Promise<FileRow | null> {
  const { folder, extension } = PROCESS_FILES[kind];
  return firstOf(sql<FileRow[]>`
    insert into files (key, kind, owner_uuid, index, user_uuid, node_uuid)
    select ${folder}::text || '/' || uuid || '/' || fence || '-' || next || ${extension}::text, ${kind}::text, uuid, next,
      user_uuid, ${nodeUuid}
    from processes, lateral (
      select greatest(${leastIndex}::integer, coalesce(max(index) + 1, 0)) as next from files
      where kind = ${kind} and owner_uuid = processes.uuid) as numbered
    where uuid = ${processUuid} and processes.node_uuid = ${nodeUuid}
    returning ${columns(sql)}`);
}

/** Of these processes, by index: those in the bucket, and those that this node has. */
export async function listProcessFiles(
  sql: Queries,
  kind: ProcessFileKind,
  processUuids: readonly string[],
  nodeUuid: string,
): Promise<readonly FileRow[]> {
  if (processUuids.length === 0) return [];
  return sql<FileRow[]>`
    select ${columns(sql)} from files
    where kind = ${kind} and owner_uuid in ${sql([...processUuids])} and removed_at is null
      and (stored_at is not null or node_uuid = ${nodeUuid})
    order by owner_uuid, index`;
}

/** The times of what is in it, by capture time. Null: unknown. */
export async function saveFileTimes(sql: Queries, key: string, firstAt: Date, lastAt: Date): Promise<void> {
  await sql`update files set first_at = ${firstAt}, last_at = ${lastAt} where key = ${key}`;
}

/** Of these files, those that have nothing in this range. */
export async function findOutside(
  sql: Queries,
  keys: readonly string[],
  { from, to }: { readonly from: Date | null; readonly to: Date | null },
): Promise<ReadonlySet<string>> {
  if (keys.length === 0 || (from === null && to === null)) return new Set();
  const rows = await sql<{ key: string }[]>`
    select key from files
    where key in (select jsonb_array_elements_text(${sql.json([...keys])}))
      and (last_at < ${from}::timestamptz or first_at >= ${to}::timestamptz)`;
  return new Set(rows.map(({ key }) => key));
}

/** Another node that has files of a process that are not in the bucket yet. */
export async function findHolder(
  sql: Queries,
  kind: ProcessFileKind,
  processUuid: string,
  nodeUuid: string,
): Promise<string | null> {
  const row = await firstOf(sql<{ nodeUuid: string }[]>`
    select node_uuid from files join nodes on nodes.uuid = files.node_uuid
    where kind = ${kind} and owner_uuid = ${processUuid} and stored_at is null and removed_at is null
      and node_uuid <> ${nodeUuid} and nodes.lease_until > now()
    order by index desc limit 1`);
  return row?.nodeUuid ?? null;
}

/** Files of processes that this node has, and that are not in the bucket yet. */
export const listUnstoredProcessFiles = (sql: Queries, nodeUuid: string): Promise<readonly FileRow[]> => sql<FileRow[]>`
  select ${columns(sql)} from files
  where kind in ${sql(PROCESS_KINDS)} and node_uuid = ${nodeUuid} and stored_at is null and removed_at is null
  order by owner_uuid, kind, index`;

/** Assigns what this node has of processes to it. `names`: `<process>/<index>`. */
export async function claimProcessFiles(
  sql: Queries,
  kind: ProcessFileKind,
  nodeUuid: string,
  names: readonly string[],
): Promise<void> {
  if (names.length === 0) return;
  await sql`
    update files set node_uuid = ${nodeUuid}
    where kind = ${kind} and stored_at is null and removed_at is null
      and owner_uuid || '/' || index in (select jsonb_array_elements_text(${sql.json([...names])}))`;
}

export async function removeOldProcessFiles(sql: Queries, before: Date): Promise<number> {
  const { count } = await sql`
    update files set removed_at = now()
    where kind in ${sql(PROCESS_KINDS)} and written_at < ${before} and removed_at is null`;
  return count;
}

/** Any number, the same for all nodes. */
const QUOTA_LOCK = 7_017_001;
/** Per call. */
const MAX_ABOVE_QUOTA = 500;

/**
 * Removes the oldest recordings in the bucket of every user who has more than this, of streams and of processes. One node at
 * a time: two would remove more than needed.
 */
export async function removeAboveQuota(sql: Sql, bytesPerUser: number): Promise<number> {
  return sql.begin(async (transaction) => {
    const [{ isFirst = false } = {}] = await transaction<{ isFirst: boolean }[]>`
      select pg_try_advisory_xact_lock(${QUOTA_LOCK}) as is_first`;
    if (!isFirst) return 0;
    const rows = await transaction<Pick<FileRow, "key" | "kind" | "ownerUuid" | "index">[]>`
      select key, kind, owner_uuid, index from (
        select key, kind, owner_uuid, index,
          sum(size_bytes) over (partition by user_uuid order by written_at desc, key desc) as total
        from files
        where kind not in ('video', 'evidence') and stored_at is not null and removed_at is null) as summed
      where total > ${bytesPerUser} order by total desc limit ${MAX_ABOVE_QUOTA}`;
    await removeFiles(
      transaction,
      rows.map(({ key }) => key),
    );
    for (const { kind, ownerUuid, index } of rows) {
      if (kind === "clip") await transaction`delete from clips where uuid = ${ownerUuid}`;
      if (kind !== "recording") continue;
      await transaction`delete from recording_segments where recording_uuid = ${ownerUuid} and index = ${index}`;
      await transaction`
        delete from recordings where uuid = ${ownerUuid} and stopped_at is not null
          and not exists (select from recording_segments where recording_uuid = recordings.uuid)`;
    }
    return rows.length;
  });
}

export interface UnstoredSegment {
  readonly recordingUuid: string;
  readonly index: number;
  readonly userUuid: string;
  readonly sizeBytes: number;
  readonly endedAt: Date;
}

/** Finished files of this node's recordings that are not in the bucket yet, oldest first. */
export const listUnstoredSegments = (
  sql: Queries,
  nodeUuid: string,
  limit: number,
): Promise<readonly UnstoredSegment[]> =>
  sql<UnstoredSegment[]>`
    select segments.recording_uuid, segments.index, recordings.user_uuid, segments.size_bytes,
      segments.started_at + make_interval(secs => segments.duration_ms / 1000.0) as ended_at
    from recording_segments as segments join recordings on recordings.uuid = segments.recording_uuid
    where recordings.node_uuid = ${nodeUuid} and not recordings.is_ring
      and (recordings.stopped_at is not null or exists (
        select from recording_segments as later
        where later.recording_uuid = segments.recording_uuid and later.index > segments.index))
      and segments.stored_at is null
    order by ended_at limit ${limit}`;

/**
 * Ends recordings of nodes that no longer exist: what is in the bucket remains, the rest was on their disks. A node that
 * returns with its disk restores its files. Resolves with their number.
 */
export async function endLostRecordings(sql: Queries): Promise<number> {
  const rows = await sql<{ uuid: string }[]>`
    with lost as (
      select uuid from recordings where stopped_at is null and node_uuid not in (select uuid from nodes)),
    forgotten as (
      delete from recording_segments as segments using lost
      where segments.recording_uuid = lost.uuid
        and segments.stored_at is null),
    ended as (
      update recordings set detail = 'its node was lost', stopped_at = coalesce(
        (select max(started_at + make_interval(secs => duration_ms / 1000.0)) from recording_segments as segments
         where segments.recording_uuid = recordings.uuid
           and segments.stored_at is not null), started_at)
      from lost where recordings.uuid = lost.uuid)
    select uuid from lost`;
  if (rows.length === 0) return 0;
  await sql`
    delete from recordings where uuid in ${sql(rows.map(({ uuid }) => uuid))}
      and not exists (select from recording_segments where recording_uuid = recordings.uuid)`;
  return rows.length;
}

type LocalName =
  | { readonly kind: "video"; readonly fileName: string }
  | { readonly kind: "recording" | ProcessFileKind; readonly ownerUuid: string; readonly index: number };

/** What a local file belongs to, with its key in the bucket; null: to nothing, or it is in progress. */
export async function findMovable(sql: Queries, name: LocalName): Promise<NewFile | null> {
  if (name.kind === "video")
    return firstOf(sql<NewFile[]>`
      select 'videos/' || file_name as key, 'video' as kind, uuid as owner_uuid, 0 as index, user_uuid, uuid as node_uuid
      from sources where file_name = ${name.fileName}`);
  const { kind, ownerUuid, index } = name;
  if (kind === "recording")
    return firstOf(sql<NewFile[]>`
      select 'recordings/' || uuid || '/' || segments.index || '.mp4' as key, 'recording' as kind, uuid as owner_uuid,
        segments.index, user_uuid, node_uuid
      from recordings join recording_segments as segments on segments.recording_uuid = uuid
      where uuid = ${ownerUuid} and segments.index = ${index} and stopped_at is not null`);
  const { folder, extension } = PROCESS_FILES[kind];
  // Files with rows of their own are the service's: it moves them itself.
  return firstOf(sql<NewFile[]>`
    select ${folder}::text || '/' || uuid || '/0-' || ${index}::integer || ${extension}::text as key, ${kind}::text as kind,
      uuid as owner_uuid, ${index}::integer as index, user_uuid, coalesce(node_uuid, uuid) as node_uuid
    from processes
    where uuid = ${ownerUuid} and state in ('finished', 'failed') and not exists (
      select from files where kind = ${kind} and owner_uuid = ${ownerUuid} and files.index = ${index}
        and key not like '%/0-%' and removed_at is null)`);
}
