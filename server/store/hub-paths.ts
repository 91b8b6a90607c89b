/**
 * Paths of the media hub, `<username>/<stream path>`: of media-server sources and of rtsp outputs. A path belongs to one
 * user.
 */
import type { StreamInfo } from "../../schemas/hub.ts";
import { ServiceError } from "../service-error.ts";
import type { KeyRights, User } from "../user.ts";
import { firstOf, type Queries } from "./client.ts";
import { hasValidKey } from "./users.ts";

export const hubPath = (username: string, streamPath: string): string => `${username}/${streamPath}`;

/** What a process publishes of a source that it pulls, to be recorded. No user can register such a path. */
const PULLED = "~";
/** Of the source and the user of a query. */
export const pulledPathOf = (sql: Queries) => sql`users.username || ${`/${PULLED}`} || sources.uuid`;

const PULLED_PATH = /^[^/]+\/~([0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12})$/;
/** The source of such a path; null: it is another one. */
export const readPulledPath = (path: string): string | null => PULLED_PATH.exec(path)?.[1] ?? null;

export interface NamingSource {
  readonly uuid: string;
  readonly alias: string;
  readonly streamType: string;
  /** From its start to its end. */
  readonly isRecorded: boolean;
}

interface PathUser extends Pick<User, "uuid"> {
  readonly key: Pick<KeyRights, "sourceUuids">;
}

/** What a path is registered for, as far as the key sees it: sources, newest first, or outputs. */
export async function findPathNames(sql: Queries, { uuid: userUuid, key: { sourceUuids } }: PathUser, path: string) {
  const found = await sql<NamingSource[]>`
    select uuid, alias, stream_type, coalesce(mode = 'always', true) as is_recorded
    from sources left join source_recordings on source_uuid = uuid
    where user_uuid = ${userUuid} and hub_path = ${path}
    order by created_at desc, uuid desc`;
  const sources = found.filter(({ uuid }) => sourceUuids?.includes(uuid) ?? true);
  const isOutput = found.length === 0 && (await isOutputPath(sql, userUuid, path));
  return { sources, hasOutput: isOutput && (await isOutputOf(sql, userUuid, path, sourceUuids)) };
}

/** Whether a process on one of these sources publishes the output. */
async function isOutputOf(sql: Queries, userUuid: string, path: string, sourceUuids: readonly string[] | null) {
  if (sourceUuids === null) return true;
  const found = await sql`
    select from outputs join process_outputs on output_uuid = outputs.uuid
      join processes on processes.uuid = process_uuid
    where outputs.user_uuid = ${userUuid} and outputs.hub_path = ${path}
      and processes.source_uuid in ${sql([...sourceUuids])} limit 1`;
  return found.length > 0;
}

const isPathIn = (table: "sources" | "outputs") => async (sql: Queries, userUuid: string, path: string) =>
  (await sql`select from ${sql(table)} where user_uuid = ${userUuid} and hub_path = ${path} limit 1`).length > 0;

export const isOutputPath = isPathIn("outputs");
export const isSourcePath = isPathIn("sources");

interface PathStatus {
  readonly path: string;
  /** The key of its owner is neither revoked nor expired. */
  readonly isKeyGood: boolean;
  /** It belongs to a source or an output. */
  readonly isNamed: boolean;
}

export async function judgePaths(sql: Queries, paths: readonly string[]): Promise<readonly PathStatus[]> {
  if (paths.length === 0) return [];
  return sql<PathStatus[]>`
    select paths.path,
      users.uuid is not null and ${hasValidKey(sql)} as is_key_good,
      exists (select from sources where sources.user_uuid = users.uuid and sources.hub_path = paths.path)
        or exists (
          select from outputs where outputs.user_uuid = users.uuid and outputs.hub_path = paths.path) as is_named
    from jsonb_array_elements_text(${sql.json(paths)}) as paths (path)
    left join users on users.username = split_part(paths.path, '/', 1)`;
}

export interface PathOwner {
  readonly userUuid: string;
  readonly path: string;
}

/** The path of a media-server source or an rtsp output. Null if it has none, or the key of its owner is not valid. */
export const findHubPath = (sql: Queries, kind: "source" | "output", uuid: string): Promise<PathOwner | null> =>
  firstOf(sql<PathOwner[]>`
    select user_uuid, hub_path as path from ${sql(`${kind}s`)} as found join users on users.uuid = user_uuid
    where found.uuid = ${uuid} and hub_path is not null and ${hasValidKey(sql)}`);

/** The path to which a source is published; null for other sources, and for one that does not exist. */
export async function findHubPathOf(sql: Queries, userUuid: string, sourceUuid: string): Promise<string | null> {
  const found = await firstOf(sql<{ hubPath: string | null }[]>`
    select hub_path from sources where uuid = ${sourceUuid} and user_uuid = ${userUuid}`);
  return found?.hubPath ?? null;
}

export const pathInUse = (path: string, owner: string): ServiceError =>
  new ServiceError("path_in_use", {
    detail: `${owner} of yours uses the path /${path}; streams and rtsp outputs share their paths: choose another`,
  });

/** The source of a recorded stream. */
export interface PathSubject {
  readonly userUuid: string;
  readonly sourceUuid: string;
  readonly alias: string;
  readonly path: string;
}

/** The sources of these paths; of several with one path that of the protocol (null: unknown), else the newest. */
export function findSubjects(
  sql: Queries,
  published: readonly { readonly path: string; readonly protocol: StreamInfo["protocol"] | null }[],
): Promise<readonly PathSubject[]> {
  const paths = published.map(({ path, protocol }) => ({ path, protocol, pulled: readPulledPath(path) }));
  return sql<PathSubject[]>`
    select distinct on (paths.path) sources.user_uuid, sources.uuid as source_uuid, sources.alias, paths.path
    from jsonb_to_recordset(${sql.json(paths)}) as paths (path text, protocol text, pulled uuid)
      join users on users.username = split_part(paths.path, '/', 1)
      join sources on sources.user_uuid = users.uuid and (sources.hub_path = paths.path or sources.uuid = paths.pulled)
    order by paths.path, (sources.stream_type = paths.protocol) desc nulls last, sources.created_at desc`;
}
