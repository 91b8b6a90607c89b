/** Sources of a user. Whatever counts or compares them holds the user's lock, so that two at once cannot both pass. */
import { ServiceError } from "../service-error.ts";
import type { TelemetrySetting } from "../sources/telemetry-cfg.ts";
import type { Queries, Sql, TransactionSql } from "./client.ts";
import { isOutputPath, pathInUse } from "./hub-paths.ts";
import { isoTime } from "./iso-time.ts";
import { lockUser } from "./lock-user.ts";
import { cutPage, type Page, type PageRequest, readPage } from "./page.ts";

export interface SourceRow {
  readonly uuid: string;
  readonly alias: string;
  readonly type: "file" | "stream";
  readonly streamType: "rtsp" | "rtmp" | null;
  /** With credentials. Of files: the name they were uploaded as. */
  readonly inputUrl: string;
  readonly telemetryCfg: TelemetrySetting | null;
  /** Of streams that are published to our own hub: `<username>/<path>` there. */
  readonly hubPath: string | null;
  /** Of files: the name in the folder of videos. */
  readonly fileName: string | null;
  readonly fileBytes: number | null;
  readonly durationMs: number | null;
  readonly createdAt: string;
  /** A process that has not ended runs on it. */
  readonly isProcessing: boolean;
}

/** What makes it the same as another of the user's: 32 bytes. */
type Identity = Buffer;

export interface NewSource extends Omit<SourceRow, "createdAt" | "isProcessing"> {
  readonly identity: Identity;
}

export interface Registered {
  readonly source: SourceRow;
  /** False: it, or one identical to it, was there. */
  readonly isNew: boolean;
}

const columns = (sql: Queries) => sql`
  uuid, alias, type, stream_type, input_url, telemetry_cfg, hub_path, file_name, file_bytes, duration_ms,
  ${isoTime(sql, sql`created_at`)} as created_at,
  exists (
    select from processes where source_uuid = sources.uuid and state not in ('finished', 'failed')
  ) as is_processing`;

export async function listSources(sql: Sql, userUuid: string, request: PageRequest): Promise<Page<SourceRow>> {
  const { place, fetch } = readPage(request);
  const rows = await sql<SourceRow[]>`
    select ${columns(sql)} from sources
    where user_uuid = ${userUuid}
    ${place === null ? sql`` : sql`and (sources.created_at, uuid) < (${place.createdAt}::text::timestamptz, ${place.uuid})`}
    order by sources.created_at desc, uuid desc limit ${fetch}`;
  return cutPage(rows, request, (row) => row);
}

/** Rejects with `source_not_found`, for those of other users too. */
export async function findSource(sql: Queries, userUuid: string, uuid: string): Promise<SourceRow> {
  const [row] = await sql<SourceRow[]>`
    select ${columns(sql)} from sources where user_uuid = ${userUuid} and uuid = ${uuid}`;
  if (row === undefined) throw notFound(uuid);
  return row;
}

export async function findIdentical(sql: Queries, userUuid: string, identity: Identity): Promise<SourceRow | null> {
  const [row] = await sql<SourceRow[]>`
    select ${columns(sql)} from sources where user_uuid = ${userUuid} and identity = ${sealIdentity(sql, identity)}`;
  return row ?? null;
}

/** The identical one if there is one; else it is written, if there are fewer than `most`. */
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
      detail: `${count} sources are registered and this key may have ${most}; delete one first (DELETE /source/{source_id})`,
    });
  }
  const { uuid, alias, type, streamType, inputUrl, telemetryCfg, hubPath, identity } = source;
  const { fileName, fileBytes, durationMs } = source;
  if (hubPath !== null && (await isOutputPath(sql, userUuid, hubPath))) throw pathInUse(hubPath, "an rtsp output");
  const [row] = await sql<SourceRow[]>`
    insert into sources
      (uuid, user_uuid, alias, type, stream_type, input_url, telemetry_cfg, hub_path, identity, file_name, file_bytes, duration_ms, created_at)
    values
      (${uuid}, ${userUuid}, ${alias}, ${type}, ${streamType}, ${sql.typed.sealed(inputUrl)},
       ${sql.typed.sealed(telemetryCfg)}, ${hubPath}, ${sealIdentity(sql, identity)}, ${fileName}, ${fileBytes}, ${durationMs}, clock_timestamp())
    returning ${columns(sql)}`;
  if (row === undefined) throw new Error("the source was not written");
  return { source: row, isNew: true };
}

/** Rejects with `source_exists` where it would become identical to another. `change` sees the source as it is. */
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
    const [row] = await transaction<SourceRow[]>`
      update sources set
        alias = ${alias},
        telemetry_cfg = ${transaction.typed.sealed(telemetryCfg)},
        identity = coalesce(${identity === null ? null : sealIdentity(transaction, identity)}, identity)
      where uuid = ${uuid} returning ${columns(transaction)}`;
    return row ?? before;
  });
}

/** Resolves with what it was. Rejects with `source_in_use` while a process runs on it. */
export function deleteSource(
  sql: Sql,
  userUuid: string,
  uuid: string,
  beforeCommit: (source: SourceRow) => Promise<void>,
): Promise<SourceRow> {
  return sql.begin(async (transaction) => {
    // Processes are started under the same lock: none begins between the look and the deed.
    await lockUser(transaction, userUuid);
    const source = await findSource(transaction, userUuid, uuid);
    if (source.isProcessing) {
      throw new ServiceError("source_in_use", {
        detail: "a process runs on this source; stop it first (DELETE /process/{process_uuid})",
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
