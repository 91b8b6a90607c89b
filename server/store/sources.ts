/** Sources of a user, and the storage of uploads. Limits are checked under the user's lock. */
import type { SOURCE_STATUSES, STREAM_TYPES } from "../../schemas/api/sources.ts";
import type { JsonRecord } from "../../schemas/json.ts";
import { invalidInput, ServiceError } from "../service-error.ts";
import { type Fragment, firstOf, type Queries, type Sql, type TransactionSql, writtenRow } from "./client.ts";
import { insertEvent, NEAR_SHARE } from "./events.ts";
import { isOutputPath, pathInUse } from "./hub-paths.ts";
import { byCreationOrAlias, fetchPage, filterBy, isoTime, type Page, type PageRequest } from "./page.ts";
import { lockUser } from "./users.ts";

/** How telemetry of a source is received. */
export interface TelemetrySetting {
  /** `file`: recorded telemetry, which is not part of the settings of a source. */
  readonly type: "mqtt" | "websocket" | "static" | "udp" | "embedded" | "file";
  /** Of `file`: that of its file. */
  readonly format: string;
  readonly parameters: JsonRecord;
}

export interface SourceRow {
  readonly uuid: string;
  readonly alias: string;
  readonly type: "file" | "stream";
  readonly streamType: (typeof STREAM_TYPES)[number] | null;
  /** With credentials. Of files: the name at upload. */
  readonly inputUrl: string;
  readonly telemetryCfg: TelemetrySetting | null;
  /** Of streams published to the media hub: `<username>/<path>`. */
  readonly hubPath: string | null;
  /** Of files: the name in the folder of videos. */
  readonly fileName: string | null;
  readonly fileBytes: number | null;
  readonly durationMs: number | null;
  /** When a video was recorded, as its container states. */
  readonly recordedAt: Date | null;
  /** PTS of the first frame of a video. */
  readonly startMs: number;
  /** A file that is played as a live source: it starts again at its end. */
  readonly loop: boolean;
  readonly createdAt: string;
  /** What the file contains; null: not known. */
  readonly video: SourceVideo | null;
  /** A process that has not ended uses it. */
  readonly isUsed: boolean;
  /** A process that has not ended uses it, and does not wait for it. */
  readonly isProcessing: boolean;
}

export interface SourceVideo {
  readonly codec: string;
  readonly width: number;
  readonly height: number;
  readonly fps: number | null;
}

/** Equal for identical sources of the user: 32 bytes. */
type Identity = Buffer;

interface NewSource extends Omit<SourceRow, "createdAt" | "isUsed" | "isProcessing"> {
  readonly identity: Identity;
}

export interface Registered {
  readonly source: SourceRow;
  /** False: an identical source exists. */
  readonly isNew: boolean;
}

const isUsed = (sql: Queries) => sql`
  exists (
    select from processes where source_uuid = sources.uuid and state not in ('finished', 'failed')
  )`;

/** Not while they all wait for it. */
const isProcessing = (sql: Queries) => sql`
  exists (
    select from processes
    where source_uuid = sources.uuid and state not in ('finished', 'failed') and state <> 'waiting'
  )`;

const columns = (sql: Queries) => sql`
  uuid, alias, type, stream_type, input_url, telemetry_cfg, hub_path, file_name, file_bytes, duration_ms, recorded_at, start_ms, loop,
  video, ${isoTime(sql, "created_at")} as created_at, ${isUsed(sql)} as is_used, ${isProcessing(sql)} as is_processing`;

export interface SourcesRequest extends PageRequest {
  readonly type?: string | undefined;
  readonly streamType?: string | undefined;
  readonly alias?: string | undefined;
  readonly status?: (typeof SOURCE_STATUSES)[number] | undefined;
  /** Paths of the user's live streams, for `status`. */
  readonly livePaths: readonly string[];
}

export const listSources = (sql: Sql, userUuid: string, request: SourcesRequest): Promise<Page<SourceRow>> =>
  fetchPage(sql, request, byCreationOrAlias<SourceRow>("sources"), (end) => {
    const { type, streamType, alias, status, livePaths } = request;
    const filters = { "sources.type": type, "sources.stream_type": streamType, "sources.alias": alias };
    return sql<SourceRow[]>`
      select ${columns(sql)} from sources where user_uuid = ${userUuid} ${filterBy(sql, filters)}
        ${status === undefined ? sql`` : hasStatus(sql, status, livePaths)} ${end}`;
  });

function hasStatus(sql: Queries, status: (typeof SOURCE_STATUSES)[number], livePaths: readonly string[]): Fragment {
  const isLive = sql`hub_path in (select jsonb_array_elements_text(${sql.json([...livePaths])}))`;
  if (status === "unknown") return sql`and hub_path is null and not ${isProcessing(sql)}`;
  if (status === "processing") return sql`and (hub_path is null or ${isLive}) and ${isProcessing(sql)}`;
  if (status === "streaming") return sql`and ${isLive} and not ${isProcessing(sql)}`;
  return sql`and hub_path is not null and not ${isLive}`;
}

/** Rejects with `source_not_found`, also for sources of other users. */
export async function findSource(sql: Queries, userUuid: string, uuid: string): Promise<SourceRow> {
  const [row] = await sql<SourceRow[]>`
    select ${columns(sql)} from sources where user_uuid = ${userUuid} and uuid = ${uuid}`;
  if (row === undefined) throw notFound(uuid);
  return row;
}

/** By alias or UUID, newest first; up to two, to find out whether an alias is unique. */
export const findNamedSources = (sql: Queries, userUuid: string, name: string): Promise<readonly SourceRow[]> =>
  sql<SourceRow[]>`
    select ${columns(sql)} from sources
    where user_uuid = ${userUuid} and (uuid::text = ${name.toLowerCase()} or alias = ${name})
    order by created_at desc limit 2`;

export const findIdentical = (sql: Queries, userUuid: string, identity: Identity): Promise<SourceRow | null> =>
  firstOf(sql<SourceRow[]>`
    select ${columns(sql)} from sources where user_uuid = ${userUuid} and identity = ${sealIdentity(sql, identity)}`);

/** Returns an identical source if there is one. Rejects with `sources_limit_reached`. */
export async function registerSource(
  sql: TransactionSql,
  userUuid: string,
  source: NewSource,
  most: number,
): Promise<Registered> {
  await lockUser(sql, userUuid);
  const identical = await findIdentical(sql, userUuid, source.identity);
  if (identical !== null) return { source: identical, isNew: false };
  const [{ count = 0 } = {}] = await sql<{ count: number }[]>`
    select count(*) from sources where user_uuid = ${userUuid}`;
  if (count >= most) {
    throw new ServiceError("sources_limit_reached", {
      detail: `source limit reached for this key (${most}); delete one first (DELETE /source/{source_id})`,
    });
  }
  const { uuid, alias, type, streamType, inputUrl, telemetryCfg, hubPath, identity } = source;
  const { fileName, fileBytes, durationMs, recordedAt, startMs, loop, video } = source;
  await expectPort(sql, userUuid, portOf(telemetryCfg));
  if (hubPath !== null && (await isOutputPath(sql, userUuid, hubPath))) throw pathInUse(hubPath, "an rtsp output");
  const row = await writtenRow(sql<SourceRow[]>`
    insert into sources
      (uuid, user_uuid, alias, type, stream_type, input_url, telemetry_cfg, hub_path, identity, file_name, file_bytes, duration_ms,
       recorded_at, start_ms, telemetry_port, loop, video, created_at)
    values
      (${uuid}, ${userUuid}, ${alias}, ${type}, ${streamType}, ${sql.typed.sealed(inputUrl)},
       ${sql.typed.sealed(telemetryCfg)}, ${hubPath}, ${sealIdentity(sql, identity)}, ${fileName}, ${fileBytes}, ${durationMs},
       ${recordedAt}, ${startMs}, ${portOf(telemetryCfg)}, ${loop},
       ${video === null ? null : sql.json({ ...video })}, clock_timestamp())
    returning ${columns(sql)}`);
  return { source: row, isNew: true };
}

/** Rejects with `source_exists` if it would become identical to another. `change` gets the current source. */
export function updateSource(
  sql: Sql,
  userUuid: string,
  uuid: string,
  change: (source: SourceRow) => { alias: string; telemetryCfg: TelemetrySetting | null; identity: Identity | null },
): Promise<SourceRow> {
  return sql.begin(async (transaction) => {
    await lockUser(transaction, userUuid);
    const before = await findSource(transaction, userUuid, uuid);
    const { alias, telemetryCfg, identity } = change(before);
    const twin = identity === null ? null : await findIdentical(transaction, userUuid, identity);
    if (twin !== null && twin.uuid !== uuid) {
      throw new ServiceError("source_exists", {
        detail: `with this telemetry it would be the same as the source ${twin.uuid}; use that one`,
      });
    }
    await expectPort(transaction, userUuid, portOf(telemetryCfg));
    const [row] = await transaction<SourceRow[]>`
      update sources set
        alias = ${alias},
        telemetry_port = ${portOf(telemetryCfg)},
        telemetry_cfg = ${transaction.typed.sealed(telemetryCfg)},
        identity = coalesce(${identity === null ? null : sealIdentity(transaction, identity)}, identity)
      where uuid = ${uuid} returning ${columns(transaction)}`;
    return row ?? before;
  });
}

/** The UDP port that telemetry is sent to; null: none. */
export const portOf = (setting: TelemetrySetting | null): number | null =>
  setting?.type === "udp" ? Number(setting.parameters.port) : null;

/** Any number, the same for all nodes. */
const PORT_LOCK = 7_027_001;
/** Of one key: others need some, too. */
const MAX_PORTS = 4;

/** A port belongs to one user: another one who could listen there would read the telemetry of that user's drones. */
async function expectPort(sql: TransactionSql, userUuid: string, port: number | null): Promise<void> {
  if (port === null) return;
  await sql`select pg_advisory_xact_lock(${PORT_LOCK})`;
  const rows = await sql<{ userUuid: string; port: number }[]>`
    select distinct user_uuid, telemetry_port as port from sources
    where telemetry_port is not null and (telemetry_port = ${port} or user_uuid = ${userUuid})`;
  const path = "/telemetry_cfg/parameters/port";
  if (rows.some((row) => row.port === port && row.userUuid !== userUuid))
    throw invalidInput([{ path, message: `is ${port}, which another key uses; choose another one` }]);
  const own = new Set(rows.filter((row) => row.userUuid === userUuid).map((row) => row.port));
  if (own.size >= MAX_PORTS && !own.has(port))
    throw invalidInput([
      { path, message: `is the port number ${MAX_PORTS + 1} of this key; expected up to ${MAX_PORTS}` },
    ]);
}

/** Resolves with the deleted source. Rejects with `source_in_use` while a process uses it. */
export function deleteSource(
  sql: Sql,
  userUuid: string,
  uuid: string,
  beforeCommit: (source: SourceRow) => Promise<void>,
): Promise<SourceRow> {
  return sql.begin(async (transaction) => {
    // Processes are started under the same lock: none starts between check and deletion.
    await lockUser(transaction, userUuid);
    const source = await findSource(transaction, userUuid, uuid);
    if (source.isUsed) {
      throw new ServiceError("source_in_use", {
        detail: "a process uses this source; stop it first (DELETE /process/{process_uuid})",
      });
    }
    await transaction`delete from sources where uuid = ${uuid}`;
    await beforeCommit(source);
    return source;
  });
}

const sealIdentity = (sql: Queries, identity: Identity) => sql.typed.sealed(identity.toString("hex"));

const notFound = (uuid: string): ServiceError =>
  new ServiceError("source_not_found", { detail: `there is no source ${uuid}; GET /sources lists yours` });

/** Storage reserved for an upload in progress. Reservations of a machine are removed with it. */
interface RoomRequest {
  /** Of the upload. */
  readonly uuid: string;
  readonly userUuid: string;
  readonly nodeUuid: string;
  /** Required and desired total. */
  readonly atLeast: number;
  readonly atMost: number;
  /** Storage limit of the user. */
  readonly limit: number;
}

/** The granted total; null if it would be less than required. */
export async function reserveRoom(sql: Sql, request: RoomRequest): Promise<number | null> {
  const { uuid, userUuid, nodeUuid, atLeast, atMost, limit } = request;
  return sql.begin(async (transaction) => {
    await lockUser(transaction, userUuid);
    const [{ used = 0 } = {}] = await transaction<{ used: number }[]>`
      select
        (select coalesce(sum(file_bytes), 0) from sources where user_uuid = ${userUuid})::bigint
        + (select coalesce(sum(bytes), 0) from upload_reservations
           where user_uuid = ${userUuid} and uuid <> ${uuid})::bigint as used`;
    const granted = Math.min(atMost, limit - used);
    if (granted < atLeast) return null;
    await transaction`
      insert into upload_reservations (uuid, user_uuid, node_uuid, bytes)
      values (${uuid}, ${userUuid}, ${nodeUuid}, ${granted})
      on conflict (uuid) do update set bytes = excluded.bytes`;
    return granted;
  });
}

export async function releaseRoom(sql: Queries, uuids: readonly string[]): Promise<void> {
  await sql`delete from upload_reservations where uuid in ${sql(uuids)}`;
}

/** The largest video of the user within these bounds, or null: an upload that may be identical to it needs no storage. */
export async function findLargestVideo(
  sql: Sql,
  userUuid: string,
  leastBytes: number,
  mostBytes: number,
): Promise<number | null> {
  const [row] = await sql<{ largest: number | null }[]>`
    select max(file_bytes) as largest from sources
    where user_uuid = ${userUuid} and file_bytes between ${leastBytes} and ${Math.min(mostBytes, Number.MAX_SAFE_INTEGER)}`;
  return row?.largest ?? null;
}

/** Those of these file names that belong to a source. `isOnlyHere`: and are not in the bucket. */
export async function findKeptFiles(
  sql: Sql,
  names: readonly string[],
  isOnlyHere = false,
): Promise<ReadonlySet<string>> {
  if (names.length === 0) return new Set();
  const rows = await sql<{ fileName: string }[]>`
    select file_name from sources where file_name in ${sql(names)}
    ${isOnlyHere ? sql`and not exists (select from files where kind = 'video' and owner_uuid = sources.uuid and stored_at is not null)` : sql``}`;
  return new Set(rows.map(({ fileName }) => fileName));
}

/** Those of these sources that are files, and not looped. */
export async function findPlayedOnce(sql: Queries, uuids: readonly string[]): Promise<ReadonlySet<string>> {
  if (uuids.length === 0) return new Set();
  const rows = await sql<{ uuid: string }[]>`
    select uuid from sources where uuid in ${sql([...new Set(uuids)])} and type = 'file' and not loop`;
  return new Set(rows.map(({ uuid }) => uuid));
}

/** An event, if the last upload has nearly used up the storage of the user. */
export async function noteStorage(sql: Queries, userUuid: string, limit: number, addedBytes: number): Promise<void> {
  const [{ used = 0 } = {}] = await sql<{ used: number }[]>`
    select coalesce(sum(file_bytes), 0)::bigint as used from sources where user_uuid = ${userUuid}`;
  const near = limit * NEAR_SHARE;
  if (used >= near && used - addedBytes < near)
    await insertEvent(sql, { userUuid, type: "quota-near", data: { quota: "storage", used, limit } });
}
